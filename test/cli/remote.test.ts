import { describe, expect, it } from 'vitest'
import type { Backend } from '../../src/cli/connect/backend.ts'
import { LocalBackend } from '../../src/cli/connect/local.ts'
import { RemoteBackend } from '../../src/cli/remote/remote.ts'
import { flow, never, queue, type Skep } from '../../src/index.ts'
import { ServerClient } from '../../src/server.ts'
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

interface Pair {
  readonly skep: Skep
  readonly local: Backend
  readonly remote: Backend
}

/** A Skep in this process, and a server of it. */
async function both(): Promise<Pair> {
  const { url, skep } = await startServer()
  const remote = new RemoteBackend(new ServerClient({ url }))
  await remote.ready()
  return { skep, local: new LocalBackend(skep, { by: 'ada', place: 'memory' }), remote }
}

type Look = (backend: Backend) => Promise<unknown>

async function expectSame({ local, remote }: Pair, looks: readonly Look[]): Promise<void> {
  for (const look of looks) {
    const [near, far] = [await settled(look(local)), await settled(look(remote))]
    expect(far, look.toString()).toEqual(near)
  }
}

/** As JSON, or the code of the error. */
async function settled(answer: Promise<unknown>): Promise<unknown> {
  try {
    return JSON.parse(JSON.stringify(await answer)) as unknown
  } catch (error) {
    return (error as { readonly code: string }).code
  }
}

describe('operations in this process and on a server', () => {
  it('return the same for runs, and change them', async () => {
    const pair = await both()
    const { skep, remote } = pair
    skep.worker([fulfil, ...[pack, first, second, last].map((one) => one.handle(() => ({})))])
    const run = await skep.start(fulfil, { n: 1 }, { attributes: { orderId: 62 } })
    const other = await skep.start(fulfil, { n: 2 })
    const waits = async (id: string): Promise<boolean> =>
      (await skep.runs.get(id))?.position.waits?.kind === 'signal'
    while (!((await waits(run.id)) && (await waits(other.id))))
      await new Promise((done) => setTimeout(done, 5))

    await expectSame(pair, [
      async (one) => {
        const { explanation, ...rest } = await one.call('runs.get', { id: run.id, members: 200 })
        return { ...rest, causes: explanation.causes.map(({ text }) => text) }
      },
      (one) => one.call('runs.get', { id: '01890a5d-ac96-774b-bcce-b302099a8057' }),
      (one) => one.call('runs.list', { flow: 'fulfil', status: 'running', limit: 1 }),
      (one) => one.call('runs.list', { attribute: 'orderId=62' }),
      (one) => one.call('runs.list', { root: run.id }),
      (one) => one.call('flows.list', {}),
    ])
    const signalled = await remote.call('runs.signal', { id: run.id, name: 'approval', value: { by: 'ada' } })
    await run.result()
    const cancelled = await remote.call('runs.cancel', { id: other.id, reason: 'too late' })
    const late = await remote.call('runs.cancel', { id: run.id })

    expect([signalled.changed, cancelled.changed, late.changed]).toEqual([true, true, false])
    expect((await skep.runs.get(other.id))?.status).toBe('cancelled')
    expect(await remote.call('runs.retry', { id: other.id, from: 'last' })).toEqual({ changed: true })
  })

  it('return the same for workers, queues, errors and bulk actions', async () => {
    const pair = await both()
    const { skep, remote } = pair
    const worker = skep.worker([
      broken.handle(() => {
        throw new TypeError('It is broken')
      }),
    ])
    const job = await skep.enqueue(broken, 1)
    await job.result().catch(() => {})
    await skep.queues.pause('broken', { reason: 'why', for: '1h' })
    await skep.bulk.start({ action: 'retry', query: 'queue:nothing' })
    await skep.metrics.rates()
    const { groups } = await skep.errors.list()
    const id = groups[0]?.id ?? ''

    await expectSame(pair, [
      async (one) => (await one.call('queues.list', {})).queues.map(({ queue, counts }) => [queue, counts]),
      async (one) =>
        (await one.call('queues.list', { queues: ['broken', 'nothing'] })).queues.map(({ queue }) => queue),
      (one) => one.call('holds.list', {}),
      (one) => one.call('errors.list', { queue: 'broken' }),
      (one) => one.call('errors.get', { id }),
      (one) => one.call('errors.get', { id: '0000000000000000' }),
      async (one) =>
        (await one.call('bulk.list', {})).bulks.map(({ query, startedAt }) => [query, startedAt]),
      (one) => one.call('jobs.count', { query: 'state:dead' }),
      (one) => one.call('jobs.list', { queue: 'broken', states: ['dead'], text: 'is broken' }),
      (one) => one.call('jobs.list', { queue: 'broken', text: 'something else' }),
      (one) => one.call('jobs.logs', { id: job.id }),
      async (one) => (await one.call('workers.list', {})).workers.map(({ id: who, queues }) => [who, queues]),
      (one) => one.call('queues.purge', { queue: 'broken', dryRun: true, before: new Date().toISOString() }),
      (one) => one.call('workers.command', { id: 'nobody', command: 'stop' }),
    ])
    expect((await remote.call('errors.mute', { id, for: '1h' })).muted?.until).toMatch(/Z$/)
    expect((await remote.call('errors.unmute', { id })).muted).toBeNull()
    expect((await remote.call('workers.command', { id: worker.id, command: 'pause' })).command).toBe('pause')
  })

  it('change the jobs of a queue that match, up to a limit', async () => {
    const { skep, local, remote } = await both()
    const jobs = await skep.enqueueMany(
      queue('later'),
      Array.from({ length: 450 }, (_, n) => n),
      { delay: '1h' },
    )
    const ids = jobs.map(({ id }) => id)

    const some = await remote.call('jobs.change', {
      action: 'cancel',
      queue: 'later',
      limit: 250,
      reason: 'enough',
    })
    const rest = await local.call('jobs.change', { action: 'promote', queue: 'later' })
    const none = await remote.call('jobs.change', { action: 'retry', queue: 'later' })
    const named = await remote.call('jobs.change', { action: 'retry', ids, states: ['cancelled'] })

    expect([some.changed, rest.changed, none.changed, named.changed]).toEqual([250, 200, 0, 250])
    expect(named.refused).toHaveLength(200)
    expect(named.refused[0]?.reason).toBe('state')
    expect(await skep.jobs.count('queue:later state:ready')).toMatchObject({ count: 450 })
  })

  it('refuse a change without ids and queue, or with both', async () => {
    const { local, remote } = await both()
    const id = '01890a5d-ac96-774b-bcce-b302099a8057'

    for (const backend of [local, remote]) {
      await expect(backend.call('jobs.change', { action: 'cancel' })).rejects.toMatchObject({
        code: 'OPTION_INVALID',
      })
      await expect(
        backend.call('jobs.change', { action: 'cancel', ids: [id], queue: 'later' }),
      ).rejects.toMatchObject({ code: 'OPTION_INVALID' })
    }
  })

  it('pause a queue in every space only with a credential for every space', async () => {
    const { local, skep } = await both()

    const { holds } = await local.call('holds.pause', { queue: 'mail', everywhere: true })
    await expect(local.call('holds.pause', { queue: 'mail', lane: 'a', everywhere: true })).rejects.toThrow(
      'lane',
    )

    expect(holds).toMatchObject([{ queue: 'mail', space: null, by: 'ada' }])
    expect(await skep.queues.holds()).toMatchObject([{ queue: 'mail', space: null }])
  })
})
