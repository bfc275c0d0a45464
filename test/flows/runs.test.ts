import { describe, expect, it } from 'vitest'
import { bury, failFast, first, flow, type Handler, type Queue, queue, settled } from '../../src/index.ts'
import { openScene, type Scene } from '../worker/support/scene.ts'

interface Order {
  readonly n: number
}

const a = queue<Order, { a: number }>('a')
const b = queue<{ a: number }, { b: number }>('b')
const c = queue<number, number>('c')

const pause = (scene: Scene, ms: number): Promise<void> =>
  new Promise((resolve) => void scene.runtime.timer(ms, resolve))

/** Handlers that answer at once. */
function quick(): Handler[] {
  return [
    a.handle(({ payload }) => ({ a: payload.n + 1 })),
    b.handle(({ payload }) => ({ b: payload.a * 10 })),
    c.handle(({ payload }) => payload * payload),
  ]
}

/** A queue whose jobs end badly at once. */
function failing(name: string): [Queue<unknown>, Handler] {
  const made = queue<unknown>(name)
  return [made, made.handle(() => bury('It is broken.'))]
}

async function over(scene: Scene, run: { get(): Promise<{ status: string } | null> }): Promise<string> {
  await scene.until(async () => (await run.get())?.status !== 'running', 60_000)
  return (await run.get())?.status ?? 'none'
}

describe('a run', () => {
  it('takes its steps one after the other, with what each adds to the state', async () => {
    const scene = openScene()
    const order = flow('order', (f) => f.step(a).step(b))
    scene.skep.worker([order, ...quick()])

    const run = await scene.skep.start(order, { n: 1 })

    expect(await run.result()).toEqual({ n: 1, a: 2, b: 20 })
    expect(await run.get()).toMatchObject({ status: 'done', flow: 'order', version: 1 })
  })

  it('is there with its first job when it was started, and waits for a worker', async () => {
    const scene = openScene()
    const order = flow('order', (f) => f.step(a).step(b))

    const run = await scene.skep.start(order, { n: 1 })

    expect(await scene.counts('a')).toEqual({ ready: 1 })
    expect((await run.get())?.status).toBe('running')
    scene.skep.worker([order, ...quick()])
    expect(await run.result()).toMatchObject({ b: 20 })
  })

  it('goes on where each process knows only a part', async () => {
    const scene = openScene()
    const order = flow('order', (f) => f.step(a).step(b))
    const [first, second, third] = quick() as [Handler, Handler, Handler]
    scene.skep.worker([first])
    scene.client().worker([second, third])
    scene.client().worker([order])

    expect(await (await scene.skep.start(order, { n: 3 })).result()).toMatchObject({ b: 40 })
  })

  it('fans out over what its state says and collects in that order', async () => {
    const scene = openScene()
    const squares = flow('squares', (f) =>
      f
        .step(a)
        .each('squares', c, ({ state }) => Array.from({ length: state.a }, (_, n) => n))
        .step(a, { name: 'again', payload: ({ state }) => ({ n: state.squares.length }) }),
    )
    scene.skep.worker([squares, ...quick()])

    const { squares: got, a: last } = await (await scene.skep.start(squares, { n: 49 })).result()

    expect(got).toEqual(Array.from({ length: 50 }, (_, n) => n * n))
    expect(last).toBe(51)
  })

  it('goes on at once where there is nothing to fan out to', async () => {
    const scene = openScene()
    const none = flow('none', (f) => f.step(a).each('squares', c, []).step(b))
    scene.skep.worker([none, ...quick()])

    expect(await (await scene.skep.start(none, { n: 1 })).result()).toMatchObject({ squares: [], b: 20 })
  })

  it('collects failures too, if it waits for all to have settled', async () => {
    const scene = openScene()
    const odd = queue<number, number>('odd')
    const all = flow('all', (f) => f.input<{ n: number }>().each('got', odd, [1, 2, 3], settled))
    scene.skep.worker([all, odd.handle(({ payload }) => (payload % 2 === 1 ? payload : bury('Even.')))])

    const { got } = await (await scene.skep.start(all, { n: 0 })).result()

    expect(got.map((one) => (one.ok ? one.result : one.failure.message))).toEqual([1, 'Even.', 3])
  })

  it('takes the first that are done, and cancels the others', async () => {
    const scene = openScene()
    const slow = queue<number, number>('slow')
    const race = flow('race', (f) =>
      f.input<{ n: number }>().each('fastest', slow, [900, 20, 10, 800], first(2)),
    )
    const stopped: number[] = []
    scene.skep.worker([
      race,
      slow.handle(async ({ payload, signal }) => {
        await Promise.race([
          pause(scene, payload * 1_000),
          new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
        ])
        if (signal.aborted) stopped.push(payload)
        return payload
      }),
    ])

    const run = await scene.skep.start(race, { n: 0 })
    await scene.until(async () => (await run.get())?.status === 'done', 60_000)

    expect((await run.result()).fastest).toEqual([20, 10])
    await scene.until(() => stopped.length === 2, 60_000)
    expect(new Set(stopped)).toEqual(new Set([800, 900]))
  })

  it('fails with its step, and completes when somebody mends the job', async () => {
    const scene = openScene()
    let isBroken = true
    const shaky = queue<number, number>('shaky')
    const work = flow('work', (f) => f.step(a).each('got', shaky, [1, 2, 3]).step(b))
    scene.skep.worker([
      work,
      ...quick(),
      shaky.handle(({ payload }) => (payload === 2 && isBroken ? bury('Broken.') : payload)),
    ])
    const run = await scene.skep.start(work, { n: 1 })
    expect(await over(scene, run)).toBe('failed')
    expect((await run.get())?.failure?.message).toBe('Broken.')
    await expect(run.result()).rejects.toMatchObject({ code: 'JOB_FAILED' })

    isBroken = false
    await scene.skep.jobs.retry({ queue: 'shaky', state: 'dead' })
    await scene.until(async () => (await run.get())?.status === 'done', 60_000)

    expect(await run.result()).toMatchObject({ got: [1, 2, 3], b: 20 })
  })

  it('fails at once if it shall, and cancels what has not ended', async () => {
    const scene = openScene()
    const [broken, handler] = failing('broken')
    const wait = queue<unknown>('wait')
    const fragile = flow('fragile', (f) => f.input<{ n: number }>().parallel({ wait, broken }, failFast))
    scene.skep.worker([fragile, handler])

    const run = await scene.skep.start(fragile, { n: 1 })

    expect(await over(scene, run)).toBe('failed')
    await scene.until(async () => (await scene.counts('wait')).cancelled === 1)
  })

  it('undoes what was done, the last first, when a later step fails', async () => {
    const scene = openScene()
    const undone: string[] = []
    const [broken, handler] = failing('broken')
    const hotel = queue<{ n: number }, { room: number }>('hotel')
    const flight = queue<{ n: number }, { seat: string }>('flight')
    const leave = queue<{ room: number }>('leave')
    const refund = queue<{ seat: string }>('refund')
    const trip = flow('trip', (f) =>
      f.input<{ n: number }>().step(hotel, { undo: leave }).step(flight, { undo: refund }).step(broken),
    )
    scene.skep.worker([
      trip,
      handler,
      hotel.handle(() => ({ room: 7 })),
      flight.handle(() => ({ seat: '3A' })),
      leave.handle(({ payload }) => void undone.push(`room ${payload.room}`)),
      refund.handle(({ payload }) => void undone.push(`seat ${payload.seat}`)),
    ])

    const run = await scene.skep.start(trip, { n: 1 })

    expect(await over(scene, run)).toBe('failed')
    expect(undone).toEqual(['seat 3A', 'room 7'])
    expect((await run.get())?.failure?.message).toBe('It is broken.')
  })

  it('branches, and goes on with what each branch gave', async () => {
    const scene = openScene()
    const work = flow('work', (f) =>
      f
        .step(a)
        .parallel({ left: (g) => g.step(b).sleep('10s'), right: (g) => g.each('squares', c, [3, 4]) })
        .step(b, { name: 'last', as: 'last' }),
    )
    scene.skep.worker([work, ...quick()])

    const run = await scene.skep.start(work, { n: 1 })
    expect(await over(scene, run)).toBe('done')

    const { left, right, last } = await run.result()
    expect([left.b, right.squares, last]).toEqual([20, [9, 16], { b: 20 }])
  })

  it('chooses by its state', async () => {
    const scene = openScene()
    const choose = flow('choose', (f) =>
      f.step(a).when(
        ({ state }) => state.a > 10,
        (g) => g.step(b, { as: 'large' }),
        (g) => g.step(b, { name: 'other', as: 'small' }),
      ),
    )
    scene.skep.worker([choose, ...quick()])

    expect(await (await scene.skep.start(choose, { n: 1 })).result()).toMatchObject({ small: { b: 20 } })
    expect(await (await scene.skep.start(choose, { n: 50 })).result()).toMatchObject({ large: { b: 510 } })
  })

  it('goes round as often as it shall', async () => {
    const scene = openScene()
    const count = queue<{ n: number }, { n: number }>('count')
    const loop = flow('loop', (f) =>
      f
        .input<{ n: number }>()
        .repeat({ most: 100, while: ({ state }) => state.n < 5 }, (g) => g.step(count))
        .repeat({ most: 3 }, (g) => g.step(count, { name: 'more' })),
    )
    scene.skep.worker([loop, count.handle(({ payload }) => ({ n: payload.n + 1 }))])

    expect(await (await scene.skep.start(loop, { n: 0 })).result()).toEqual({ n: 8 })
  })

  it('sleeps without holding anything', async () => {
    const scene = openScene()
    const nap = flow('nap', (f) => f.step(a).sleep('30m').step(b))
    const worker = scene.skep.worker([nap, ...quick()])
    const run = await scene.skep.start(nap, { n: 1 })
    await scene.until(async () => (await scene.counts('flow:nap')).delayed === 1)

    await scene.advance(1_740_000)
    expect((await run.get())?.status).toBe('running')
    expect(worker.health().running).toBe(0)
    await scene.advance(120_000)

    expect((await run.get())?.status).toBe('done')
  })

  it.each(['before', 'after'] as const)('waits for a signal that comes %s it does', async (when) => {
    const scene = openScene()
    const approve = flow('approve', (f) => f.step(a).signal<{ by: string }, 'approval'>('approval').step(b))
    const run = await scene.skep.start(approve, { n: 1 })
    if (when === 'before') expect(await run.signal('approval', { by: 'Ada' })).toBe(true)
    scene.skep.worker([approve, ...quick()])
    if (when === 'after') {
      await scene.until(async () => (await scene.counts('a')).done === 1)
      await scene.advance(1_000)
      expect(await run.signal('approval', { by: 'Ada' })).toBe(true)
    }

    expect(await run.result()).toMatchObject({ approval: { by: 'Ada' }, b: 20 })
  })

  it('does not wait for a signal longer than it shall', async () => {
    const scene = openScene()
    const approve = flow('approve', (f) => f.step(a).signal('approval', { timeout: '1h' }).step(b))
    scene.skep.worker([approve, ...quick()])
    const run = await scene.skep.start(approve, { n: 1 })

    await scene.advance(3_700_000)

    expect((await run.get())?.status).toBe('done')
    expect(await run.result()).toMatchObject({ approval: null, b: 20 })
  })

  it('runs another flow as a step', async () => {
    const scene = openScene()
    const inner = flow('inner', (f) => f.input<{ a: number }>().step(b).each('squares', c, [2]))
    const outer = flow('outer', (f) => f.step(a).step(inner, { as: 'inner' }).step(b))
    scene.skep.worker([outer, ...quick()])

    const { inner: got, b: last } = await (await scene.skep.start(outer, { n: 1 })).result()

    expect(got).toEqual({ n: 1, a: 2, b: 20, squares: [4] })
    expect(last).toBe(20)
  })

  it('can be cancelled, with its branches and jobs', async () => {
    const scene = openScene()
    const wait = queue<unknown>('wait')
    const long = flow('long', (f) =>
      f.input<{ n: number }>().parallel({ one: wait, two: (g) => g.step(wait, { name: 'deep' }) }),
    )
    scene.skep.worker([long])
    const run = await scene.skep.start(long, { n: 1 })
    await scene.until(async () => (await scene.counts('wait')).ready === 2)

    expect(await run.cancel('Not needed.')).toBe(true)

    expect(await run.get()).toMatchObject({ status: 'cancelled', failure: { message: 'Not needed.' } })
    expect(await scene.counts('wait')).toEqual({ cancelled: 2 })
    await expect(run.result()).rejects.toMatchObject({ code: 'JOB_CANCELLED' })
    expect(await run.cancel()).toBe(false)
  })

  it('can be retried at the step that failed, and run again from another', async () => {
    const scene = openScene()
    const calls: string[] = []
    let isBroken = true
    const one = queue<{ n: number }, { one: number }>('one')
    const two = queue<{ n: number }, { two: number }>('two')
    const work = flow('work', (f) => f.input<{ n: number }>().step(one).step(two))
    scene.skep.worker([
      work,
      one.handle(() => ({ one: calls.push('one') })),
      two.handle(() => {
        const two = calls.push('two')
        return isBroken ? bury('Broken.') : { two }
      }),
    ])
    const run = await scene.skep.start(work, { n: 1 })
    expect(await over(scene, run)).toBe('failed')

    isBroken = false
    expect(await run.retry()).toBe(true)
    expect(await run.retry()).toBe(false)
    expect(await run.result()).toEqual({ n: 1, one: 1, two: 3 })

    expect(await run.retry({ from: 'one' })).toBe(true)
    await scene.until(async () => (await run.get())?.status === 'done')
    expect(await run.result()).toEqual({ n: 1, one: 4, two: 5 })
    expect(calls).toEqual(['one', 'two', 'two', 'one', 'two'])
  })

  it('is found by what it is about', async () => {
    const scene = openScene()
    const order = flow('order', (f) => f.step(a))
    const run = await scene.skep.start(order, { n: 1 }, { attributes: { userId: 62, roles: ['x', 'y'] } })
    await scene.skep.start(order, { n: 2 }, { attributes: { userId: 7 } })

    for (const attributes of [{ userId: 62 }, { roles: 'y' }]) {
      const { runs } = await scene.skep.runs.list({ attributes })
      expect(runs.map(({ id }) => id)).toEqual([run.id])
    }
  })

  it('fails when a function of its flow goes on failing, and says why', async () => {
    const scene = openScene()
    const buggy = flow('buggy', (f) =>
      f.step(a).step(b, () => {
        throw new Error('No such field.')
      }),
    )
    scene.skep.worker([buggy, ...quick()])
    const run = await scene.skep.start(buggy, { n: 1 })

    expect(await over(scene, run)).toBe('failed')
    expect((await run.get())?.failure?.message).toBe('No such field.')
  })

  it('keeps the version with which it started, and waits for a worker that has it', async () => {
    const scene = openScene()
    const old = flow('order', (f) => f.step(a).step(b))
    const young = flow('order', (f) => f.step(a).sleep('1h').step(b), { version: 2 })
    const run = await scene.skep.start(old, { n: 1 })
    scene.skep.worker([young, ...quick()])
    await scene.advance(120_000)
    expect((await run.get())?.status).toBe('running')
    expect((await run.explain()).summary).toContain('No live worker has version 1 of flow "order"')

    scene.client().worker([old])

    await scene.until(async () => (await run.get())?.status === 'done', 60_000)
  })
})

describe('a run whose member is mended before it hears of the failure', () => {
  it('goes on, although both are told at the same time', async () => {
    const one = flow('one', (f) => f.step(a))
    const scene = openScene()
    let isMended = false
    scene.client().worker([a.handle(({ payload }) => (isMended ? { a: payload.n } : bury('Not yet.')))])
    const run = await scene.skep.start(one, { n: 1 })
    await scene.until(async () => (await scene.counts('a')).dead === 1)
    isMended = true
    await scene.skep.jobs.retry({ queue: 'a', state: 'dead' })
    await scene.until(async () => (await scene.counts('flow:one')).ready === 2)

    scene.skep.worker([one])

    expect(await over(scene, run)).toBe('done')
  })
})
