/** Flows of every shape whose steps leave a mark outside the store each time they run, and what must come of each. */
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { bury, type Flow, first, flow, type Handler, type JobContext, queue } from '../../src/index.ts'

export interface Mark {
  /** `ran`: a handler got the job. `saved`: its worker heard that its success is saved. */
  readonly what: 'ran' | 'saved'
  readonly id: string
  /** The run by the name the test gave it, or the job that spawned it. */
  readonly of: string
  readonly step: string
  readonly n: number
}

export interface Task {
  readonly of: string
  readonly step: string
  readonly n: number
  readonly ms: number
}

interface Input {
  readonly of: string
  readonly n: number
  readonly ms: number
}

interface View {
  readonly state: Input
}

export const MEMBERS = 20
export const SPAWNED = 5

const work = queue<Task, number>('work')
const hopeless = queue<Task, number>('hopeless')
const undo = queue<number, void>('undo')
const gather = queue<Task, number>('gather')
export const spawner = queue<Task, number>('spawner')

const task =
  (step: string, n = 0) =>
  ({ state }: View): Task => ({ of: state.of, step, n, ms: state.ms })
const tasks =
  (step: string, count: number) =>
  (view: View): Task[] =>
    Array.from({ length: count }, (_, n) => task(step, n)(view))
const step = <const Name extends string>(name: Name) =>
  ({ name, as: name, payload: task(name) }) as { name: Name; as: Name; payload: (view: View) => Task }

export const chain: Flow<Input, unknown> = flow('chain', (f) =>
  f.input<Input>().step(work, step('a')).step(work, step('b')).step(work, step('c')),
)
export const each: Flow<Input, unknown> = flow('each', (f) =>
  f.input<Input>().each('items', work, tasks('items', MEMBERS)).step(work, step('after')),
)
export const parallel: Flow<Input, unknown> = flow('parallel', (f) =>
  f
    .input<Input>()
    .parallel({
      left: (g) => g.step(work, step('left-a')).step(work, step('left-b')),
      right: (g) => g.sleep(20).step(work, step('right-a')),
    })
    .step(work, step('after')),
)
export const signalled: Flow<Input, unknown> = flow('signalled', (f) =>
  f
    .input<Input>()
    .step(work, step('before'))
    .signal<string, 'go'>('go')
    .signal<string, 'never'>('never', { timeout: 30 })
    .step(work, step('after')),
)
export const race: Flow<Input, unknown> = flow('race', (f) =>
  f.input<Input>().each('fast', work, tasks('fast', 6), first(2)).step(work, step('after')),
)
export const loop: Flow<Input, unknown> = flow('loop', (f) =>
  f
    .input<Input>()
    .repeat({ most: 3 }, (g) => g.step(work, step('again')))
    .step(work, step('after')),
)
export const saga: Flow<Input, unknown> = flow('saga', (f) =>
  f
    .input<Input>()
    .step(work, { ...step('paid'), undo })
    .step(hopeless, step('hopeless')),
)

/** What becomes of a run: how it ends, and how many jobs each of its steps had. */
export interface Expected {
  readonly flow: Flow<Input, unknown>
  readonly status: 'done' | 'failed'
  readonly jobs: Readonly<Record<string, number>>
  /** What is wrong with what it gave; nothing if it is right. */
  wrong?(result: Record<string, unknown>): string | undefined
}

export const SHAPES: Readonly<Record<string, Expected>> = {
  chain: { flow: chain, status: 'done', jobs: { a: 1, b: 1, c: 1 } },
  each: {
    flow: each,
    status: 'done',
    jobs: { items: MEMBERS, after: 1 },
    wrong: ({ items }) =>
      JSON.stringify(items) === JSON.stringify(Array.from({ length: MEMBERS }, (_, n) => n + 1))
        ? undefined
        : `items are ${JSON.stringify(items)}`,
  },
  parallel: {
    flow: parallel,
    status: 'done',
    jobs: { 'left-a': 1, 'left-b': 1, 'right-a': 1, after: 1 },
    wrong: ({ left, right }) => (left && right ? undefined : 'a branch is missing'),
  },
  signalled: {
    flow: signalled,
    status: 'done',
    jobs: { before: 1, after: 1 },
    wrong: ({ go, never }) =>
      go === 'went' && never === null ? undefined : `signals are ${JSON.stringify([go, never])}`,
  },
  race: {
    flow: race,
    status: 'done',
    jobs: { after: 1 },
    wrong: ({ fast }) => ((fast as unknown[]).length === 2 ? undefined : `fast is ${JSON.stringify(fast)}`),
  },
  loop: { flow: loop, status: 'done', jobs: { again: 3, after: 1 } },
  saga: { flow: saga, status: 'failed', jobs: { paid: 1, hopeless: 1 } },
}

/** Handlers that leave a mark before they do anything. */
export function markedHandlers(mark: (mark: Mark) => void): Handler[] {
  const ran = async ({ id, payload }: JobContext<Task, number>): Promise<number> => {
    const { of, step, n, ms } = payload
    mark({ what: 'ran', id, of, step, n })
    if (ms > 0) await sleep(ms)
    return n + 1
  }
  return [
    work.handle(ran),
    hopeless.handle(async (job) => {
      await ran(job)
      return bury('It is hopeless.')
    }),
    undo.handle(({ id }) => mark({ what: 'ran', id, of: 'undo', step: 'undo', n: 0 })),
    spawner.handle(async (job) => {
      await ran(job)
      const child = (n: number): Task => ({ ...job.payload, of: job.id, step: 'spawned', n })
      const children = Array.from({ length: SPAWNED }, (_, n) => work.job(child(n)))
      await job.spawn(children, { next: gather.job({ ...job.payload, of: job.id, step: 'gather' }) })
      return 0
    }),
    gather.handle(async (job) => {
      await ran(job)
      const results = await job.results<number>()
      return results.reduce((sum, one) => sum + (one.ok ? one.result : 0), 0)
    }),
  ]
}

/** Keeps marks in a file. When it returns, the death of this process can no longer lose the mark. */
export function markSink(path: string): (mark: Mark) => void {
  const file = openSync(path, 'a')
  process.once('exit', () => closeSync(file))
  return (mark) => void writeSync(file, `${JSON.stringify(mark)}\n`)
}

export function readMarks(folder: string): Mark[] {
  return readdirSync(folder).flatMap((name) =>
    readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Mark),
  )
}
