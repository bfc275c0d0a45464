import { describe, expect, it } from 'vitest'
import { archive, type Preset, presets, queue } from '../../src/index.ts'
import { aborted, openScene, type Scene } from './support/scene.ts'

const MINUTE = 60_000

/** When each run of a job began, counted from the first, and where the job went in the end. */
async function history(
  scene: Scene,
  preset: Preset,
  end: 'throw' | 'time out' | 'return',
): Promise<{ starts: number[]; state: string }> {
  const one = queue<number, unknown>('one', { preset })
  const times: number[] = []
  const job = await scene.skep.enqueue(one, 1)
  scene.skep.worker(
    [
      one.handle(async ({ signal }) => {
        times.push(scene.runtime.mono())
        if (end === 'throw') throw new Error('no')
        if (end === 'time out') await aborted(signal)
      }),
    ],
    { poll: '1h' },
  )
  await scene.until(
    async () => ['done', 'failed', 'dead', 'absent'].includes(await scene.state(job.id)),
    3_600_000,
  )
  const [first = 0] = times
  return { starts: times.map((time) => time - first), state: await scene.state(job.id) }
}

/** Takes the job and dies, again and again, until it is not given out any more. */
async function die(scene: Scene, preset: Preset): Promise<{ deaths: number; state: string }> {
  const one = queue<number, unknown>('one', { preset })
  const job = await scene.skep.enqueue(one, 1)
  scene.skep.worker([one.handle(() => new Promise(() => {}))])
  for (let deaths = 0; deaths < 20; deaths++) {
    await scene.until(async () => !['ready', 'delayed'].includes(await scene.state(job.id)), 3_600_000)
    if ((await scene.state(job.id)) !== 'running') return { deaths, state: await scene.state(job.id) }
    const { token } = await scene.job(job.id)
    await scene.truth.extend({
      leases: [{ space: 'default', id: job.id, token: token as string }],
      leaseMs: -1,
    })
    await scene.until(
      async () =>
        (await scene.truth.get({ space: 'default', ids: [job.id] })).jobs[0]?.token !== token ||
        (await scene.state(job.id)) !== 'running',
    )
  }
  throw new Error('It is given out for ever.')
}

describe('the preset of Dark', () => {
  it('tries an error again after five minutes, twice, and then drops the job', async () => {
    expect(await history(openScene(), presets.dark, 'throw')).toEqual({
      starts: [0, 5 * MINUTE, 10 * MINUTE],
      state: 'absent',
    })
  })

  it('deletes what is done', async () => {
    expect(await history(openScene(), presets.dark, 'return')).toEqual({ starts: [0], state: 'absent' })
  })

  it('gives a job out again after five lost runs, and then puts it among the dead', async () => {
    expect(await die(openScene(), presets.dark)).toEqual({ deaths: 6, state: 'dead' })
  })

  it('leases for five minutes and drains for 28 seconds', () => {
    expect(presets.dark.worker).toEqual({ lease: '5m', drain: '28s' })
  })
})

describe('the preset of Dark Events', () => {
  it('tries an error again after five minutes, twice, and keeps the row', async () => {
    expect(await history(openScene(), presets.darkEvents, 'throw')).toEqual({
      starts: [0, 5 * MINUTE, 10 * MINUTE],
      state: 'failed',
    })
  })

  it('never removes what is done or failed', async () => {
    for (const what of ['return', 'throw'] as const) {
      const scene = openScene()
      await history(scene, presets.darkEvents, what)
      const { jobs } = await scene.skep.jobs.list()
      expect(jobs).toMatchObject([{ expiresAt: null }])
      await scene.truth.prune({ now: scene.runtime.now() + 50 * 365 * 86_400_000, limit: 100 } as never)
      expect((await scene.skep.jobs.list()).jobs).toHaveLength(1)
    }
  })
})

describe('the preset of Vitess', () => {
  it('resends for ever: 30 seconds, doubling, spread by a third', async () => {
    const scene = openScene()
    const one = queue<number>('one', { preset: presets.vitess })
    const times: number[] = []
    await scene.skep.enqueue(one, 1)
    scene.skep.worker([
      one.handle(() => {
        times.push(scene.runtime.mono())
        throw new Error('no')
      }),
    ])

    await scene.until(() => times.length === 7, 2 * 3_600_000)

    const waits = times.slice(1).map((time, n) => time - times[n]!)
    waits.forEach((wait, n) => {
      const expected = 30_000 * 2 ** n
      expect(wait).toBeGreaterThanOrEqual(expected * 0.666)
      expect(wait).toBeLessThanOrEqual(expected * 1.334)
    })
    expect(new Set(waits.map((wait, n) => (wait / (30_000 * 2 ** n)).toFixed(3))).size).toBeGreaterThan(1)
  })

  it('keeps what is done for a day', async () => {
    const scene = openScene()
    expect(await history(scene, presets.vitess, 'return')).toEqual({ starts: [0], state: 'done' })
  })
})

describe('the preset of Guild', () => {
  it('does not try again, gives three minutes, and keeps everything for a day', async () => {
    expect(await history(openScene(), presets.guild, 'throw')).toEqual({ starts: [0], state: 'failed' })
    const scene = openScene()
    expect(await history(scene, presets.guild, 'time out')).toEqual({ starts: [0], state: 'failed' })
    expect(scene.told).toContainEqual({
      name: 'timeout',
      event: expect.objectContaining({ durationMs: 3 * MINUTE }),
    })
  })
})

describe('the preset of haskell-bee', () => {
  it('repeats a timeout of ten seconds twice, and then archives', async () => {
    const scene = openScene()
    expect(await history(scene, presets.bee, 'time out')).toEqual({
      starts: [0, 10_000, 20_000],
      state: 'failed',
    })
  })

  it('archives an error and deletes what is done', async () => {
    expect(await history(openScene(), presets.bee, 'throw')).toEqual({ starts: [0], state: 'failed' })
    expect(presets.bee.queue.onError.ending).toEqual(archive('forever'))
    expect(await history(openScene(), presets.bee, 'return')).toEqual({ starts: [0], state: 'absent' })
  })
})

it('what a queue says beside its preset wins', () => {
  const one = queue('one', { preset: presets.bee, timeout: 'none', keepCancelled: '1d' })

  expect(one.policy).toMatchObject({
    timeoutMs: null,
    keepCancelledMs: 86_400_000,
    onSuccess: { end: 'discard' },
  })
})
