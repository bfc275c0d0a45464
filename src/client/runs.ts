import { type Duration, toMs } from '../core/duration.ts'
import { SkepError } from '../core/errors.ts'
import type { NewJob } from '../core/job.ts'
import { assertJobId, assertKey, assertName, show } from '../core/names.ts'
import { encodeJson } from '../core/payload.ts'
import { createRun, type NewRun, type Run, type RunStatus } from '../core/runs.ts'
import { advance, BEGIN, type Maker } from '../flows/advance.ts'
import { readPosition, startOf } from '../flows/position.ts'
import { beginningOf, signalGroup } from '../flows/signals.ts'
import type { Tree } from '../flows/tree.ts'
import type { Notifier } from '../notifier.ts'
import type { Enqueued } from '../store/flows.ts'
import type { Store } from '../store.ts'
import type { Awaiting } from './awaiting.ts'
import { cancelRun, retryRun } from './change-runs.ts'
import type { Flow } from './flow.ts'

/** What a run can be found by: each value, or each element of an array. */
export type Attributes = Readonly<Record<string, string | number | readonly (string | number)[]>>

export interface StartOptions {
  /** What the run can be found by: `skep.runs.list({ attributes: { userId: 62 } })`. */
  readonly attributes?: Attributes
  /** The id of the run, a UUID. Starting the same id again does nothing. @default a new UUIDv7 */
  readonly id?: string
}

/** A run as people see it. */
export interface RunView<State = unknown> {
  readonly id: string
  readonly flow: string
  readonly version: number
  readonly status: RunStatus
  readonly state: State
  readonly attributes: readonly string[]
  readonly startedAt: Date
  readonly endedAt: Date | null
  readonly result: unknown
  readonly failure: { readonly message: string } | null
}

export interface RunsEnv {
  readonly store: Store
  readonly notifier: Notifier
  readonly space: string
  readonly maker: Maker
  readonly awaiting: Awaiting<Run>
  readonly ready: () => Promise<unknown>
}

/** A run of a flow. */
export class RunHandle<Result = unknown> {
  readonly id: string
  readonly #runs: Runs

  constructor(runs: Runs, id: string) {
    this.#runs = runs
    this.id = id
  }

  /** The run as it is now, or null. */
  get(): Promise<RunView<Result> | null> {
    return this.#runs.get(this.id) as Promise<RunView<Result> | null>
  }

  /** What it gives, once it has ended. Waits for a hint, not by polling. */
  result(options: { readonly timeout?: Duration; readonly signal?: AbortSignal } = {}): Promise<Result> {
    return this.#runs.result(this.id, options) as Promise<Result>
  }

  /** Tells it what it waits for, or will wait for. True: nobody had told it before. */
  signal(name: string, value: unknown = null): Promise<boolean> {
    return this.#runs.signal(this.id, name, value)
  }

  /** Ends it, with its branches; jobs that wait are cancelled, those that run are asked to stop. */
  cancel(reason = 'Cancelled.'): Promise<boolean> {
    return this.#runs.cancel(this.id, reason)
  }

  /**
   * Lets it go on after it has ended: at the step that failed, or from the step you name, with the state as it is. False
   * if it is running.
   */
  retry({ from }: { readonly from?: string } = {}): Promise<boolean> {
    return this.#runs.retry(this.id, from)
  }
}

/** The runs of a space's flows. */
export class Runs {
  readonly #env: RunsEnv

  constructor(env: RunsEnv) {
    this.#env = env
  }

  /** Starts a run. When the promise resolves it is in the store with all its first jobs, or nothing is. */
  async start<Input, Result>(
    { tree }: Flow<Input, Result>,
    input: Input,
    options: StartOptions = {},
  ): Promise<RunHandle<Result>> {
    await this.#env.ready()
    const { store, maker } = this.#env
    if (options.id !== undefined) assertJobId(options.id)
    const made = this.#newRun(tree, input, options)
    // Its first step is part of the same insert, so that it is there at once and all or nothing.
    const move = await advance(tree, createRun(made, 0), { ...BEGIN, outcomes: [] }, maker)
    const { jobs, runs, groups } =
      options.id !== undefined || move.status !== 'running'
        ? { jobs: [this.#beginning(tree, made.id, options)], runs: [made], groups: [] }
        : { ...move, runs: [{ ...made, position: move.position, state: move.state } as NewRun, ...move.runs] }
    const { results, enqueued = [] } = await store.insert({
      jobs,
      runs,
      groups,
      again: options.id !== undefined,
    })
    const own = jobs.flatMap(({ space, queue, priority }, index): Enqueued[] => {
      const result = results[index]
      return result?.status === 'ok'
        ? [{ space, queue, dueAt: result.dueAt, rank: result.dueAt - priority }]
        : []
    })
    this.#hint([...own, ...enqueued])
    return new RunHandle(this, made.id)
  }

  /** A handle on a run by its id, whether or not it exists. */
  run<Result = unknown>(id: string): RunHandle<Result> {
    assertJobId(id)
    return new RunHandle(this, id)
  }

  async get(id: string): Promise<RunView | null> {
    await this.#env.ready()
    const run = await this.#find(id)
    return run && viewOf(run)
  }

  /** One page of runs, newest first. */
  async list(
    options: {
      readonly flow?: string | Flow<never, unknown>
      readonly status?: RunStatus
      readonly attributes?: Readonly<Record<string, string | number>>
      readonly limit?: number
      readonly cursor?: string | null
    } = {},
  ): Promise<{ readonly runs: readonly RunView[]; readonly cursor: string | null }> {
    await this.#env.ready()
    const { flow, status, attributes = {}, limit = 50, cursor = null } = options
    const [attribute, ...more] = attributesOf(attributes)
    if (more.length > 0) throw new SkepError('OPTION_INVALID', 'Runs are found by one attribute at a time.')
    const { runs, cursor: next } = await this.#env.store.listRuns({
      space: this.#env.space,
      ...(flow === undefined ? {} : { flow: typeof flow === 'string' ? flow : flow.name }),
      ...(status === undefined ? {} : { status }),
      ...(attribute === undefined ? {} : { attribute }),
      limit,
      cursor,
    })
    return { runs: runs.map(viewOf), cursor: next }
  }

  async result(
    id: string,
    { timeout, signal }: { readonly timeout?: Duration; readonly signal?: AbortSignal },
  ): Promise<unknown> {
    await this.#env.ready()
    const run = await this.#env.awaiting.ended(id, {
      ...(timeout === undefined ? {} : { timeoutMs: toMs('timeout', timeout) }),
      ...(signal === undefined ? {} : { signal }),
    })
    if (run === null) throw new SkepError('JOB_NOT_FOUND', `There is no run ${show(id)}.`, { facts: { id } })
    const { status, failure } = viewOf(run)
    if (status === 'done') return viewOf(run).result
    const code = status === 'cancelled' ? 'JOB_CANCELLED' : 'JOB_FAILED'
    throw new SkepError(code, `Run ${show(id)} ${status}: ${failure?.message ?? 'no reason was given.'}`, {
      facts: { id },
    })
  }

  async signal(id: string, name: string, value: unknown): Promise<boolean> {
    assertName('Signal', name)
    await this.#env.ready()
    const run = await this.#find(id)
    if (run === null) throw new SkepError('JOB_NOT_FOUND', `There is no run ${show(id)}.`, { facts: { id } })
    const { store, space, maker } = this.#env
    const result = encodeJson('signal', value ?? null, maker.stateBytes)
    const { signals, waits } = readPosition(run.position)
    const next = signals[name] ?? 0
    // The one that it waits for, or the next that it will; and if that was told already, the one after it.
    for (let nth = waits?.id === signalGroup(id, name, next - 1) ? next - 1 : next; ; nth++) {
      const { status, enqueued } = await store.tell({
        space,
        group: signalGroup(id, name, nth),
        n: 0,
        result,
      })
      this.#hint(enqueued)
      if (status === 'ok') return true
      if (nth > 10_000) return false
    }
  }

  async cancel(id: string, reason: string): Promise<boolean> {
    assertJobId(id)
    await this.#env.ready()
    return cancelRun(this.#env, id, reason)
  }

  async retry(id: string, from?: string): Promise<boolean> {
    assertJobId(id)
    await this.#env.ready()
    return retryRun(this.#env, id, from)
  }

  #newRun(tree: Tree, input: unknown, { id, attributes = {} }: StartOptions): NewRun {
    const { maker, space } = this.#env
    const made = id ?? maker.uuid()
    return {
      id: made,
      space,
      flow: tree.name,
      version: tree.version,
      position: JSON.stringify(startOf(tree.queue)),
      state: encodeJson('input', input ?? {}, maker.stateBytes),
      attributes: attributesOf(attributes),
      member: null,
      root: made,
    }
  }

  /**
   * The job that takes the first step. With an id of your own it has always the same: had each start its own first
   * steps, a second one would do them again.
   */
  #beginning(tree: Tree, run: string, { id }: StartOptions): NewJob {
    const job = this.#env.maker.control(tree, run, BEGIN, 0)
    return id === undefined ? job : { ...job, id: beginningOf(run) }
  }

  async #find(id: string): Promise<Run | null> {
    assertJobId(id)
    const { runs } = await this.#env.store.getRuns({ space: this.#env.space, ids: [id] })
    return runs[0] ?? null
  }

  #hint(enqueued: readonly Enqueued[]): void {
    if (enqueued.length > 0) this.#env.notifier.publish(enqueued.map((one) => ({ kind: 'work', ...one })))
  }
}

/** Each as `name:value`; of an array each element. */
function attributesOf(attributes: Attributes): string[] {
  const all = Object.entries(attributes).flatMap(([name, value]) =>
    (Array.isArray(value) ? (value as readonly (string | number)[]) : [value as string | number]).map(
      (one) => `${name}:${one}`,
    ),
  )
  for (const one of all) assertKey('attribute', one)
  return [...new Set(all)]
}

function viewOf(run: Run): RunView {
  return {
    id: run.id,
    flow: run.flow,
    version: run.version,
    status: run.status,
    state: JSON.parse(run.state) as unknown,
    attributes: run.attributes,
    startedAt: new Date(run.startedAt),
    endedAt: run.endedAt === null ? null : new Date(run.endedAt),
    result: run.result === null ? null : (JSON.parse(run.result) as unknown),
    failure: run.failure === null ? null : (JSON.parse(run.failure) as { message: string }),
  }
}
