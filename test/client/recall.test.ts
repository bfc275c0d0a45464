import { describe, expect, it } from 'vitest'
import { type Holdable, queue, rateLimited, type Skep, type Worker } from '../../src/index.ts'
import { codeOf, gate, openScene, type Scene } from '../worker/support/scene.ts'

interface Mail {
  readonly to: string
  readonly n: number
}

const mail = queue<Mail, number>('mail.send', { lane: ({ payload }) => payload.to })
const plain = queue<number, number>('plain')
const many = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

/** A worker that has prefetched jobs of the plain queue, and whose handlers take no time until they are told to. */
async function ahead(
  scene: Scene,
  skep: Skep = scene.skep,
): Promise<{ worker: Worker; started: number[]; open: () => void }> {
  const started: number[] = []
  const held = gate()
  let isHeld = false
  const worker = skep.worker(
    [
      plain.handle(async ({ payload }) => {
        started.push(payload)
        await (isHeld ? held.promise : new Promise<void>((r) => void scene.runtime.timer(2, r)))
        return payload
      }),
    ],
    { concurrency: 2 },
  )
  await worker.ready
  await scene.skep.enqueueMany(plain, many(100))
  await scene.until(() => started.length >= 20 && worker.health().buffered > 10)
  isHeld = true
  return { worker, started, open: () => held.open() }
}

describe('a hold', () => {
  it.each<[string, Holdable]>([
    ['a queue', plain],
    ['a pattern', 'pl*n'],
    ['the lane of jobs without one', { queue: plain, lane: '' }],
    ['the space', {}],
    ['everything', { everywhere: true }],
  ])(
    'on %s takes back what workers of this process have prefetched, before it answers',
    async (_, target) => {
      const scene = openScene()
      const { worker, started, open } = await ahead(scene)
      const other = scene.client()
      const there = await ahead(scene, other)

      await scene.skep.queues.pause(target)
      const before = started.length + there.started.length
      expect(worker.health().buffered + there.worker.health().buffered).toBe(0)
      open()
      there.open()
      await scene.advance(10_000)

      expect(started.length + there.started.length).toBe(before)
      expect((await scene.counts('plain')).running ?? 0).toBe(0)
    },
  )

  it('leaves jobs of other queues and lanes where they are', async () => {
    const scene = openScene()
    const { worker } = await ahead(scene)
    const { buffered } = worker.health()

    await scene.skep.queues.pause(mail)
    await scene.skep.queues.block({ queue: plain, lane: 'acme' })

    expect(worker.health().buffered).toBe(buffered)
  })

  it('takes back what another process has prefetched as soon as that hears of it; it keeps its place and pays nothing', async () => {
    const scene = openScene()
    const there = await ahead(scene, scene.client(scene.truth))

    await scene.skep.queues.pause(plain)
    await scene.runtime.settle()
    await scene.advance(50)
    const before = there.started.length
    there.open()
    await scene.advance(10_000)
    expect(there.started).toHaveLength(before)
    const { jobs } = await scene.truth.list({
      space: 'default',
      queue: 'plain',
      state: 'ready',
      limit: 200,
      cursor: null,
    })
    expect(jobs.every(({ starts, errors, snoozes, lost }) => starts + errors + snoozes + lost === 0)).toBe(
      true,
    )

    await scene.skep.queues.resume(plain)
    await scene.until(() => there.started.length === 100)
    expect(there.started).toEqual(many(100))
  })

  it.each([
    ['lost', 'up'],
    ['off', 'down'],
  ] as const)('is confirmed by other processes also when hints are %s', async (_, status) => {
    const scene = openScene()
    const there = await ahead(scene, scene.client(scene.truth))
    scene.notifier.status = status
    scene.notifier.blackHole = true

    await scene.through(scene.skep.queues.pause(plain, { wait: true }))
    const before = there.started.length
    expect(there.worker.health().buffered).toBe(0)
    there.open()
    await scene.advance(10_000)

    expect(there.started).toHaveLength(before)
  })

  it('is found without any hint by a worker that compares what it has prefetched with the holds that stand', async () => {
    const scene = openScene()
    const there = await ahead(scene, scene.client(scene.truth))
    scene.notifier.blackHole = true

    await scene.skep.queues.pause(plain)
    scene.notifier.tell({ kind: 'sync' })
    await scene.runtime.settle()
    await scene.advance(1)

    expect(there.worker.health().buffered).toBe(0)
  })

  it('takes back what a claim brings that was under way', async () => {
    const scene = openScene()
    const started: number[] = []
    const there = scene.client(scene.faults.store)
    await there.worker([plain.handle(({ payload }) => started.push(payload))]).ready
    await scene.advance(1_000)
    scene.faults.next('claim', { slowMs: 2_000 })
    await scene.skep.enqueueMany(plain, many(3))
    await scene.until(async () => (await scene.counts('plain')).running === 3)

    await scene.skep.queues.pause(plain)
    await scene.advance(10_000)

    expect(started).toEqual([])
    expect(await scene.counts('plain')).toEqual({ ready: 3 })
  })

  it('takes back what a claim brings whose answer was lost at first', async () => {
    const scene = openScene()
    const started: number[] = []
    const there = scene.client(scene.faults.store)
    await there.worker([plain.handle(({ payload }) => started.push(payload))]).ready
    await scene.advance(1_000)
    scene.faults.next('claim', 'after')
    await scene.skep.enqueueMany(plain, many(3))
    await scene.until(async () => (await scene.counts('plain')).running === 3)

    await scene.skep.queues.pause(plain)
    await scene.advance(60_000)

    expect(started).toEqual([])
    expect(await scene.counts('plain')).toEqual({ ready: 3 })
  })
})

describe('a hold that waits', () => {
  it('answers when every other process has handed back what it had not started', async () => {
    const scene = openScene()
    const there = await ahead(scene, scene.client(scene.truth))

    const { holds } = await scene.through(scene.skep.queues.pause(plain, { wait: true }))
    const before = there.started.length

    expect(holds).toMatchObject([{ kind: 'pause' }])
    expect(there.worker.health().buffered).toBe(0)
    there.open()
    await scene.advance(10_000)
    expect(there.started).toHaveLength(before)
  })

  it('asks nobody but live workers that serve the target', async () => {
    const scene = openScene()
    await scene.client(scene.truth).worker([mail.handle(() => 1)]).ready
    const gone = scene.client(scene.truth).worker([plain.handle(() => 1)])
    await gone.ready
    await scene.through(gone.stop())
    const before = scene.runtime.mono()

    await scene.through(scene.skep.queues.pause(plain, { wait: true }))

    expect(scene.runtime.mono() - before).toBeLessThan(100)
  })

  it('names the workers that did not confirm in time, and stands all the same', async () => {
    const scene = openScene()
    const deaf = openFaulty(scene)
    const worker = deaf.skep.worker([plain.handle(() => 1)])
    await worker.ready
    deaf.mute()

    const paused = scene.through(scene.skep.queues.pause(plain, { wait: true, timeout: '3s' }))

    await expect(paused).rejects.toMatchObject({
      code: 'HOLD_UNCONFIRMED',
      facts: { workers: [{ id: worker.id, pid: process.pid }] },
      message: expect.stringContaining(worker.id),
    })
    expect(await scene.skep.queues.holds()).toHaveLength(1)
    deaf.unmute()
  })

  it('goes on when a worker leaves meanwhile, and needs none that comes', async () => {
    const scene = openScene()
    const deaf = openFaulty(scene)
    const leaving = deaf.skep.worker([plain.handle(() => 1)])
    await leaving.ready
    deaf.mute()
    let answered = false

    const paused = scene.skep.queues.pause(plain, { wait: true, timeout: '5m' }).then(() => {
      answered = true
    })
    await scene.advance(2_000)
    expect(answered).toBe(false)
    await scene.client(scene.truth).worker([plain.handle(() => 1)]).ready
    await scene.truth.depart({ workerId: leaving.id })
    await scene.through(paused, 5_000)
    deaf.unmute()
  })

  it('does not wait for a worker whose heartbeats have stopped', async () => {
    const scene = openScene()
    const killed = {
      id: 'killed',
      space: 'default',
      host: 'h',
      pid: 1,
      queues: ['plain'],
      concurrency: 1,
      running: 1,
      startedAt: 0,
      vitals: '{}',
    }
    await scene.truth.attend({ worker: killed })
    const before = scene.runtime.mono()

    // Meanwhile it counts as live: it may have lost its connection only.
    const paused = scene.through(scene.skep.queues.pause(plain, { wait: true, timeout: '1s' }))
    await expect(paused).rejects.toMatchObject({ code: 'HOLD_UNCONFIRMED' })
    await scene.through(scene.skep.queues.pause(plain, { wait: true, timeout: '10m' }))
    const after = scene.runtime.mono()
    await scene.through(scene.skep.queues.block('pl*', { wait: true }))

    expect(after - before).toBeLessThan(32_000)
    expect(scene.runtime.mono() - after).toBeLessThan(100)
  })

  it.each(['workers', 'counts', 'putRecords', 'getRecords'] as const)(
    'asks again when the store does not answer for a moment (%s)',
    async (operation) => {
      const scene = openScene()
      const there = await ahead(scene, scene.client(scene.truth))
      for (const fault of ['before', 'lost', 'after'] as const) scene.faults.next(operation, fault)

      await scene.through(scene.skep.queues.pause(plain, { wait: true }))
      const before = there.started.length

      expect(there.worker.health().buffered).toBe(0)
      there.open()
      await scene.advance(10_000)
      expect(there.started).toHaveLength(before)
      const { records } = await scene.truth.listRecords({ scope: 'default', kind: 'order', limit: 10 })
      expect(records).toEqual([])
    },
  )

  it('works with two at once, and with one that is resumed at once', async () => {
    const scene = openScene()
    const there = await ahead(scene, scene.client(scene.truth))

    await scene.through(
      Promise.all([
        scene.skep.queues.pause(plain, { wait: true }),
        scene.skep.queues.block('pl*', { wait: true }),
        scene.client().queues.pause({}, { wait: true }),
      ]),
    )
    const before = there.started.length
    there.open()
    await scene.advance(2_000)
    expect(there.started).toHaveLength(before)

    await scene.skep.queues.unblock('pl*')
    await scene.skep.queues.resume({})
    await scene.skep.queues.resume(plain)
    await Promise.all([scene.skep.queues.pause(plain), scene.skep.queues.resume(plain)])
    await scene.until(() => there.started.length === 100)
    const { records } = await scene.truth.listRecords({ scope: 'default', kind: 'order', limit: 10 })
    expect(records).toEqual([])
  })

  it('ends with its signal, and refuses what does not fit', async () => {
    const scene = openScene()
    const deaf = openFaulty(scene)
    await deaf.skep.worker([plain.handle(() => 1)]).ready
    deaf.mute()
    const abort = new AbortController()

    const paused = scene.skep.queues.pause(plain, { wait: true, signal: abort.signal })
    await scene.advance(100)
    abort.abort(new Error('enough'))

    await expect(scene.through(paused)).rejects.toThrow('enough')
    expect(await codeOf(scene.skep.queues.pause(plain, { wait: '5s' } as never))).toBe('OPTION_INVALID')
    expect(await codeOf(scene.skep.queues.pause(plain, { timeout: '5s' }))).toBe('OPTION_INVALID')
    deaf.unmute()
  })
})

/** Another process that stops to hear, and whose look at what it was told can be made to hang. */
function openFaulty(scene: Scene): { skep: Skep; mute(): void; unmute(): void } {
  let isMute = false
  const { truth } = scene
  const skep = scene.client({
    ...truth,
    listRecords: (call) => (isMute ? new Promise(() => {}) : truth.listRecords(call)),
  })
  return {
    skep,
    mute: () => {
      isMute = true
    },
    unmute: () => {
      isMute = false
    },
  }
}

describe('a handler that is told to wait', () => {
  it('has what its own worker and others prefetched of the lane taken back, and no other lane', async () => {
    const scene = openScene()
    const started: string[] = []
    let refusing = false
    const handler = mail.handle(async ({ payload }) => {
      if (refusing && payload.to === 'slow') {
        started.push('refused')
        return rateLimited('1h') as never
      }
      started.push(payload.to)
      await new Promise<void>((resolve) => void scene.runtime.timer(1, resolve))
      return payload.n
    })
    const workers = [scene.skep, scene.client(scene.truth), scene.client(scene.truth)].map((skep) =>
      skep.worker([handler], { concurrency: 2 }),
    )
    await Promise.all(workers.map(({ ready }) => ready))
    const all = many(400)
    await scene.skep.enqueueMany(mail, [
      ...all.map((n) => ({ to: 'slow', n })),
      ...all.map((n) => ({ to: 'fast', n })),
    ])
    await scene.until(() => workers.every((worker) => worker.health().buffered > 2))

    refusing = true
    await scene.until(
      async () => (await scene.counts('mail.send')).done === 400 + slowBefore(started),
      20_000,
    )

    // Handlers that were running, and one that each worker may begin before the word is there.
    expect(started.filter((what) => what === 'refused').length).toBeLessThanOrEqual(6)
    expect(await scene.counts('mail.send')).toEqual({
      done: 400 + slowBefore(started),
      ready: 400 - slowBefore(started),
    })
  })
})

it('has what other workers prefetched of the lane taken back', async () => {
  const scene = openScene()
  const there = await ahead(scene, scene.client(scene.truth))
  expect(there.worker.health().buffered).toBeGreaterThan(10)
  const before = there.started.length
  await scene.skep.worker([plain.handle(() => rateLimited('1h') as never)], { concurrency: 1 }).ready
  await scene.skep.enqueueMany(plain, many(10))
  await scene.until(() => there.worker.health().buffered === 0, 500)

  there.open()
  await scene.advance(10_000)
  expect(there.started).toHaveLength(before)
  expect((await scene.counts('plain')).ready).toBeGreaterThan(10)
})

function slowBefore(started: readonly string[]): number {
  return started.filter((what) => what === 'slow').length
}
