import { describe, expect, it } from 'vitest'
import type { Counterpart } from '../../src/cli/connect/backend.ts'
import { Remote } from '../../src/cli/remote/remote.ts'
import { flow, never, queue, type Skep } from '../../src/index.ts'
import { revived, ServerClient } from '../../src/server.ts'
import { startServer } from '../server/support.ts'

const pack = queue<{ n: number }, object>('pack')
const broken = queue('broken', { onError: never() })
const [first, second, last] = [queue('first'), queue('second'), queue('last')]
const fulfil = flow('fulfil', (f) =>
  f
    .step(pack)
    .parallel({ one: (g) => g.step(first), two: (g) => g.step(second) })
    .signal('approval')
    .step(last),
)

/** A Skep, and a server of it in its place. */
async function both(): Promise<{ readonly near: Skep; readonly far: Counterpart }> {
  const { url, skep: near } = await startServer()
  const far = new Remote({ client: new ServerClient({ url }), revive: revived, space: undefined })
  await far.ready()
  return { near, far }
}

/** What both say to the same question. */
async function asked<T>(
  { near, far }: { readonly near: Skep; readonly far: Counterpart },
  ask: (one: Counterpart) => Promise<T>,
): Promise<{ readonly near: T; readonly far: T }> {
  return { near: await ask(near), far: await ask(far) }
}

describe('a server in the place of a Skep', () => {
  it('tells the same of runs, and changes them', async () => {
    const pair = await both()
    const { near, far } = pair
    near.worker([fulfil, ...[pack, first, second, last].map((one) => one.handle(() => ({})))])
    const run = await near.start(fulfil, { n: 1 }, { attributes: { orderId: 62 } })
    const other = await near.start(fulfil, { n: 2 })
    const waits = async (id: string): Promise<boolean> =>
      (await near.runs.get(id))?.position.waits?.kind === 'signal'
    while (!((await waits(run.id)) && (await waits(other.id))))
      await new Promise((done) => setTimeout(done, 5))

    const looks: readonly ((one: Counterpart) => Promise<unknown>)[] = [
      (one) => one.runs.get(run.id),
      (one) => one.runs.get('01890a5d-ac96-774b-bcce-b302099a8057'),
      (one) => one.runs.list({ flow: 'fulfil', status: 'running', limit: 1 }),
      (one) => one.runs.list({ attributes: { orderId: 62 } }),
      (one) => one.runs.list({ root: run.id }),
      (one) => one.runs.flows(),
      (one) => one.runs.flows({ name: 'nothing' }),
      (one) => one.runs.counts({ status: 'running' }),
      (one) => one.runs.run(run.id).members(),
      async (one) => (await one.runs.run(run.id).explain()).causes.map(({ text }) => text),
    ]
    for (const look of looks) {
      const told = await asked(pair, look)
      expect(told.far).toEqual(told.near)
    }
    expect(await far.runs.run(run.id).signal('approval', { by: 'ada' })).toBe(true)
    await run.result()
    expect(await far.runs.run(other.id).cancel('too late')).toBe(true)
    expect((await near.runs.get(other.id))?.status).toBe('cancelled')
    expect(await far.runs.run(run.id).cancel()).toBe(false)
    expect(await far.runs.run(other.id).retry({ from: 'last' })).toBe(true)
  })

  it('tells the same of workers, queues, errors and bulk actions', async () => {
    const pair = await both()
    const { near, far } = pair
    const worker = near.worker([
      broken.handle(() => {
        throw new TypeError('It is broken')
      }),
    ])
    const job = await near.enqueue(broken, 1)
    await job.result().catch(() => {})
    await near.queues.pause('broken', { reason: 'why', for: '1h' })
    await near.bulk.start({ action: 'retry', query: 'queue:nothing' })
    await near.metrics.rates()
    const { groups } = await near.errors.list()
    const id = groups[0]?.id ?? ''

    const looks: readonly ((one: Counterpart) => Promise<unknown>)[] = [
      (one) => one.queues.list(),
      (one) => one.queues.list(['broken', 'nothing']),
      (one) => one.queues.holds(),
      (one) => one.errors.list({ queue: 'broken' }),
      (one) => one.errors.get(id),
      (one) => one.errors.get('0000000000000000'),
      async (one) =>
        (await one.bulk.list()).map(({ query, startedAt }) => [query, startedAt instanceof Date]),
      (one) => one.jobs.count('state:dead'),
      (one) => one.jobs.logs(job.id),
      async (one) =>
        (await one.workers.list()).map(({ id: who, queues, life, startedAt }) => [
          who,
          queues,
          life,
          startedAt,
        ]),
      (one) => one.queues.purge('broken', { dryRun: true, before: new Date() }),
    ]
    for (const look of looks) {
      const told = await asked(pair, look)
      expect(told.far).toEqual(told.near)
    }
    expect((await far.errors.mute(id, { for: '1h' }))?.muted?.until).toBeInstanceOf(Date)
    expect((await far.errors.unmute(id))?.muted).toBeNull()
    expect((await far.workers.pause(worker.id))?.command).toBe('pause')
    await expect(far.workers.stop('nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('changes page by page what fits, and no more than was said', async () => {
    const { near, far } = await both()
    await near.enqueueMany(
      queue('later'),
      Array.from({ length: 450 }, (_, n) => n),
      { delay: '1h' },
    )

    const some = await far.jobs.cancel({ queue: 'later', limit: 250 }, { reason: 'enough' })
    const rest = await far.jobs.promote({ queue: 'later' })
    const none = await far.jobs.retry({ queue: 'later' })
    const ids = (await near.jobs.list({ queue: 'later', state: 'cancelled', limit: 200 })).jobs.map(
      ({ id }) => id,
    )
    const named = await far.jobs.retry(ids)

    expect([some.changed, rest.changed, none.changed, named.changed]).toEqual([250, 200, 0, 200])
    expect(await near.jobs.count('queue:later state:ready')).toMatchObject({ count: 400 })
    expect(
      (await near.jobs.list({ queue: 'later', state: 'cancelled' })).jobs[0]?.cancelReason ?? 'enough',
    ).toBe('enough')
  })
})
