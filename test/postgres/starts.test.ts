import { describe, expect, it } from 'vitest'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import { LOWEST } from '../../src/stores/postgres/connection/literals.ts'
import { Starts } from '../../src/stores/postgres/jobs/scan-start.ts'
import { createWorld, eventually, finish, newJob, newJobs, take, verdict } from './world.ts'

const source = { space: 'acme', queue: 'mail', limit: 10 }
const place = (rank: number) => ({ rank, id: `id-${rank}` })

/** Starts on a clock that the test moves. */
function create(): { starts: Starts; clock: { now: number } } {
  const clock = { now: 1_000 }
  return { starts: new Starts({ mono: () => clock.now }), clock }
}

describe('where a claim begins to search', () => {
  it('is the head at first, and then where the last one began', () => {
    const { starts } = create()

    const first = starts.begin([source], false)
    first.found(() => place(70), 500)
    const second = starts.begin([source], false)

    expect(first.starts).toMatchObject([{ rank: LOWEST, due: LOWEST }])
    expect(second.starts).toEqual([{ rank: 70, id: 'id-70', due: 500 }])
  })

  it('stays when nothing was found', () => {
    const { starts } = create()
    starts.begin([source], false).found(() => place(70), 500)

    starts.begin([source], false).found(() => undefined, 600)

    expect(starts.begin([source], false).starts).toEqual([{ rank: 70, id: 'id-70', due: 600 }])
  })

  it('is the head again after 200 ms, or later if a look there takes longer than other claims', () => {
    const { starts, clock } = create()
    const isHead = (): boolean => starts.begin([source], false).starts[0]?.rank === LOWEST
    const claim = (ms: number): void => {
      const search = starts.begin([source], false)
      clock.now += ms
      search.found(() => place(70), 0)
    }
    claim(0)

    clock.now += 200
    expect(isHead()).toBe(false)
    clock.now += 1
    expect(isHead()).toBe(true)

    claim(40)
    claim(30)
    clock.now += 3_930
    expect(isHead()).toBe(false)
    clock.now += 1
    expect(isHead()).toBe(true)

    claim(10_000)
    clock.now += 50_000
    expect(isHead()).toBe(false)
    clock.now += 1
    expect(isHead()).toBe(true)
  })

  it('goes back to what a hint tells, and to what this process made ready', () => {
    const { starts } = create()
    starts.begin([source], false).found(() => place(70), 500)

    expect(starts.begin([{ ...source, hintedRank: 60 }], false).starts[0]).toMatchObject({
      rank: 60,
      due: 500,
    })
    expect(starts.begin([{ ...source, hintedRank: 80 }], false).starts[0]).toMatchObject({ rank: 70 })
    starts.lower(source, 'ready', 50, 50)
    starts.lower(source, 'delayed', 0, 400)
    expect(starts.begin([source], false).starts[0]).toMatchObject({ rank: 50, due: 400 })
    starts.forget('acme')
    expect(starts.begin([source], false).starts[0]).toMatchObject({ rank: LOWEST, due: LOWEST })
  })

  it('is not moved past a job that became ready while a claim was under way', () => {
    const { starts } = create()
    starts.begin([source], false).found(() => place(70), 500)

    const underWay = starts.begin([source], false)
    starts.lower(source, 'ready', 50, 50)
    underWay.found(() => place(90), 600)

    expect(starts.begin([source], false).starts[0]).toMatchObject({ rank: 50 })
  })

  it('is the head after a claim that failed, and for whoever owns the clock', () => {
    const { starts } = create()
    starts.begin([source], false).found(() => place(70), 500)

    expect(starts.begin([source], true).starts[0]?.rank).toBe(LOWEST)
    starts.begin([source], false).failed()

    expect(starts.begin([source], false).starts[0]?.rank).toBe(LOWEST)
  })

  it('stays where it is while the source is held', () => {
    const { starts, clock } = create()
    starts.begin([source], false).found(() => place(70), 500)

    clock.now += 100
    starts.begin([source], false).found(() => 'held', 600)

    expect(starts.begin([source], false).starts).toEqual([{ rank: 70, id: 'id-70', due: 500 }])
    clock.now += 101
    expect(starts.begin([source], false).starts[0]?.rank).toBe(LOWEST)
  })

  it('does not pass over what became due while the source was held', async () => {
    const { open } = await createWorld()
    const runtime = systemRuntime()
    // No time passes for what is remembered, so that nothing looks at the head again.
    const store = await open({ migrate: true, listen: false, runtime: { ...runtime, mono: () => 1_000 } })
    const other = await open({ listen: false })
    const hold = { kind: 'pause', space: 'acme', queue: 'mail', lane: null } as const
    await store.insert({ jobs: [newJob()] })
    await finish(store, await take(store, 9))
    await other.hold({ holds: [{ ...hold, reason: null, by: null, forMs: null }] })
    const late = newJob({ delayMs: 50 })
    await other.insert({ jobs: [late] })
    await eventually('the job to be due', async () => {
      const { queues } = await other.counts({ space: 'acme' })
      return queues[0]?.overdue === 1
    })

    expect(await take(store, 9)).toEqual([])
    await other.release({ holds: [hold] })

    expect((await take(store, 9)).map(({ id }) => id)).toEqual([late.id])
  })

  it('never hides a job from the store that made it ready', async () => {
    const { open } = await createWorld()
    const store = await open({ migrate: true, listen: false })
    await store.insert({ jobs: newJobs(5) })
    const started = await take(store, 2)

    const urgent = newJob({ priority: 10 })
    await store.insert({ jobs: [urgent] })
    expect((await take(store, 1))[0]?.id).toBe(urgent.id)

    await finish(store, started.slice(0, 1), { to: 'ready', keepPlace: true, refund: true })
    expect((await take(store, 1))[0]?.id).toBe(started[0]?.id)

    await finish(store, started.slice(1), { to: 'dead' })
    await store.change({
      action: 'retry',
      space: 'acme',
      target: { ids: [started[1]!.id] },
      failure: null,
      keepMs: 0,
    })
    expect((await take(store, 9)).map(({ id }) => id)).toContain(started[1]?.id)
    expect(await take(store, 9)).toEqual([])
  })

  it('stays where it was when jobs that go first take all the room', async () => {
    const { open } = await createWorld()
    const store = await open({ migrate: true, listen: false })
    const [first, ...others] = newJobs(3)
    await store.insert({ jobs: [first!, ...others] })
    const [held] = await take(store, 1)
    const next = newJob()

    const reply = await store.settle({
      settlements: [
        { space: held!.space, id: held!.id, token: held!.token, verdict: verdict({}), enqueue: [next] },
      ],
      claim: {
        sources: [{ ...source, limit: 1 }],
        limit: 1,
        first: [next.id],
        workerId: 'worker',
        token: 'next',
        leaseMs: 30_000,
      },
    })

    expect(reply.claimed?.jobs.map(({ id }) => id)).toEqual([next.id])
    expect((await take(store, 9)).map(({ id }) => id)).toEqual(others.map(({ id }) => id))
  })

  it('finds what nobody told of before long', async () => {
    const { open } = await createWorld()
    const [here, there] = [await open({ migrate: true, listen: false }), await open({ listen: false })]
    await here.insert({ jobs: newJobs(2) })
    await take(here, 1)
    const urgent = newJob({ priority: 10 })
    await there.insert({ jobs: [urgent, newJob({ delayMs: 5 })] })

    const found: string[] = []
    await eventually('all three', async () => {
      found.push(...(await take(here, 1)).map(({ id }) => id))
      return found.length === 3
    })

    expect(found).toContain(urgent.id)
  })
})
