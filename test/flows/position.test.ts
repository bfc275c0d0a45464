import { describe, expect, it } from 'vitest'
import { readDefinitions } from '../../src/client/flows/stored-definitions.ts'
import { bury, flow, type Handler, queue } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { openScene, type Scene } from '../worker/support/scene.ts'

interface Order {
  readonly n: number
}

const a = queue<Order, { a: number }>('a')
const b = queue<Order, { b: number }>('b')
const c = queue<number, number>('c')
const back = queue<{ a: number }>('back')

const quick: readonly Handler[] = [
  a.handle(({ payload }) => ({ a: payload.n })),
  b.handle(({ payload }) => ({ b: payload.n })),
  c.handle(({ payload }) => payload),
  back.handle(() => {}),
]

/** The flow that has all shapes. */
const shapes = flow('shapes', (f) =>
  f
    .step(a, { undo: back })
    .each('squares', c, ({ state }) => [state.n, state.a])
    .parallel({ one: (g) => g.step(b).signal('approval', { timeout: '2d' }), two: b })
    .when(
      ({ state }) => state.n > 1,
      (g) => g.sleep('1h'),
      (g) => g.step(b, { name: 'otherwise' }),
    )
    .repeat({ most: 3 }, (g) => g.step(b, { name: 'again' })),
)

describe('how a flow looks', () => {
  it('is in the store when a worker has started, with branches, joins, loops and timeouts', async () => {
    const scene = openScene()
    await scene.skep.worker([shapes, ...quick]).ready

    const flows = await readDefinitions(scene.truth, scene.skep.space)

    const all = { need: 'all', failing: 'end' }
    expect(flows).toMatchObject([{ name: 'shapes', version: 1 }])
    expect(JSON.parse(flows[0]?.outline ?? '')).toEqual({
      steps: [
        { kind: 'step', name: 'a', work: { queue: 'a' }, undo: 'back' },
        { kind: 'each', name: 'squares', work: { queue: 'c' }, join: all },
        {
          kind: 'parallel',
          name: 'one-two',
          join: all,
          branches: [
            {
              name: 'one',
              work: {
                branch: 'shapes:one',
                steps: [
                  { kind: 'step', name: 'b', work: { queue: 'b' }, undo: null },
                  { kind: 'signal', name: 'approval', timeoutMs: 172_800_000 },
                ],
              },
            },
            { name: 'two', work: { queue: 'b' } },
          ],
        },
        {
          kind: 'when',
          name: 'when 1',
          yes: [{ kind: 'sleep', name: 'sleep 1', ms: 3_600_000 }],
          no: [{ kind: 'step', name: 'otherwise', work: { queue: 'b' }, undo: null }],
        },
        {
          kind: 'repeat',
          name: 'repeat 1',
          most: 3,
          body: [{ kind: 'step', name: 'again', work: { queue: 'b' }, undo: null }],
        },
      ],
    })
  })

  it('is kept for each version that a worker has', async () => {
    const scene = openScene()
    const [old, young] = [flow('order', (f) => f.step(a)), flow('order', (f) => f.step(b), { version: 2 })]
    await scene.skep.worker([old, young, ...quick]).ready

    const flows = await readDefinitions(scene.truth, scene.skep.space)

    expect(flows.map(({ version, outline }) => [version, JSON.parse(outline).steps[0].name])).toEqual([
      [1, 'a'],
      [2, 'b'],
    ])
    expect(warningsOf(scene)).toEqual([])
  })

  it('is put by whoever only starts, once, with the flows inside', async () => {
    const inner = flow('inner', (f) => f.step(a))
    const outer = flow('outer', (f) => f.step(inner, { as: 'inside' }), { version: 3 })
    const calls: string[][] = []
    const scene = openScene({ wrap: (store) => watched(store, calls) })

    await Promise.all([1, 2, 3].map((n) => scene.skep.start(outer, { n })))
    await scene.skep.start(outer, { n: 4 })

    expect(calls).toEqual([['outer@0000000003', 'inner@0000000001']])
  })

  it('does not keep a run from starting', async () => {
    const scene = openScene({
      wrap: (store) => ({ ...store, putRecords: () => Promise.reject(new Error('No room.')) }),
    })

    await scene.skep.start(shapes, { n: 1 })

    expect(await scene.counts('a')).toEqual({ ready: 1 })
    expect(warningsOf(scene)).toEqual([expect.stringMatching(/"shapes" looks could not be kept: No room/)])
  })

  it('warns when it was changed without raising the version, and names both', async () => {
    const scene = openScene()
    await scene.skep.worker([flow('order', (f) => f.step(a).step(b)), ...quick]).ready
    expect(warningsOf(scene)).toEqual([])

    const changed = flow('order', (f) => f.step(a).sleep('1h').step(b))
    await scene.client().worker([changed]).ready
    await scene.client().worker([changed]).ready

    expect(warningsOf(scene)).toEqual([
      expect.stringMatching(
        /^Flow "order" was changed without raising its version 1: its steps were a, b, and now they are a, sleep 1, b\. Runs in flight may go wrong/,
      ),
    ])
  })
})

describe('two flows of one name and version', () => {
  it('are refused, branches too: runs of one would go on with the steps of the other', () => {
    const scene = openScene()
    const twice = (): unknown =>
      flow('twice', (f) =>
        f
          .input<Order>()
          .parallel({ same: (g) => g.step(a), one: b })
          .parallel({ same: (g) => g.step(b), two: b }),
      )

    expect(twice).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('"same"') }),
    )
    expect(() => scene.skep.worker([1, 2].map(() => flow('order', (f) => f.step(a))))).toThrow(/"order"/)
    expect(() => scene.skep.worker([shapes, shapes])).not.toThrow()
  })
})

describe('where a run stands', () => {
  it('is told by name, with what it waits for and how far it is', async () => {
    const scene = openScene()
    scene.skep.worker([shapes, ...quick])
    const run = await scene.skep.start(shapes, { n: 2 })
    const steps = async (): Promise<string> =>
      ((await run.get())?.position.steps ?? []).map(({ name, status }) => `${name}:${status}`).join(' ')
    const at = (step: string) => () => run.get().then((view) => view?.position.step === step)

    await scene.until(at('one-two'), 60_000)
    const branch = (await scene.skep.runs.list({ root: run.id })).runs.find(
      ({ branchOf }) => branchOf !== null,
    )
    await scene.until(
      async () => (await scene.skep.runs.get(branch?.id ?? ''))?.position.step === 'approval',
      60_000,
    )
    const waiting = await run.get()
    expect(waiting?.position.waits).toMatchObject({ kind: 'branches', size: 2, done: 1, failed: 0 })
    // Three leaves before it of eight (the longer way of the when, three rounds), and half of it.
    expect(waiting?.progress).toBeCloseTo(2.5 / 7)
    expect(await steps()).toBe(
      'a:done squares:done one-two:current when 1:todo sleep 1:todo otherwise:todo repeat 1:todo again:todo',
    )
    const approval = await scene.skep.runs.get(branch?.id ?? '')
    expect(approval).toMatchObject({
      flow: 'shapes:one',
      progress: 0.5,
      position: { step: 'approval', waits: { kind: 'signal', size: 1, done: 0 } },
      branchOf: { root: run.id, n: 0 },
    })
    expect(approval?.position.waits?.until?.getTime()).toBeGreaterThan(scene.runtime.now() + 86_400_000)

    await scene.skep.runs.run(branch?.id ?? '').signal('approval', 'yes')
    await scene.until(at('sleep 1'), 60_000)
    const asleep = await run.get()
    const left = (asleep?.position.waits?.until?.getTime() ?? 0) - scene.runtime.now()
    expect(asleep?.position.waits).toMatchObject({ kind: 'moment', size: 0, group: null })
    expect(left).toBeGreaterThan(3_500_000)
    expect(left).toBeLessThanOrEqual(3_600_000)
    expect(await steps()).toBe(
      'a:done squares:done one-two:done when 1:current sleep 1:current otherwise:skipped repeat 1:todo again:todo',
    )

    await scene.until(async () => (await run.get())?.status === 'done', 7_200_000)
    expect(await run.get()).toMatchObject({ progress: 1, position: { step: null, waits: null } })
    expect(await steps()).toBe(
      'a:done squares:done one-two:done when 1:done sleep 1:done otherwise:skipped repeat 1:done again:done',
    )
  })

  it('counts a loop by its rounds', async () => {
    const scene = openScene()
    const held = queue<Order>('held')
    const loop = flow('loop', (f) => f.step(a).repeat({ most: 4 }, (g) => g.step(held).step(b)))
    const progress: number[] = []
    scene.skep.worker([
      loop,
      ...quick,
      held.handle(async () => {
        const view = (await scene.skep.runs.list()).runs[0]
        progress.push(view?.progress ?? 0)
        rounds.push(view?.position.steps[1]?.round ?? null)
      }),
    ])
    const rounds: (number | null)[] = []

    await (await scene.skep.start(loop, { n: 1 })).result()

    expect(rounds).toEqual([1, 2, 3, 4])
    expect(progress.map((part) => Math.round(part * 9))).toEqual([1, 3, 5, 7])
  })

  it('is the first step that was undone, once it has failed: there it would go on', async () => {
    const scene = openScene()
    const bad = queue<number>('bad')
    const fails = flow('fails', (f) => f.step(a, { undo: back }).each('bad', bad, [1, 2, 3]).step(b))
    scene.skep.worker([
      fails,
      ...quick,
      bad.handle(({ payload }) => (payload === 2 ? bury('Even.') : undefined)),
    ])
    const run = await scene.skep.start(fails, { n: 1 })
    await scene.until(async () => (await run.get())?.status === 'failed', 60_000)

    const view = await run.get()

    expect(view?.position.steps.map(({ status }) => status)).toEqual(['current', 'todo', 'todo'])
    expect(view?.progress).toBeLessThan(1)
  })

  it('is as long after many steps as after one', async () => {
    const scene = openScene()
    const work = Array.from({ length: 40 }, (_, n) => n)
    const long = flow('long', (f) =>
      work.reduce((steps, n) => steps.step(a, { name: `step-${n}` }), f.input<Order>()),
    )
    const sizes: number[] = []
    scene.skep.worker([
      long,
      a.handle(async () => {
        const { runs } = await scene.truth.listRuns({ space: scene.skep.space, limit: 1, cursor: null })
        sizes.push(runs[0]?.position.length ?? 0)
        return { a: 1 }
      }),
    ])

    await (await scene.skep.start(long, { n: 1 })).result()

    expect(sizes).toHaveLength(40)
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(4)
  })
})

function warningsOf({ log }: Scene): string[] {
  return log.filter(({ level }) => level === 'warn').map(({ message }) => message)
}

/** A store that tells of the flows that were put. */
function watched(store: Store, calls: string[][]): Store {
  return {
    ...store,
    putRecords: (call) => {
      if (call.kind === 'flow') calls.push(call.records.map(({ id }) => id))
      return store.putRecords(call)
    },
  }
}
