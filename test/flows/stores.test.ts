// What depends on the store: the same on each of them, with workers in real time.
import { describe, expect, it } from 'vitest'
import { bury, failFast, first, flow, queue, schedule, settled } from '../../src/index.ts'
import { openStage, STORES, until } from '../threads/support.ts'

const square = queue<number, number>('square')
const sum = queue<string, number>('sum')
const wait = queue<{ n: number }>('wait')
const step = queue<{ n: number }, { a: number }>('step')
const order = flow('order', (f) => f.step(step))
const parallel = flow('parallel', (f) =>
  f
    .input<{ n: number }>()
    .parallel({ left: (g) => g.step(wait), right: (g) => g.step(wait, { name: 'r' }) }, failFast),
)

describe.each(STORES)('on %s', (store) => {
  it('a handler spawns ten thousand jobs at once, and one that follows them', {
    timeout: 120_000,
  }, async () => {
    const { skep } = await openStage(store)
    const parent = queue<number>('parent')
    const sums: number[] = []
    skep.worker([
      parent.handle(async ({ payload, spawn }) => {
        const children = Array.from({ length: payload }, (_, n) => square.job(n))
        await spawn(children, { next: sum.job(`of ${payload}`) })
      }),
      square.handleBatch({ size: 500 }, (jobs) => jobs.map(({ payload }) => payload + 1)),
      sum.handle(async ({ results }) => {
        const all = await results<number>()
        return sums.push(all.reduce((total, one) => total + (one.ok ? one.result : 0), 0))
      }),
    ])

    await skep.enqueue(parent, 0)
    await until(() => sums.length === 1)
    expect(sums).toEqual([0])
    await skep.enqueue(parent, 10_000)
    await until(() => sums.length === 2)

    expect(sums).toEqual([0, 50_005_000])
  })

  it('a job of a run can be copied while the run, and all runs above it, wait for it', async () => {
    const { skep } = await openStage(store)
    const run = await skep.start(parallel, { n: 1 })
    const worker = skep.worker([parallel])
    await until(async () => (await skep.jobs.list({ queue: 'wait' })).jobs.length === 2)
    await worker.stop()
    const id = (await skep.jobs.list({ queue: 'wait' })).jobs[0]?.id as string

    const copy = await skep.jobs.copy(id)
    expect(await copy.get()).toMatchObject({ payload: { n: 1 }, headers: { 'skep-copy-of': id } })

    await run.cancel()
    await expect(skep.jobs.copy(id)).rejects.toMatchObject({ code: 'RUN_NOT_WAITING' })
    await expect(skep.jobs.copy(copy.id)).resolves.toMatchObject({ duplicate: false })
  })

  it('a job of a run that was undone runs again with a retry of the run alone', async () => {
    const { skep } = await openStage(store)
    const said: string[] = []
    let isBroken = true
    const charge = queue<{ n: number }, { charged: number }>('charge')
    const refund = queue<{ charged: number }>('refund')
    const ship = queue<{ n: number }, { shipped: boolean }>('ship')
    const saga = flow('saga', (f) => f.step(charge, { undo: refund }).step(ship))
    skep.worker([
      saga,
      charge.handle(({ payload }) => {
        said.push('charge')
        return { charged: payload.n }
      }),
      refund.handle(() => void said.push('refund')),
      ship.handle(() => (isBroken ? bury('Broken.') : { shipped: said.push('SHIP') > 0 })),
    ])
    const run = await skep.start(saga, { n: 1 })
    await until(async () => (await run.get())?.status === 'failed')
    expect(said).toEqual(['charge', 'refund'])
    isBroken = false
    const { jobs } = await skep.jobs.list({ queue: 'ship', state: 'dead' })
    const id = jobs[0]?.id as string

    const byQueue = await skep.jobs.retry({ queue: 'ship' })
    const byId = await skep.jobs.retry(id)
    const bulk = await skep.bulk.start({ action: 'retry', query: 'queue:ship state:dead' })
    await until(async () => (await skep.bulk.get(bulk.id))?.status === 'done')
    await expect(skep.jobs.copy(id)).rejects.toMatchObject({
      code: 'RUN_NOT_WAITING',
      facts: { id, run: run.id },
    })
    await expect(skep.jobs.copy(id, { queue: 'other', payload: { n: 2 } })).rejects.toThrow('run.retry()')
    const move = await skep.bulk.start({ action: 'move', query: 'queue:ship state:dead', queue: 'other' })
    await until(async () => (await skep.bulk.get(move.id))?.status === 'done')
    expect(await skep.bulk.get(move.id)).toMatchObject({ changed: 0, refused: 1 })

    const refused = { changed: 0, requested: 0, refused: [{ id, reason: 'run' }] }
    expect([byQueue, byId]).toEqual([refused, refused])
    expect(await skep.bulk.get(bulk.id)).toMatchObject({ changed: 0, refused: 1 })
    expect(said).toEqual(['charge', 'refund'])

    expect(await run.retry()).toBe(true)
    await until(async () => (await run.get())?.status === 'done')
    expect(said).toEqual(['charge', 'refund', 'charge', 'SHIP'])
    expect((await skep.jobs.retry({ queue: 'ship' })).refused).toEqual(refused.refused)
  })

  it('the jobs and branches of a run that was cancelled do not run again', async () => {
    const { skep } = await openStage(store)
    const said: number[] = []
    const leaf = queue<{ n: number }>('leaf')
    const branch = flow('branch', (f) => f.input<{ n: number }>().step(leaf))
    const top = flow('top', (f) =>
      f
        .input<{ n: number }>()
        .parallel({ left: branch, right: (g) => g.step(leaf).step(leaf, { name: 'l' }) }),
    )
    const worker = skep.worker([top, branch])
    const run = await skep.start(top, { n: 1 })
    await until(async () => (await skep.queues.list(['leaf']))[0]?.ready === 2)
    await run.cancel('No.')
    await until(async () => (await skep.queues.list(['leaf']))[0]?.cancelled === 2)
    await worker.stop()

    skep.worker([top, branch, leaf.handle(({ payload }) => void said.push(payload.n))])
    const { changed, refused } = await skep.jobs.retry({ queue: 'leaf', state: 'cancelled' })
    const branches = await run.branches()

    expect([changed, refused.map(({ reason }) => reason)]).toEqual([0, ['run', 'run']])
    expect(branches).toHaveLength(2)
    for (const one of branches) expect(await one.run.retry()).toBe(false)
    expect(said).toEqual([])
  })

  it('a run whose flow throws undoes what was done, the last first, and does it again when retried', async () => {
    const { skep } = await openStage(store)
    const said: string[] = []
    const back = queue<{ a: number }>('back')
    const last = queue<{ a: number }, { b: number }>('last')
    let isBroken = true
    const broken = flow('broken', (f) =>
      f
        .step(step, { undo: back })
        .step(step, { name: 'second', undo: back })
        .step(last, ({ state }) => {
          if (isBroken) throw new Error('no')
          return state
        }),
    )
    skep.worker([
      broken,
      step.handle(({ payload }) => ({ a: said.push('step') + payload.n })),
      back.handle(({ payload }) => void said.push(`back ${payload.a}`)),
      last.handle(({ payload }) => ({ b: payload.a })),
    ])

    const run = await skep.start(broken, { n: 10 })
    await until(async () => (await run.get())?.status === 'failed')
    expect(said).toEqual(['step', 'step', 'back 12', 'back 11'])
    isBroken = false
    await run.retry()

    expect(await run.result()).toMatchObject({ a: 16, b: 16 })
  })

  it('a group cancels what it has left, durably', async () => {
    const { skep } = await openStage(store)
    const jobs = [1, 2, 3].map((n) => wait.job({ n }))
    await skep.groups.group(jobs, { join: failFast, onFailure: sum.job('failed') })
    const { jobs: waiting } = await skep.jobs.list({ queue: 'wait' })
    await skep.jobs.bury([waiting[0]?.id as string])

    const seen: number[] = []
    skep.worker([
      sum.handle(async () => {
        const [counts] = await skep.queues.list([wait])
        return seen.push(counts?.cancelled ?? 0)
      }),
    ])
    await until(() => seen.length === 1)

    expect(seen).toEqual([2])
  })

  it('maps, and takes the first that are done', async () => {
    const { skep } = await openStage(store)
    let won: unknown = null
    skep.worker([
      square.handle(async ({ payload, signal }) => {
        if (payload > 2) {
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
          throw signal.reason
        }
        return payload ** 2
      }),
      sum.handle(async ({ results }) => {
        won = (await results<number>()).flatMap((one) => (one.ok ? [one.result] : []))
        return 0
      }),
    ])

    await skep.groups.map(square, [1, 2, 3, 4], { join: first(2), next: sum.job('first') })
    await until(() => won !== null)

    expect(won).toEqual([1, 4])
  })

  it('a start with the same id is one run, and one with a delay begins later', async () => {
    const { skep } = await openStage(store)
    const id = '01a31c50-0000-7000-8000-000000000001'
    let calls = 0
    const first = await skep.start(order, { n: 1 }, { id, priority: 5 })
    await skep.start(order, { n: 2 }, { id })
    const later = await skep.start(order, { n: 3 }, { delay: 300 })

    const handler = step.handle(({ payload }) => {
      calls++
      return { a: payload.n * 10 }
    })
    skep.worker([order, handler])

    expect(await first.result()).toEqual({ n: 1, a: 10 })
    expect(await later.result()).toEqual({ n: 3, a: 30 })
    await skep.start(order, { n: 4 }, { id })
    expect(await (await skep.start(order, { n: 5 })).result()).toMatchObject({ a: 50 })
    expect(calls).toBe(3)
    const { jobs } = await skep.jobs.list({ queue: 'step' })
    expect(jobs.find(({ payload }) => (payload as { n: number }).n === 1)?.priority).toBe(5)
  })

  it('a schedule starts runs', async () => {
    const { skep } = await openStage(store)
    skep.worker([order, step.handle(({ payload }) => ({ a: payload.n }))])
    const often = { flow: order, input: { n: 8 }, attributes: { kind: 'often' }, every: '1s' } as const
    await skep.schedules.put(schedule('often', often))

    await until(async () => (await skep.runs.list({ status: 'done' })).runs.length > 0)

    const { runs } = await skep.runs.list({ attributes: { kind: 'often' }, status: 'done' })
    expect(runs[0]?.result).toEqual({ n: 8, a: 8 })
  })

  it('a branch can be found and cancelled, and the join says what follows', async () => {
    const { skep } = await openStage(store)
    skep.worker([parallel])
    const run = await skep.start(parallel, { n: 1 })
    await until(async () => (await skep.queues.list([wait]))[0]?.ready === 2)

    const [left, right] = await run.branches()
    expect([left?.name, right?.name]).toEqual(['left', 'right'])
    await left?.run.cancel('Not this one.')

    await expect(run.result()).rejects.toMatchObject({ code: 'JOB_FAILED' })
    await until(async () => (await right?.run.get())?.status === 'cancelled')
    expect((await run.branches()).map(({ status }) => status)).toEqual(['cancelled', 'cancelled'])
  })

  it('a chain and a chord of settled members go on', async () => {
    const { skep } = await openStage(store)
    const seen: string[] = []
    skep.worker([sum.handle(({ payload }) => seen.push(payload)), square.handle(({ payload }) => payload)])

    await skep.groups.chain([sum.job('one'), sum.job('two')], { keep: '1h' })
    await skep.groups.group([square.job(1)], { join: settled, next: sum.job('three') })
    await until(() => seen.length === 3)

    expect(seen.filter((one) => one !== 'three')).toEqual(['one', 'two'])
  })
})
