import { describe, expect, it } from 'vitest'
import { type Limitable, type QueueLimitOptions, queue, sharedLimit } from '../../src/index.ts'
import { newJobs } from '../support/new-job.ts'
import { codeOf, gate, openScene } from '../worker/support/scene.ts'

const mail = queue<number, unknown>('mail')
const report = queue<number, unknown>('report')

describe('limits.set', () => {
  it('lowers what may run at once, and a raised limit starts jobs at once', async () => {
    const scene = openScene()
    const open = gate()
    let running = 0
    const handler = mail.handle(async () => {
      running++
      await open.promise
    })
    await scene.skep.limits.set(mail, { concurrency: 2 })
    await scene.skep.worker([handler], { poll: '1d' }).ready
    await scene.advance(1_000)
    await scene.skep.enqueueMany(mail, [1, 2, 3, 4, 5])
    await scene.advance(10_000)
    expect(running).toBe(2)

    await scene.skep.limits.set('mail', { concurrency: 4 })
    await scene.advance(10)
    expect(running).toBe(4)

    await scene.skep.limits.set(mail, { concurrency: null })
    await scene.advance(10)
    expect(running).toBe(5)
    open.open()
  })

  it('of a limit that queues share starts jobs of all of them', async () => {
    const scene = openScene()
    const open = gate()
    let running = 0
    const handlers = [mail, report].map((one) =>
      one.handle(async () => {
        running++
        await open.promise
      }),
    )
    await scene.skep.limits.set({ shared: 'smtp' }, { concurrency: 1 })
    for (const one of [mail, report]) await scene.skep.limits.set(one, { shared: 'smtp' })
    await scene.skep.worker(handlers, { poll: '1d' }).ready
    await scene.advance(1_000)
    for (const one of [mail, report]) await scene.skep.enqueue(one, 1)
    await scene.advance(10_000)
    expect(running).toBe(1)

    await scene.skep.limits.set(sharedLimit('smtp', {}), { concurrency: 2 })
    await scene.advance(10)

    expect(running).toBe(2)
    open.open()
  })

  it('of one lane is about that lane, and of all lanes about each', async () => {
    const scene = openScene()
    const claimed = async (): Promise<Record<string, number>> => {
      const { jobs } = await scene.truth.claim({
        sources: [{ space: 'default', queue: 'mail', limit: 100 }],
        limit: 100,
        workerId: 'w',
        token: scene.runtime.uuid(),
        leaseMs: 30_000,
      })
      const count: Record<string, number> = {}
      for (const { lane } of jobs) count[lane ?? ''] = (count[lane ?? ''] ?? 0) + 1
      return count
    }
    for (const lane of ['a', 'b']) {
      await scene.truth.insert({ jobs: newJobs(10, { space: 'default', queue: 'mail', lane }) })
    }

    await scene.skep.limits.set(mail, { lanes: { concurrency: 2 } })
    await scene.skep.limits.set({ queue: mail, lane: 'b' }, { concurrency: 3, weight: 5 })

    expect(await claimed()).toEqual({ a: 2, b: 3 })
  })

  it('changes word by word, and reset brings back what code declared', async () => {
    const scene = openScene()
    await scene.truth.setLimits({
      space: 'default',
      limits: [{ target: { queue: 'mail' }, by: 'code', fields: { concurrency: 10, strict: true } }],
    })

    await scene.skep.limits.set(mail, { rate: { limit: 100, per: '1s' }, lanes: { weight: 3 } })
    const changed = await scene.skep.limits.set(mail, { concurrency: null })
    const listed = await scene.skep.limits.list(mail)
    const reset = await scene.skep.limits.reset(mail)

    const rate = { limit: 100, per: 1_000, burst: 10 }
    expect(changed).toEqual({
      target: { queue: 'mail' },
      declared: { concurrency: 10, order: 'strict' },
      changed: { concurrency: null, rate, lanes: { weight: 3 } },
      limits: { concurrency: null, rate, lanes: { weight: 3 }, order: 'strict' },
    })
    expect(listed).toEqual([changed])
    expect(reset).toMatchObject({ changed: null, limits: { concurrency: 10, order: 'strict' } })
    expect(await scene.skep.limits.list()).toEqual([reset])
  })

  it('shows a lane and a shared limit in the words in which they are set', async () => {
    const scene = openScene()
    await scene.skep.limits.set({ queue: 'mail', lane: '' }, { weight: 7, rate: null })
    await scene.skep.limits.set({ shared: 'smtp' }, { rate: { limit: 1, per: '1m', burst: 5 } })
    await scene.skep.limits.set('mail', { lanes: { weight: 2 } })

    const listed = await scene.skep.limits.list()

    expect(listed.map(({ target, limits }) => [target, limits])).toEqual([
      [{ queue: 'mail' }, { lanes: { weight: 2 } }],
      [
        { queue: 'mail', lane: '' },
        { weight: 7, rate: null },
      ],
      [{ shared: 'smtp' }, { rate: { limit: 1, per: 60_000, burst: 5 } }],
    ])
  })

  it.each<[string, unknown, unknown, string]>([
    ['no room', 'mail', { concurrency: 0 }, 'OPTION_INVALID'],
    ['half a job', 'mail', { concurrency: 1.5 }, 'OPTION_INVALID'],
    ['nothing', 'mail', {}, 'OPTION_INVALID'],
    ['no limits', 'mail', undefined, 'OPTION_INVALID'],
    ['a limit that is not known', 'mail', { concurency: 1 }, 'OPTION_INVALID'],
    ['a rate without a limit', 'mail', { rate: { per: '1s' } }, 'OPTION_INVALID'],
    ['a rate without a time', 'mail', { rate: { limit: 1 } }, 'DURATION_INVALID'],
    ['a rate per nothing', 'mail', { rate: { limit: 1, per: 0 } }, 'OPTION_INVALID'],
    ['a rate per year', 'mail', { rate: { limit: 1, per: '52w' } }, 'OPTION_INVALID'],
    ['a burst of none', 'mail', { rate: { limit: 1, per: '1s', burst: 0 } }, 'OPTION_INVALID'],
    ['a bucket that never fills', 'mail', { rate: { limit: 1, per: '31d', burst: 2 } }, 'OPTION_INVALID'],
    ['a number as a rate', 'mail', { rate: 5 }, 'OPTION_INVALID'],
    ['too much weight', { queue: 'mail', lane: 'a' }, { weight: 1_001 }, 'OPTION_INVALID'],
    ['the weight of a queue', 'mail', { weight: 2 }, 'OPTION_INVALID'],
    ['a lane of a lane', { queue: 'mail', lane: 'a' }, { lanes: { concurrency: 1 } }, 'OPTION_INVALID'],
    ['sharing a shared limit', { shared: 'a' }, { shared: 'b' }, 'OPTION_INVALID'],
    ['a shared name that is none', 'mail', { shared: 'a b' }, 'NAME_INVALID'],
    ['another order', 'mail', { order: 'strict' }, 'OPTION_INVALID'],
    ['a pattern', 'mail.*', { concurrency: 1 }, 'NAME_INVALID'],
    ['a lane that turned out empty', { queue: 'mail', lane: undefined }, { concurrency: 1 }, 'KEY_INVALID'],
    ['no target', undefined, { concurrency: 1 }, 'OPTION_INVALID'],
    ['a target that is not known', { lane: 'a' }, { concurrency: 1 }, 'NAME_INVALID'],
  ])('refuses %s before anything is written', async (_name, target, limits, code) => {
    const scene = openScene()

    const refused = scene.skep.limits.set(target as 'mail', limits as QueueLimitOptions)

    expect(await codeOf(refused)).toBe(code)
    expect((await scene.truth.limits({ space: 'default' })).limits).toEqual([])
  })

  it('says why order cannot be changed', async () => {
    const scene = openScene()

    const refused = scene.skep.limits.set(
      'mail' as Limitable & string,
      { order: 'strict' } as QueueLimitOptions,
    )

    await expect(refused).rejects.toThrow(/order cannot be changed at run time/)
  })
})
