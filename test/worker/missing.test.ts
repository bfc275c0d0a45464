import { describe, expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import { openScene } from './support/scene.ts'

const known = queue<number>('known')
const orphan = queue<number, string>('orphan')

const handler = known.handle(() => {})

describe('jobs of a queue that no worker handles', () => {
  it('wait, unless told otherwise', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(orphan, 1)
    scene.skep.worker([handler])

    await scene.advance(900_000)

    expect(await scene.state(job.id)).toBe('ready')
  })

  it('are put aside when nobody has appeared for long enough, and come back when somebody does', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(orphan, 1)
    scene.skep.worker([handler], { unknownQueues: 'mark', missingAfter: '10m' })

    await scene.advance(9 * 60_000)
    expect(await scene.state(job.id)).toBe('ready')
    await scene.until(async () => (await scene.state(job.id)) === 'missing', 5 * 60_000)
    expect(JSON.parse((await scene.job(job.id)).failure as string)).toMatchObject({ kind: 'missing' })

    scene.client().worker([orphan.handle(() => 'here at last')])
    await scene.until(async () => (await scene.state(job.id)) === 'done', 1_000)

    expect((await scene.job(job.id)).result).toBe('"here at last"')
  })

  it('come back also when they were put aside in the moment in which a worker for them appeared', async () => {
    const scene = openScene()
    scene.client().worker([orphan.handle(() => 'late but here')])
    await scene.advance(1_000)

    // Another process looked at the list of workers before this one was on it.
    const job = await scene.skep.enqueue(orphan, 1, { delay: '1d' })
    await scene.truth.change({
      action: 'miss',
      space: 'default',
      target: { ids: [job.id] },
      failure: null,
      keepMs: 86_400_000,
    })

    await scene.until(async () => (await scene.state(job.id)) === 'done', 180_000)
  })

  it('are left alone while a worker for them is on the list, busy or not', async () => {
    const scene = openScene()
    scene.client().worker([orphan.handle(() => new Promise<string>(() => {}))], { concurrency: 1 })
    scene.skep.worker([handler], { unknownQueues: 'mark', missingAfter: '1m' })
    await scene.skep.enqueueMany(orphan, [1, 2, 3])

    await scene.advance(600_000)

    expect((await scene.counts('orphan')).missing).toBeUndefined()
  })

  it('of other spaces are none of its business', async () => {
    const scene = openScene()
    await scene.truth.insert({
      jobs: [
        {
          id: scene.runtime.uuid(),
          space: 'elsewhere',
          queue: 'orphan',
          payload: '1',
          headers: null,
          priority: 0,
          delayMs: 0,
          runAt: null,
          unique: null,
          overrides: null,
          lane: null,
          strict: false,
          cost: 1,
          member: null,
        },
      ],
    })
    scene.skep.worker([handler], { unknownQueues: 'mark', missingAfter: '1m' })

    await scene.advance(600_000)

    const { queues } = await scene.truth.counts({ space: 'elsewhere' })
    expect(queues[0]?.states).toMatchObject({ ready: 1, missing: 0 })
  })
})
