import { describe, expect, it } from 'vitest'
import { type Handler, queue } from '../../src/index.ts'
import { openScene } from './support/scene.ts'

const known = queue<number>('known')
const orphan = queue<number, string>('orphan')

const handler = known.handle(() => {})

describe('a job of a queue that no worker handles', () => {
  it('never expires: it waits for as long as it takes, and runs when a worker appears', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(orphan, 1)
    scene.skep.worker([handler])
    const result = job.result({ timeout: '1d' })

    await scene.advance(3_600_000)
    // Far beyond every retention.
    await scene.truth.prune({ limit: 1_000, now: scene.runtime.now() + 60 * 86_400_000 })

    expect(await scene.state(job.id)).toBe('ready')
    scene.client().worker([orphan.handle(() => 'here at last')])
    expect(await scene.through(result, 60_000)).toBe('here at last')
  })

  it('is counted as unhandled while its only worker is gone, and not while that is busy', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(orphan, [1, 2, 3])
    const unhandled = async (): Promise<number | undefined> =>
      (await scene.skep.queues.list(['orphan']))[0]?.unhandled

    expect(await unhandled()).toBe(3)
    const busy: Handler = orphan.handle(() => new Promise<string>(() => {}))
    const worker = scene.client().worker([busy], { concurrency: 1 })
    await scene.advance(1_000)
    expect(await unhandled()).toBe(0)

    const stopped = worker.stop({ drain: '0s' })
    await scene.advance(60_000)
    await stopped
    expect(await unhandled()).toBe(3)
  })
})

describe('the options that put such jobs aside', () => {
  it.each([{ unknownQueues: 'mark' }, { unknownQueues: 'leave' }, { missingAfter: '1m' }])(
    'are refused: %o',
    (options) => {
      const scene = openScene()

      expect(() => scene.skep.worker([handler], options as object)).toThrow(
        expect.objectContaining({
          code: 'OPTION_INVALID',
          message: expect.stringMatching(/was removed: jobs that no worker handles stay ready/),
        }),
      )
    },
  )
})
