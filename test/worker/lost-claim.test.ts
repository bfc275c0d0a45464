import { describe, expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import { openScene, type Scene } from './support/scene.ts'

const mail = queue<number, number>('mail')

async function outcomes(scene: Scene): Promise<{ state: string; starts: number; lost: number }[]> {
  const page = { space: 'default', queue: 'mail', limit: 100, cursor: null }
  const { jobs } = await scene.truth.list({ ...page, state: 'done' })
  return jobs.map(({ state, starts, lost }) => ({ state, starts, lost }))
}

describe('a claim whose answer was lost', () => {
  it.each([1, 2, 5])('is asked about, so that its jobs run at once (lost %i times)', async (times) => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, [1, 2, 3])
    const runs: number[] = []
    scene.faults.next('claim', ...Array<'after'>(times).fill('after'))

    scene.skep.worker([mail.handle(({ payload }) => runs.push(payload))])
    // Long before the lease of 30 s ends.
    await scene.until(async () => (await scene.counts('mail')).done === 3, 10_000)

    expect(runs.toSorted((a, b) => a - b)).toEqual([1, 2, 3])
    expect(await outcomes(scene)).toEqual(Array(3).fill({ state: 'done', starts: 1, lost: 0 }))
    const claims = scene.faults.arguments('claim')
    const tokens = new Set(claims.slice(0, times + 1).map(({ token }) => token))
    expect(tokens.size).toBe(1)
    expect(claims[times]?.again).toBe(true)
    expect(claims[times + 1]?.again).not.toBe(true)
  })

  it('together with the outcomes it went with costs neither of them anything', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, [1, 2, 3, 4])
    const runs: number[] = []
    let lost = 0
    scene.faults.choose((operation, argument) => {
      const isBoth = operation === 'settle' && (argument as { claim?: object }).claim !== undefined
      return isBoth && lost++ < 2 ? 'after' : null
    })

    scene.skep.worker([mail.handle(({ payload }) => runs.push(payload))], { concurrency: 1 })
    await scene.until(async () => (await scene.counts('mail')).done === 4, 10_000)

    expect(lost).toBeGreaterThanOrEqual(2)
    expect(runs.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4])
    expect(await outcomes(scene)).toEqual(Array(4).fill({ state: 'done', starts: 1, lost: 0 }))
  })

  it('that never arrived keeps the worker from nothing', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, [1, 2, 3])
    scene.faults.next('claim', 'lost', 'foreign', 'before', 'lost')

    scene.skep.worker([mail.handle(({ payload }) => payload)])

    await scene.until(async () => (await scene.counts('mail')).done === 3, 10_000)
  })

  it('is forgotten when the store refuses to be asked', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, [1, 2, 3])
    scene.faults.next('claim', 'lost', 'reject')

    scene.skep.worker([mail.handle(({ payload }) => payload)])

    await scene.until(async () => (await scene.counts('mail')).done === 3, 10_000)
  })

  it('gives its jobs back when the worker stops before it knows of them', async () => {
    const scene = openScene()
    const jobs = await scene.skep.enqueueMany(mail, [1, 2, 3])
    scene.faults.next('claim', 'after')
    const worker = scene.skep.worker([mail.handle(({ payload }) => payload)])
    await scene.until(() => scene.faults.count('claim') === 1)

    await scene.through(worker.stop(), 10_000)

    expect(await scene.counts('mail')).toEqual({ ready: 3 })
    for (const { id } of jobs) expect(await scene.job(id)).toMatchObject({ starts: 0, lost: 0 })
  })
})
