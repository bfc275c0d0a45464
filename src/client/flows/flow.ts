import { type Duration, toMs } from '../../core/duration.ts'
import { SkepError } from '../../core/errors.ts'
import type { Outcome } from '../../core/flows/groups.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertName, show } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import { flowQueue } from '../../flows/control-jobs.ts'
import {
  type Member,
  mostUndoable,
  type NamedWork,
  type Node,
  type RunMember,
  type Tree,
  treesIn,
  type Undoable,
  type View,
  type WorkNode,
  walk,
} from '../../flows/definition.ts'
import { assertWhole } from '../../worker/options.ts'
import { assertJobOptions, type EnqueueOptions } from '../enqueue/enqueue.ts'
import type { Queue } from '../queues/queue.ts'
import { all, assertJoin, isJoin, type Joined, type JoinKind, type JoinRule } from './joins.ts'

/** A queue by what goes in and what comes out; what its handler gets does not matter here. */
export type QueueOf<Input, Result> = Omit<
  Queue<Input, Result>,
  'handle' | 'handleBatch' | 'handleInThreads' | 'read' | 'job'
>

/** A flow: typed by what it starts with and what it gives. Made by {@link flow}. */
export interface Flow<Input = unknown, Result = unknown> {
  readonly name: string
  readonly version: number
  readonly tree: Tree
  /** Only for the compiler. */
  readonly types?: (input: Input) => Result
}

export interface FlowOptions {
  /**
   * Raise it when you change the steps. Runs keep the version with which they started: a worker moves on only runs of versions
   * that it has. @default 1
   */
  readonly version?: number
}

const FLOW_KEYS = optionKeys<FlowOptions>('flow()', { version: true })
const STEP_KEYS = optionKeys<StepOptions<unknown, unknown, unknown, string>>('step()', {
  name: true,
  payload: true,
  as: true,
  undo: true,
  delay: true,
  runAt: true,
  priority: true,
  headers: true,
  timeout: true,
  retention: true,
  lane: true,
  cost: true,
})
const EACH_KEYS = optionKeys<EachOptions>('each()', {
  join: true,
  delay: true,
  runAt: true,
  priority: true,
  headers: true,
  timeout: true,
  retention: true,
  lane: true,
  cost: true,
})
const REPEAT_KEYS = optionKeys<Parameters<Steps<never, never>['repeat']>[0]>('repeat()', {
  most: true,
  while: true,
})
const SIGNAL_KEYS = optionKeys<{ timeout?: Duration }>('signal()', { timeout: true })

/** What a step's functions see: the state that the steps before it have made. */
export interface StepView<State> {
  readonly run: { readonly id: string; readonly flow: string }
  readonly state: State
}

/** What a result adds to the state: its fields if it is an object, under `as` if there is one, else nothing. */
export type Added<Result, As extends string | undefined> = As extends string
  ? { readonly [Key in As]: Result }
  : Result extends readonly unknown[] | ((...args: never) => unknown)
    ? unknown
    : Result extends object
      ? Result
      : unknown

/** A state with more in it; of what both have, the later counts. */
export type Merged<State, More> = unknown extends More ? State : Omit<State, keyof More> & More

export interface StepOptions<State, Input, Result, As extends string | undefined>
  extends Omit<EnqueueOptions, 'tx' | 'id' | 'unique'> {
  /** What people call it. @default the name of the queue or flow */
  readonly name?: string
  /** @default the state */
  readonly payload?: (view: StepView<State>) => Input
  /** Where its result goes in the state. @default its fields, if it is an object */
  readonly as?: As
  /** Takes it back when a later step fails: a queue whose payload is what this step gave. */
  readonly undo?: QueueOf<NoInfer<Result>, never>
}

/** Options of the jobs of a step that has many, and when it is done. */
export interface EachOptions<Kind extends JoinKind = JoinKind>
  extends Omit<EnqueueOptions, 'tx' | 'id' | 'unique'> {
  /** @default all */
  readonly join?: JoinRule<Kind>
}

/** What a step does: a job of a queue, or a whole flow. */
export type Work<Input, Result> = QueueOf<Input, Result> | Flow<Input, Result>

/** A branch: a queue, a flow, or steps. */
export type Branch<State> =
  | QueueOf<State, never>
  | Flow<State, unknown>
  | ((f: Steps<State, State>) => Steps<State, unknown>)

export type BranchResult<B> =
  B extends QueueOf<never, infer Result>
    ? Result
    : B extends (f: never) => Steps<never, infer State>
      ? State
      : B extends Flow<never, infer Result>
        ? Result
        : never

/** The steps of a flow so far. Each call gives longer ones. */
export interface Steps<Input, State> {
  /** A job, or another flow. Its result goes into the state. */
  step<P, Result, const As extends string | undefined = undefined>(
    work: Work<P, Result>,
    ...options: State extends P
      ? [options?: StepOptions<State, P, Result, As> | ((view: StepView<State>) => P)]
      : [
          options:
            | (StepOptions<State, P, Result, As> & { readonly payload: (view: StepView<State>) => P })
            | ((view: StepView<State>) => P),
        ]
  ): Steps<Input, Merged<State, Added<Result, As>>>

  /**
   * One for each item, at the same time. What they give goes into the state under the name, in the order of the items. The
   * last argument says when the step is done, or has that as `join` among the options of its jobs.
   */
  each<const Name extends string, P, Result, Kind extends JoinKind = 'all'>(
    name: Name,
    work: Work<P, Result>,
    items: readonly NoInfer<P>[] | ((view: StepView<State>) => readonly NoInfer<P>[]),
    options?: JoinRule<Kind> | EachOptions<Kind>,
  ): Steps<Input, Merged<State, { readonly [Key in Name]: Joined<Kind, Result> }>>

  /**
   * Branches at the same time. Each has the state as it is now and goes on with a copy; what it gives goes into the state
   * under its name, so that two never write the same.
   */
  parallel<const Branches extends Readonly<Record<string, Branch<State>>>>(
    branches: Branches,
    join?: JoinRule<'all' | 'failFast'>,
  ): Steps<Input, Merged<State, { readonly [Name in keyof Branches]: BranchResult<Branches[Name]> }>>

  /** These steps if the test is true, others if it is not. */
  when<Then, Else = State>(
    test: (view: StepView<State>) => boolean,
    then: (f: Steps<State, State>) => Steps<State, Then>,
    otherwise?: (f: Steps<State, State>) => Steps<State, Else>,
  ): Steps<Input, Then | Else>

  /** These steps again and again while the test is true, at most so often. */
  repeat(
    options: { readonly most: number; readonly while?: (view: StepView<State>, round: number) => boolean },
    body: (f: Steps<State, State>) => Steps<State, State>,
  ): Steps<Input, State>

  /** Nothing, for a while. No worker waits. */
  sleep(time: Duration | ((view: StepView<State>) => Duration)): Steps<Input, State>

  /** Waits for `skep.signal(run, name, value)`, which may have come before. Null if the time was over first. */
  signal<Value, const Name extends string = string>(
    name: Name,
    options?: { readonly timeout?: Duration },
  ): Steps<Input, Merged<State, { readonly [Key in Name]: Value | null }>>
}

/** Where a flow begins: with the payload of its first step, or with what you say. */
export interface Beginning extends Pick<Steps<never, never>, never> {
  /** Begins with this. */
  input<Input extends object>(): Steps<Input, Input>
  /** The first step: the flow begins with its payload. */
  step<Input extends object, Result, const As extends string | undefined = undefined>(
    work: Work<Input, Result>,
    options?: StepOptions<Input, Input, Result, As>,
  ): Steps<Input, Merged<Input, Added<Result, As>>>
}

/**
 * Declares a flow: steps over queues, with a state that they share. Give it to `skep.worker` beside the handlers of its
 * queues, and start runs with `skep.start`.
 */
export function flow<Input, State>(
  name: string,
  build: (f: Beginning) => Steps<Input, State>,
  options: FlowOptions = {},
): Flow<Input, State> {
  assertName('Flow', name)
  assertOptions(FLOW_KEYS, options)
  const { version = 1 } = options
  assertWhole('version', version, 1, 1_000_000)
  const queue = flowQueue(name, version)
  assertName('Flow', queue)
  const nodes = nodesOf({ name, version, queue }, build)
  const tree: Tree = { name, version, queue, nodes, result: ({ state }) => state }
  const own = treesIn(tree).filter((one) => one.queue === queue)
  // Runs know their branch by its name.
  const branches = own.map((one) => one.name.slice(name.length + 1))
  assertDifferent(name, 'branches', branches)
  for (const { nodes: inside } of own) {
    const names = [...walk(inside)].map(([, node]) => node.name)
    assertDifferent(name, 'steps', names)
    assertUndoable(name, inside)
  }
  return { name, version, tree }
}

function assertUndoable(flow: string, nodes: readonly Node[]): void {
  const most = mostUndoable(nodes)
  if (most <= LIMITS.undoSteps) return
  throw new SkepError(
    'CONFIG_INVALID',
    `Flow ${show(flow)} could have to undo ${most} steps, with the rounds of its loops; ${LIMITS.undoSteps} are allowed. ` +
      'Let its loops go round less often, or have fewer steps with an undo in them.',
  )
}

function assertDifferent(flow: string, what: 'steps' | 'branches', names: readonly string[]): void {
  const twice = names.find((one, index) => names.indexOf(one) !== index)
  if (twice === undefined) return
  throw new SkepError(
    'CONFIG_INVALID',
    `Flow ${show(flow)} has two ${what} ${show(twice)}. Give one of them a name of its own.`,
  )
}

type Build = (f: never) => unknown

type Head = Pick<Tree, 'name' | 'version' | 'queue'>

function nodesOf(head: Head, build: Build, unnamed = new Map<string, number>()): readonly Node[] {
  const builder = new Builder(head, unnamed)
  build(builder as never)
  return builder.nodes
}

/** What the calls of a builder write down. The types above say what may be called; here nothing is typed any more. */
class Builder {
  readonly nodes: Node[] = []
  readonly #head: Head
  /** How many steps without a name of their own there are so far, by kind, in the whole flow. */
  readonly #unnamed: Map<string, number>

  constructor(head: Head, unnamed: Map<string, number>) {
    this.#head = head
    this.#unnamed = unnamed
  }

  input(): this {
    return this
  }

  step(work: Work<never, unknown>, given: object | ((view: View) => unknown) = {}): this {
    const options = (typeof given === 'function' ? { payload: given } : given) as StepOptions<
      unknown,
      unknown,
      unknown,
      string | undefined
    >
    assertWork(work)
    assertOptions(STEP_KEYS, options)
    const { name = work.name, payload, as, undo, ...enqueue } = options
    assertFunction(`payload of step ${show(name)}`, payload, '({ state }) => state.order')
    assertAs(name, as)
    assertUndo(name, undo)
    const payloadOf = (payload ?? (({ state }: View) => state)) as (view: View) => unknown
    const member = memberMaker(work, name, enqueue)
    if (undo !== undefined) assertJobOptions(undo, enqueue)
    return this.#work({
      name,
      shape: 'step',
      works: [named(work.name, work)],
      undoQueue: undo?.name ?? null,
      members: (view) => [member(payloadOf(view))],
      join: all.join,
      trees: treesOf(work),
      collect: ([outcome]) => added(outcome, as),
      undo: undo
        ? (_view: View, done: Undoable) => ({ queue: undo, payload: done.result, options: enqueue })
        : null,
    })
  }

  each(
    name: string,
    work: Work<never, unknown>,
    items: readonly unknown[] | ((view: View) => readonly unknown[]),
    given: JoinRule | EachOptions = all,
  ): this {
    assertWork(work)
    const isRule = isJoin(given)
    if (!isRule) assertOptions(EACH_KEYS, given)
    const { join = all, ...enqueue } = isRule ? { join: given } : given
    assertJoin(`join of step ${show(name)}`, join)
    if (typeof items !== 'function' && !Array.isArray(items)) {
      throw new SkepError(
        'OPTION_INVALID',
        `items of step ${show(name)} is ${show(items)}; use an array, or ({ state }) => state.items.`,
      )
    }
    const member = memberMaker(work, name, enqueue)
    return this.#work({
      name,
      shape: 'each',
      works: [named(work.name, work)],
      undoQueue: null,
      members: (view) => {
        const list = typeof items === 'function' ? items(view) : items
        if (!Array.isArray(list)) throw new TypeError(`Step ${show(name)} needs an array of items.`)
        return list.map(member)
      },
      join: join.join,
      trees: treesOf(work),
      collect: (outcomes, size) => ({ [name]: joined(join, outcomes, size) }),
      undo: null,
    })
  }

  parallel(branches: Readonly<Record<string, unknown>>, join: JoinRule = all): this {
    const names = Object.keys(branches)
    assertJoin(`join of the branches ${names.join(', ')}`, join)
    const works = names.map((name) => this.#branch(name, branches[name]))
    const members = works.map((work, n) => memberMaker(work, names[n] as string, {}))
    return this.#work({
      name: names.join('-'),
      shape: 'parallel',
      works: works.map((work, n) => named(names[n] as string, work)),
      undoQueue: null,
      members: (view) => members.map((member) => member(view.state)),
      join: join.join,
      trees: treesOf(...works),
      collect: (outcomes) =>
        Object.fromEntries(outcomes.map((outcome) => [names[outcome.n] as string, resultOf(outcome)])),
      undo: null,
    })
  }

  when(test: (view: View) => boolean, then: Build, otherwise?: Build): this {
    assertFunction('The test of when()', test ?? null, '({ state }) => state.total > 100')
    const name = this.#nameOf('when')
    return this.#add({
      kind: 'when',
      name,
      test,
      whenTrue: nodesOf(this.#head, then, this.#unnamed),
      whenFalse: otherwise ? nodesOf(this.#head, otherwise, this.#unnamed) : [],
    })
  }

  repeat(
    options: { readonly most: number; readonly while?: (view: View, round: number) => boolean },
    body: Build,
  ): this {
    assertOptions(REPEAT_KEYS, options)
    assertWhole('most', options.most, 1, 1_000_000)
    assertFunction('while of repeat()', options.while, '({ state }) => !state.done')
    const name = this.#nameOf('repeat')
    return this.#add({
      kind: 'repeat',
      name,
      test: options.while ?? (() => true),
      most: options.most,
      body: nodesOf(this.#head, body, this.#unnamed),
    })
  }

  sleep(time: Duration | ((view: View) => Duration)): this {
    const delayMs = typeof time === 'function' ? (view: View) => toMs('sleep', time(view)) : () => fixed
    const fixed = typeof time === 'function' ? 0 : toMs('sleep', time)
    const ms = typeof time === 'function' ? null : fixed
    return this.#add({ kind: 'sleep', name: this.#nameOf('sleep'), ms, delayMs })
  }

  signal(name: string, options: { readonly timeout?: Duration } = {}): this {
    assertName('Signal', name)
    assertOptions(SIGNAL_KEYS, options)
    const timeoutMs = options.timeout === undefined ? null : toMs('timeout', options.timeout)
    return this.#add({ kind: 'signal', name, timeoutMs })
  }

  #nameOf(kind: string): string {
    const n = (this.#unnamed.get(kind) ?? 0) + 1
    this.#unnamed.set(kind, n)
    return `${kind} ${n}`
  }

  #branch(name: string, branch: unknown): Work<never, unknown> {
    assertName('Branch', name)
    if (typeof branch !== 'function') {
      assertWork(branch)
      return branch as Work<never, unknown>
    }
    const head = { ...this.#head, name: `${this.#head.name}:${name}` }
    const tree: Tree = { ...head, nodes: nodesOf(head, branch as Build), result: ({ state }) => state }
    return { name: head.name, version: head.version, tree } as Flow<never, unknown>
  }

  #work(node: Omit<WorkNode, 'kind'>): this {
    assertName('Step', node.name)
    return this.#add({ kind: 'work', ...node })
  }

  #add(node: Node): this {
    this.nodes.push(node)
    return this
  }
}

function assertWork(work: unknown): void {
  if (typeof work === 'object' && work !== null && 'name' in work) return
  throw new SkepError('CONFIG_INVALID', `A step got ${show(work)}; give it a queue or a flow: f.step(mail).`)
}

/** What is called only when a run comes to it would otherwise fail every run, in a worker. */
function assertFunction(what: string, value: unknown, example: string): void {
  if (value === undefined || typeof value === 'function') return
  throw new SkepError('OPTION_INVALID', `${what} is ${show(value)}; use a function: ${example}.`)
}

function assertAs(step: string, as: unknown): void {
  if (as === undefined || (typeof as === 'string' && as !== '')) return
  throw new SkepError('OPTION_INVALID', `as of step ${show(step)} is ${show(as)}; use the name of a field.`)
}

function assertUndo(step: string, undo: Partial<QueueOf<never, never>> | undefined): void {
  if (undo === undefined || (typeof undo?.name === 'string' && undo.lanes !== undefined)) return
  throw new SkepError(
    'OPTION_INVALID',
    `undo of step ${show(step)} is ${show(undo)}; use a queue: queue(name).`,
  )
}

function treesOf(...works: readonly Work<never, unknown>[]): readonly Tree[] {
  return works.flatMap((work) => ('tree' in work ? [work.tree] : []))
}

function named(name: string, work: Work<never, unknown>): NamedWork {
  return { name, work: 'tree' in work ? { tree: work.tree } : { queue: work.name } }
}

/** Makes the members of a step of their payloads. What their options are worth shows here, before anything runs. */
function memberMaker(
  work: Work<never, unknown>,
  name: string,
  options: Omit<EnqueueOptions, 'tx' | 'id' | 'unique'>,
): (payload: unknown) => Member {
  const { priority = 0, delay = 0, ...others } = options
  assertWhole('priority', priority, -LIMITS.priority, LIMITS.priority)
  const delayMs = toMs('delay', delay)
  if (!('tree' in work)) {
    assertJobOptions(work, options)
    return (payload) => ({ queue: work, payload, options })
  }
  const [other] = Object.keys(others)
  if (other !== undefined) {
    throw new SkepError(
      'CONFIG_INVALID',
      `Step ${show(name)} is a flow, which takes a priority and a delay, but no ${other}. Give that to its steps.`,
    )
  }
  const { tree } = work
  return (payload) => ({ tree, state: payload as RunMember['state'], name, priority, delayMs })
}

function resultOf({ result }: Pick<Outcome, 'result'>): unknown {
  return result === null ? null : (JSON.parse(result) as unknown)
}

function added(outcome: Outcome | undefined, as: string | undefined): Record<string, unknown> {
  const result = outcome && resultOf(outcome)
  if (as !== undefined) return { [as]: result ?? null }
  return typeof result === 'object' && result !== null && !Array.isArray(result)
    ? (result as Record<string, unknown>)
    : {}
}

function joined(rule: JoinRule, outcomes: readonly Outcome[], size: number): unknown {
  if (rule.kind !== 'settled') {
    const done = outcomes.filter(({ state }) => state === 'done')
    const need = typeof rule.join.need === 'number' ? rule.join.need : size
    return done.slice(0, need).map(resultOf)
  }
  return Array.from({ length: size }, (_, n) =>
    settledOf(outcomes.find((outcome) => outcome.n === n) ?? LEFT),
  )
}

/** Somebody retried it after all had ended: it is cancelled, because the run goes on without it. */
const LEFT: Pick<Outcome, 'state' | 'result' | 'failure'> = {
  state: 'cancelled',
  result: null,
  failure: JSON.stringify({ kind: 'cancel', message: 'The step was decided while it was retried.' }),
}

function settledOf(outcome: Pick<Outcome, 'state' | 'result' | 'failure'>): unknown {
  if (outcome.state === 'done') return { ok: true, result: resultOf(outcome) }
  const failure: unknown = outcome.failure ? JSON.parse(outcome.failure) : { message: '' }
  return { ok: false, state: outcome.state, failure }
}
