import { describe, expect, it } from 'vitest'
import { layoutOf, type PlacedStep } from '../../dashboard/src/screens/flows/layout.ts'
import type { StepOutline } from '../../dashboard/src/screens/flows/outline.ts'
import { type TreeStep, treeOf } from '../../dashboard/src/screens/flows/step-tree.ts'
import { createSkep, failFast, flow, queue, type Skep } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import type { RunDetail } from '../../src/operations/schema/wire-types.ts'

const all = { need: 'all', failing: 'end' } as const
const job = (name: string): StepOutline => ({ kind: 'step', name, work: { queue: name }, undo: null })
const words = (ms: number): string => `${ms} ms`

const order: readonly StepOutline[] = [
  { kind: 'step', name: 'reserve', work: { queue: 'reserve' }, undo: 'release' },
  {
    kind: 'parallel',
    name: 'money-risk',
    join: all,
    branches: [
      { name: 'money', work: { branch: 'order/money', steps: [job('charge'), job('book')] } },
      { name: 'risk', work: { queue: 'screen' } },
    ],
  },
  { kind: 'when', name: 'when 1', yes: [{ kind: 'signal', name: 'approval', timeoutMs: 60_000 }], no: [] },
  { kind: 'repeat', name: 'repeat 1', most: 3, body: [job('remind')] },
  { kind: 'each', name: 'boxes', work: { queue: 'pack' }, join: all },
  job('ship'),
]

type Rect = Pick<PlacedStep, 'x' | 'y' | 'width' | 'height'>

function isApart(a: Rect, b: Rect): boolean {
  return a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y
}

function stepsOf(steps: readonly TreeStep[]): TreeStep[] {
  return steps.flatMap((step) => [step, ...step.ways.flatMap((way) => stepsOf(way.steps))])
}

describe('the layout of a flow', () => {
  const layout = layoutOf(treeOf(order, null, words))
  const placed = layout.places.filter((place) => place.kind === 'step')

  it('gives every step a place of its own', () => {
    expect(placed.map(({ step }) => step.name)).toEqual([
      'reserve',
      'money-risk',
      'charge',
      'book',
      'risk',
      'when 1',
      'approval',
      'repeat 1',
      'remind',
      'boxes',
      'ship',
    ])
    for (const [index, one] of placed.entries()) {
      for (const other of placed.slice(index + 1)) expect(isApart(one, other)).toBe(true)
    }
  })

  it('keeps everything inside of its size', () => {
    for (const { x, y, width, height } of layout.places) {
      expect(x >= 0 && y >= 0 && x + width <= layout.width && y + height <= layout.height).toBe(true)
    }
  })

  it('draws lines downwards only, and to places that are there', () => {
    const at = new Map(layout.places.map((place) => [place.id, place]))
    for (const { from, to } of layout.lines) {
      const [a, b] = [at.get(from), at.get(to)]
      expect(a && b && a.y + a.height <= b.y).toBe(true)
    }
  })

  it('puts a box around a branch and around a loop', () => {
    const frames = layout.places.filter((place) => place.kind === 'frame')
    expect(frames.map(({ label, isLoop }) => [label, isLoop])).toEqual([
      ['money', false],
      ['up to 3 rounds', true],
    ])
    const charge = placed.find(({ step }) => step.name === 'charge') as PlacedStep
    const box = frames[0] as Rect
    expect(charge.x > box.x && charge.y > box.y && charge.x + charge.width < box.x + box.width).toBe(true)
  })

  it('leads past a choice whose other side is empty', () => {
    const past = layout.places.find((place) => place.kind === 'dot')
    expect(layout.lines.filter(({ to }) => to === past?.id)).toMatchObject([{ from: '2', label: 'no' }])
    expect(layout.lines.filter(({ to }) => to === '3').map(({ from }) => from)).toEqual([
      '2.then.0',
      past?.id,
    ])
  })

  it('folds many branches until somebody asks for them', () => {
    const branches = Array.from({ length: 300 }, (_, n) => ({ name: `b${n}`, work: { queue: 'work' } }))
    const tree = treeOf([{ kind: 'parallel', name: 'many', join: all, branches }], null, words)

    const folded = layoutOf(tree).places
    expect(folded.find((place) => place.kind === 'more')).toMatchObject({ of: '0', count: 292 })
    expect(folded).toHaveLength(10)
    expect(layoutOf(tree, new Set(['0'])).places).toHaveLength(301)
  })

  it('lays out thousands of steps, deep ones too', () => {
    const long = treeOf(
      Array.from({ length: 5_000 }, (_, n) => job(`s${n}`)),
      null,
      words,
    )
    expect(layoutOf(long).places).toHaveLength(5_000)
    let deep: readonly StepOutline[] = [job('inmost')]
    for (let n = 0; n < 60; n++) deep = [{ kind: 'repeat', name: `r${n}`, most: 2, body: deep }]
    expect(layoutOf(treeOf(deep, null, words)).places).toHaveLength(1 + 2 * 60)
  })
})

describe('how a run stands to its steps', () => {
  it('is told of a real run, its branches and its failed members', async () => {
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => queue<object, object>(name))
    if (!a || !b || !c || !d) throw new Error('No queues')
    const mixed = flow('mixed', (f) =>
      f
        .input<{ n: number }>()
        .step(a)
        .parallel({ left: (g) => g.step(b).step(d, { name: 'wait' }), right: c })
        .step(a, { name: 'last' }),
    )
    const skep = createSkep({ store: memoryStore() })
    let release: (result: object) => void = () => {}
    const held = new Promise<object>((resolve) => {
      release = resolve
    })
    const worker = skep.worker([
      mixed,
      a.handle(() => ({})),
      b.handle(() => ({})),
      c.handle(() => Promise.reject(new Error('no'))),
      d.handle(() => held),
    ])
    const run = await skep.start(mixed, { n: 1 })
    const tree = await until(async () => {
      const detail = await detailOf(skep, run.id)
      const steps = detail.flow?.outline?.steps
      if (!steps || detail.branches[0]?.step !== 'wait') return null
      return treeOf(steps, detail, words)
    })

    const marks = Object.fromEntries(stepsOf(tree).map(({ name, mark }) => [name, mark]))
    expect(marks).toMatchObject({ a: 'done', b: 'done', wait: 'current', last: 'todo' })
    expect(marks['left-right']).toBe('current')
    expect(tree[1]?.ways[0]?.run?.status).toBe('running')
    // What is left to do is on the left, so that is the way that decides.
    const critical = stepsOf(tree).filter(({ isCritical }) => isCritical)
    expect(critical.map(({ name }) => name)).toEqual(['a', 'left-right', 'b', 'wait', 'last'])
    release({})
    await worker.stop()
    await skep.close()
  })

  it('is failed where a run failed, and names the job', async () => {
    const one = queue<object, object>('one')
    const doomed = flow('doomed', (f) =>
      f
        .input<{ n: number }>()
        .each('some', one, [{ n: 1 }, { n: 2 }], failFast)
        .step(one, { name: 'never' }),
    )
    const skep = createSkep({ store: memoryStore() })
    const bury = new Error('no')
    const worker = skep.worker([doomed, one.handle(() => Promise.reject(bury))])
    const run = await skep.start(doomed, { n: 1 })
    const failed = await until(async () => {
      const detail = await detailOf(skep, run.id)
      await skep.jobs.promote({ queue: 'one' })
      return detail.run.status === 'failed' ? detail : null
    })

    const tree = treeOf(failed.flow?.outline?.steps ?? [], failed, words)
    expect(tree.map(({ name, mark }) => [name, mark])).toEqual([
      ['some', 'failed'],
      ['never', 'todo'],
    ])
    await worker.stop()
    await skep.close()
  })
})

async function detailOf(skep: Skep, id: string): Promise<RunDetail> {
  const handle = skep.runs.run(id)
  const [run, members, branches, explanation] = await Promise.all([
    handle.get(),
    handle.members(),
    handle.branches(),
    handle.explain(),
  ])
  const { flows } = await skep.runs.flows()
  const views = await Promise.all(branches.map((branch) => branch.run.get()))
  return JSON.parse(
    JSON.stringify({
      run,
      flow: flows.find(({ name }) => name === run?.flow) ?? null,
      members,
      explanation,
      branches: branches.map(({ id: branch, name, status }, index) => ({
        id: branch,
        name,
        status,
        step: views[index]?.position.step ?? null,
      })),
    }),
  ) as RunDetail
}

async function until<Value>(look: () => Promise<Value | null>): Promise<Value> {
  const end = Date.now() + 60_000
  for (;;) {
    const found = await look()
    if (found !== null) return found
    if (Date.now() > end) throw new Error('It never came.')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
