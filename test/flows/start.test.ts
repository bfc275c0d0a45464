import { describe, expect, it } from 'vitest'
import { bury, failFast, flow, type JoinRule, queue, schedule, settled } from '../../src/index.ts'
import { codeOf, openScene, type Scene } from '../worker/support/scene.ts'

const a = queue<{ n: number }, { a: number }>('a')
const b = queue<{ n: number }, { b: number }>('b', { priority: 5 })
const c = queue<number, number>('c')
const wait = queue<{ n: number }>('wait')

const order = flow('order', (f) => f.step(a))
const quick = a.handle(({ payload }) => ({ a: payload.n * 100 }))

describe('a start', () => {
  it('with an id that was started before does nothing', async () => {
    const scene = openScene()
    const id = scene.runtime.uuid()
    let calls = 0
    await scene.skep.start(order, { n: 1 }, { id })

    const run = await scene.skep.start(order, { n: 2 }, { id })

    scene.skep.worker([order, a.handle(({ payload }) => ({ a: payload.n * 100 + calls++ }))])
    expect(await scene.through(run.result())).toEqual({ n: 1, a: 100 })
    await scene.skep.start(order, { n: 3 }, { id })
    await scene.advance(10_000)
    expect(calls).toBe(1)
  })

  it.each(['delay', 'runAt'] as const)('with a %s begins then, and can be cancelled before', async (how) => {
    const scene = openScene()
    const at = scene.runtime.now() + 3_600_000
    const options = how === 'delay' ? { delay: '1h' as const } : { runAt: new Date(at) }
    scene.skep.worker([order, quick])

    const run = await scene.skep.start(order, { n: 1 }, options)
    const other = await scene.skep.start(order, { n: 2 }, options)
    await scene.advance(3_500_000)
    expect(await run.get()).toMatchObject({ status: 'running', state: { n: 1 } })
    expect(await scene.counts('a')).toEqual({})
    expect(await other.cancel()).toBe(true)
    await scene.advance(200_000)

    expect(await run.result()).toEqual({ n: 1, a: 100 })
    expect((await other.get())?.status).toBe('cancelled')
    expect(await scene.counts('a')).toEqual({ done: 1 })
  })

  it('with bad options is refused before anything is written', async () => {
    const scene = openScene()

    expect(await codeOf(scene.skep.start(order, { n: 1 }, { priority: 101 }))).toBe('OPTION_INVALID')
    expect(await codeOf(scene.skep.start(order, { n: 1 }, { delay: 'soon' as '1s' }))).toBe(
      'DURATION_INVALID',
    )
    expect(await codeOf(scene.skep.start(order, { n: 1 }, { runAt: Number.NaN }))).toBe('OPTION_INVALID')
    expect(await codeOf(scene.skep.start(order, { n: 1 }, { tx: {} }))).toBe('TX_UNSUPPORTED')
    expect((await scene.skep.runs.list()).runs).toEqual([])
  })
})

describe('the priority of a run', () => {
  const prioritiesOf = async (scene: Scene): Promise<Record<string, number>> => {
    const all: [string, number][] = []
    for (const name of ['a', 'b', 'c', 'flow:levels', 'flow:inner']) {
      const { jobs } = await scene.skep.jobs.list({ queue: name })
      all.push(...jobs.map((job): [string, number] => [job.queue, job.priority]))
    }
    return Object.fromEntries(all)
  }

  it('is added to that of each of its jobs, and goes on to its branches', async () => {
    const scene = openScene()
    const inner = flow('inner', (f) => f.input<{ n: number }>().step(b).sleep('1h'))
    const levels = flow('levels', (f) =>
      f
        .step(a, { priority: -10 })
        .each('squares', c, [1], { priority: 90, join: settled })
        .step(inner, { priority: 7, as: 'inner' }),
    )
    scene.skep.worker([levels, quick, b.handle(() => ({ b: 1 })), c.handle(() => 1)])
    await scene.skep.start(levels, { n: 1 }, { priority: 20 })

    await scene.until(async () => (await scene.counts('flow:inner')).delayed === 1)

    expect(await prioritiesOf(scene)).toEqual({
      a: 10, // 20 - 10
      c: 100, // 20 + 90, and there is no more
      b: 32, // 20 + 7, and the queue's own 5
      'flow:inner': 27,
    })
  })

  it('lets its jobs overtake others that are as old', async () => {
    const scene = openScene()
    const seen: number[] = []
    for (const [n, priority] of [0, 10, -10].entries()) await scene.skep.start(order, { n }, { priority })

    const handler = a.handle(({ payload }) => ({ a: seen.push(payload.n) }))
    scene.skep.worker([order, handler], { concurrency: 1 })
    await scene.until(() => seen.length === 3)

    expect(seen).toEqual([1, 0, 2])
  })

  it('leaves out queues in which order is strict', async () => {
    const scene = openScene()
    const line = queue<{ n: number }, { l: number }>('line', { order: 'strict' })
    const inLine = flow('in.line', (f) => f.step(line))
    scene.skep.worker([inLine, line.handle(() => ({ l: 1 }))])

    const run = await scene.skep.start(inLine, { n: 1 }, { priority: 50 })

    expect(await scene.through(run.result())).toMatchObject({ l: 1 })
  })

  it('stays with a run that is retried', async () => {
    const scene = openScene()
    const broken = flow('levels', (f) => f.step(a))
    scene.skep.worker([broken, a.handle(() => bury('Broken.'))])
    const run = await scene.skep.start(broken, { n: 1 }, { priority: 20 })
    await scene.until(async () => (await run.get())?.status === 'failed')
    await scene.skep.queues.pause('flow:levels')

    await run.retry()

    expect((await prioritiesOf(scene))['flow:levels']).toBe(20)
  })
})

describe('options of a step', () => {
  it('delay the jobs of an each, and give them a lane', async () => {
    const scene = openScene()
    const later = flow('later', (f) =>
      f
        .input<{ n: number }>()
        .each('squares', c, [1, 2], { delay: '1h', lane: 'slow', headers: { of: 'later' } }),
    )

    await scene.skep.start(later, { n: 1 })

    expect(await scene.counts('c')).toEqual({ delayed: 2 })
    const { jobs } = await scene.skep.jobs.list({ queue: 'c' })
    expect(jobs[0]).toMatchObject({ lane: 'slow', headers: { of: 'later' } })
  })

  it('delay a flow that is a step', async () => {
    const scene = openScene()
    const outer = flow('outer', (f) => f.input<{ n: number }>().step(order, { as: 'order', delay: '1h' }))
    scene.skep.worker([outer, quick])
    const run = await scene.skep.start(outer, { n: 1 })

    await scene.advance(3_500_000)
    expect(await scene.counts('a')).toEqual({})
    await scene.advance(200_000)

    expect(await run.result()).toMatchObject({ order: { a: 100 } })
  })

  it('that a flow cannot have are refused when it is declared', () => {
    const declare = (options: object) => () =>
      flow('wrong', (f) => f.input<{ n: number }>().step(order, { as: 'order', ...options }))

    expect(declare({ lane: 'x' })).toThrow('lane')
    expect(declare({ timeout: '1s' })).toThrow('timeout')
    expect(declare({ priority: 1_000 })).toThrow('priority')
    expect(declare({ priority: 10, delay: '1s' })).not.toThrow()
  })
})

describe('branches', () => {
  const long = (join: JoinRule<'all' | 'failFast'>) =>
    flow('long', (f) =>
      f.input<{ n: number }>().parallel(
        {
          left: (g) => g.step(wait),
          right: (g) => g.step(wait, { name: 'deep' }).step(order, { as: 'o' }),
        },
        join,
      ),
    )

  it('are listed with their names, by the run that waits for them', async () => {
    const scene = openScene()
    const nested = long({ kind: 'all', join: { need: 'all', failing: 'end' } })
    const outer = flow('outer', (f) => f.input<{ n: number }>().each('parts', nested, [{ n: 1 }, { n: 2 }]))
    scene.skep.worker([outer])
    const run = await scene.skep.start(outer, { n: 0 })
    await scene.until(async () => (await scene.counts('wait')).ready === 4)

    const parts = await run.branches()
    expect(parts).toMatchObject([
      { name: 'parts', n: 0, flow: 'long', status: 'running' },
      { name: 'parts', n: 1, flow: 'long', status: 'running' },
    ])
    const inner = await parts[0]?.run.branches()
    expect(inner?.map(({ name, n }) => [name, n])).toEqual([
      ['left', 0],
      ['right', 1],
    ])
    expect(await inner?.[0]?.run.branches()).toEqual([])
    expect(await inner?.[0]?.run.get()).toMatchObject({ state: { n: 1 } })
    expect(await scene.skep.runs.run(scene.runtime.uuid()).branches()).toEqual([])
  })

  it('that are cancelled fail a run that needs all, once the others have ended', async () => {
    const scene = openScene()
    const work = long({ kind: 'all', join: { need: 'all', failing: 'end' } })
    scene.skep.worker([work, quick])
    const run = await scene.skep.start(work, { n: 0 })
    await scene.until(async () => (await scene.counts('wait')).ready === 2)

    const [left] = await run.branches()
    expect(await left?.run.cancel('Not this one.')).toBe(true)
    await scene.advance(5_000)
    expect((await run.get())?.status).toBe('running')
    expect((await run.branches()).map(({ status }) => status)).toEqual(['cancelled', 'running'])

    scene.client().worker([wait.handle(() => {})])
    await scene.until(async () => (await run.get())?.status === 'failed')
    expect((await run.get())?.failure?.message).toBe('Not this one.')
    expect((await run.branches()).map(({ status }) => status)).toEqual(['cancelled', 'done'])
  })

  it('that are cancelled fail a run at once that fails fast, and the others are cancelled', async () => {
    const scene = openScene()
    const work = long(failFast)
    scene.skep.worker([work])
    const run = await scene.skep.start(work, { n: 0 })
    await scene.until(async () => (await scene.counts('wait')).ready === 2)

    await (await run.branches())[0]?.run.cancel('Not this one.')

    expect(await codeOf(scene.through(run.result()))).toBe('JOB_FAILED')
    await scene.until(async () => (await scene.counts('wait')).cancelled === 2)
    expect((await run.branches()).map(({ status }) => status)).toEqual(['cancelled', 'cancelled'])
  })

  it('that are cancelled are collected by a run that waits for all to have settled', async () => {
    const scene = openScene()
    const inner = flow('inner', (f) => f.input<{ n: number }>().step(wait).step(a))
    const work = flow('work', (f) =>
      f.input<{ n: number }>().each('parts', inner, [{ n: 1 }, { n: 2 }], { join: settled, priority: 1 }),
    )
    scene.skep.worker([work, quick])
    const run = await scene.skep.start(work, { n: 0 })
    await scene.until(async () => (await scene.counts('wait')).ready === 2)

    await (await run.branches())[1]?.run.cancel('Not this one.')
    scene.client().worker([wait.handle(() => {})])

    const { parts } = await scene.through(run.result())
    expect(parts).toMatchObject([
      { ok: true, result: { a: 100 } },
      { ok: false, state: 'cancelled', failure: { message: 'Not this one.' } },
    ])
  })
})

describe('a state that is too large', () => {
  it('fails its run, and the reason says what to do', async () => {
    const scene = openScene({ payloadBytes: 2_000 })
    const big = queue<{ n: number }, { text: string }>('big')
    const grow = flow('grow', (f) => f.step(big).step(big, { name: 'more', as: 'more' }))
    scene.skep.worker([grow, big.handle(() => ({ text: 'x'.repeat(1_500) }))])

    const run = await scene.skep.start(grow, { n: 1 })
    await scene.until(async () => (await run.get())?.status === 'failed')

    expect((await run.get())?.failure?.message).toMatch(
      /^The state of a run has 3\d\d\d bytes; the limit is 2000/,
    )
    expect((await run.get())?.failure?.message).toContain('Store large data elsewhere')
  })

  it('is refused when it is what a run shall start with', async () => {
    const scene = openScene({ payloadBytes: 2_000 })
    const text = flow('text', (f) => f.input<{ text: string }>().each('squares', c, [1]))

    expect(await codeOf(scene.skep.start(text, { text: 'x'.repeat(2_000) }))).toBe('PAYLOAD_TOO_LARGE')
    expect((await scene.skep.runs.list()).runs).toEqual([])
  })
})

describe('a schedule', () => {
  it('starts a run of a flow at each of its slots, with the id of its job', async () => {
    const scene = openScene()
    scene.skep.worker([order, quick])
    const hourly = schedule('hourly', {
      flow: order,
      input: { n: 7 },
      attributes: { kind: 'hourly' },
      priority: 3,
      every: '1h',
    })
    await scene.skep.schedules.put(hourly)

    await scene.advance(2 * 3_600_000 + 1_000)

    const { runs } = await scene.skep.runs.list({ attributes: { kind: 'hourly' } })
    expect(runs.map(({ status, result }) => [status, result])).toEqual([
      ['done', { n: 7, a: 700 }],
      ['done', { n: 7, a: 700 }],
    ])
    expect((await scene.skep.schedules.get('hourly'))?.lastJob).toBe(runs[0]?.id)
    expect((await scene.skep.jobs.list({ queue: 'a' })).jobs[0]?.priority).toBe(3)
  })

  it('makes the input by a function, and can be run by hand', async () => {
    const scene = openScene()
    scene.skep.schedules.declare([
      schedule('daily', { flow: order, input: ({ slot }) => ({ n: slot.getTime() % 2 }), cron: '@daily' }),
    ])
    await scene.skep.schedules.sync()
    scene.skep.worker([order, quick])

    const job = await scene.skep.schedules.runNow('daily')
    const run = scene.skep.runs.run(job.id)
    await scene.until(async () => (await run.get())?.status === 'done')

    expect((await run.get())?.state).toMatchObject({ n: expect.any(Number), a: expect.any(Number) })
  })

  it('starts one run, also when its job is tried again', async () => {
    const scene = openScene()
    scene.skep.worker([order, quick])
    await scene.skep.schedules.put(schedule('hourly', { flow: order, input: { n: 1 }, every: '1h' }))
    scene.faults.choose((operation, argument) => {
      // The run was made, and then nothing of the worker's answers arrives.
      const settlements = (argument as { settlements?: readonly unknown[] }).settlements ?? []
      return operation === 'settle' && settlements.length > 0 && scene.runtime.mono() < 3_700_000
        ? 'before'
        : null
    })

    await scene.advance(3_700_000)
    await scene.until(async () => (await scene.skep.runs.list({ status: 'done' })).runs.length === 1)

    expect((await scene.skep.runs.list()).runs).toHaveLength(1)
    expect(await scene.counts('a')).toEqual({ done: 1 })
  })

  it('starts the newest version that a worker has, and waits for one that is new enough', async () => {
    const scene = openScene()
    const second = flow('order', (f) => f.step(a).sleep('1s'), { version: 2 })
    const third = flow('order', (f) => f.step(a).sleep('2s'), { version: 3 })
    await scene.skep.schedules.put(schedule('hourly', { flow: second, input: { n: 1 }, every: '1h' }))
    const old = scene.skep.worker([order, quick])
    await scene.advance(3_600_000 + 60_000)
    expect((await scene.skep.runs.list()).runs).toEqual([])

    await scene.through(old.stop())
    scene.client().worker([second, third, quick])
    await scene.until(async () => (await scene.skep.runs.list({ status: 'done' })).runs.length === 1)

    expect((await scene.skep.runs.list()).runs).toMatchObject([{ version: 3 }])
  })

  it('refuses what would be about the job and not about the run', () => {
    const make = (options: object) => () =>
      schedule('wrong', { flow: order, input: { n: 1 }, every: '1h', ...options })

    for (const options of [
      { overlap: 'skip' },
      { overlap: 'replace' },
      { from: 'last-run' },
      { unique: 'x' },
    ]) {
      expect(make(options)).toThrow(Object.keys(options)[0])
    }
    expect(make({ overlap: 'allow', attributes: { x: 1 } })).not.toThrow()
  })
})
