import { type Duration, toMs } from '../../core/duration.ts'
import { SkepError } from '../../core/errors.ts'
import type { NewRun, Run, RunStatus } from '../../core/flows/runs.ts'
import { encodeJson } from '../../core/json/payload.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertJobId, assertKey, assertName, show } from '../../core/names.ts'
import { assertOptions, assertText, optionKeys } from '../../core/options.ts'
import type { Tree } from '../../flows/definition.ts'
import type { Maker } from '../../flows/next-move.ts'
import { readPosition, startOf } from '../../flows/position.ts'
import { signalGroup } from '../../flows/signals.ts'
import type { Notifier } from '../../notifier/notifier.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { atMost } from '../../runtime/supervise.ts'
import type { CountRunsReply, Enqueued } from '../../store/flows.ts'
import type { Store } from '../../store/store.ts'
import { assertWhole } from '../../worker/options.ts'
import { type Explanation, explainAny } from '../explain/explain.ts'
import { type CountedEnv, insertTogether } from '../groups/insert-with-groups.ts'
import type { Awaiting } from '../jobs/results.ts'
import { branchesOf, type RunBranch } from './branches.ts'
import { cancelRun, retryRun } from './change-runs.ts'
import { type FlowSummary, type Outlines, summarizeFlows } from './definitions.ts'
import type { Flow } from './flow.ts'
import { type RunMembers, type RunView, readMembers, viewRuns } from './run-view.ts'
import { startCall } from './start.ts'

/** What a run can be found by: each value, or each element of an array. */
export type Attributes = Readonly<Record<string, string | number | readonly (string | number)[]>>

export interface StartOptions {
  /** What the run can be found by: `skep.runs.list({ attributes: { userId: 62 } })`. */
  readonly attributes?: Attributes
  /**
   * The id of the run, a UUID. If a run of this flow has it, of whatever version, nothing is started and the handle is that run's,
   * `duplicate`; if a run of another flow has it, start() throws `ID_TAKEN`. See {@link jobIdOf}. @default a new UUIDv7
   */
  readonly id?: string
  /** What the priorities of its jobs and branches are added to, -100 to 100. @default 0 */
  readonly priority?: number
  /** Begins not earlier than this long from now. */
  readonly delay?: Duration
  /** Begins not earlier than this moment. */
  readonly runAt?: Date | number
  /** Your open transaction: the run exists if, and only if, it commits. */
  readonly tx?: unknown
}

const START_KEYS = optionKeys<StartOptions>('start()', {
  attributes: true,
  id: true,
  priority: true,
  delay: true,
  runAt: true,
  tx: true,
})
const LIST_KEYS = optionKeys<NonNullable<Parameters<Runs['list']>[0]>>('runs.list()', {
  flow: true,
  status: true,
  attributes: true,
  root: true,
  limit: true,
  cursor: true,
})
const RESULT_KEYS = optionKeys<{ timeout?: Duration; signal?: AbortSignal }>('result()', {
  timeout: true,
  signal: true,
})
const MEMBERS_KEYS = optionKeys<{ limit?: number }>('run.members()', { limit: true })
const COUNTS_KEYS = optionKeys<NonNullable<Parameters<Runs['counts']>[0]>>('runs.counts()', {
  flow: true,
  status: true,
  limit: true,
})
const FLOWS_KEYS = optionKeys<{ name?: string }>('runs.flows()', { name: true })
const RETRY_KEYS = optionKeys<{ from?: string }>('retry()', { from: true })

export interface RunsEnv extends CountedEnv {
  readonly notifier: Notifier
  readonly space: string
  readonly maker: Maker
  /** Tells the store how flows look that are started here. */
  readonly outlines: Outlines
  readonly awaiting: Awaiting<Run>
  readonly runtime: Runtime
  readonly ready: () => Promise<unknown>
  /** The store with the patience of an enqueue, see {@link patientStore}, and the check before its first call. */
  readonly patient: Store
  readonly readyToWrite: () => Promise<unknown>
}

/** How long a start waits until its flow's outline is stored. */
const OUTLINE_MS = 1_000

/** A run of a flow. */
export class RunHandle<Result = unknown> {
  readonly id: string
  /** The run was there before this start. */
  readonly duplicate: boolean
  readonly #runs: Runs

  constructor(runs: Runs, id: string, duplicate = false) {
    this.#runs = runs
    this.id = id
    this.duplicate = duplicate
  }

  /** The run as it is now, or null. */
  get(): Promise<RunView<Result> | null> {
    return this.#runs.get(this.id) as Promise<RunView<Result> | null>
  }

  /** Why it does not move on: what it waits for, and why that takes so long. Or how it ended. */
  explain(): Promise<Explanation> {
    return this.#runs.explain(this.id)
  }

  /** The jobs and branches of its present step that have not ended, and those that failed; so many of each. */
  members(options: { readonly limit?: number } = {}): Promise<RunMembers> {
    return this.#runs.members(this.id, options)
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

  /** The runs that are branches of it. Empty if there are none, or no such run. */
  branches(): Promise<readonly RunBranch[]> {
    return this.#runs.branches(this.id)
  }

  /**
   * Lets it go on after it has ended: at the step that failed, or from the step you name, with the state as it is. A run that is
   * done runs again only from a step you name. False if it is running, or if it is done and `from` is missing.
   */
  async retry(options: { readonly from?: string } = {}): Promise<boolean> {
    assertOptions(RETRY_KEYS, options)
    return this.#runs.retry(this.id, options.from)
  }
}

/** The runs of a space's flows. */
export class Runs {
  readonly #env: RunsEnv

  constructor(env: RunsEnv) {
    this.#env = env
  }

  /** Starts a run. When the promise resolves it is in the store with what it begins with, or nothing is. */
  async start<Input, Result>(
    flow: Flow<Input, Result>,
    input: Input,
    options: StartOptions = {},
  ): Promise<RunHandle<Result>> {
    const tree = flow?.tree
    if (tree === undefined) {
      throw new SkepError(
        'OPTION_INVALID',
        `The flow of a run is ${show(flow)}; pass what flow(name, …) returns.`,
      )
    }
    assertOptions(START_KEYS, options)
    const { priority = 0, id } = options
    assertWhole('priority', priority, -LIMITS.priority, LIMITS.priority)
    if (id !== undefined) assertJobId(id)
    return this.#env.calls.run(() => this.#start(tree, input, options))
  }

  async #start<Result>(tree: Tree, input: unknown, options: StartOptions): Promise<RunHandle<Result>> {
    const { id, tx } = options
    const made = this.#newRun(tree, input, options)
    const call = await this.#env.calls.unlessClosed(startCall(tree, made, options, this.#env.maker))
    await this.#env.readyToWrite()
    // Not beside a transaction that is open: it may keep all others from writing. Workers put it as well. A start does not wait
    // for a store that takes its time with this.
    if (tx === undefined) await atMost(this.#env.runtime, OUTLINE_MS, this.#env.outlines.putOnce(tree))
    const known = await insertTogether(this.#env, { ...call, again: id !== undefined }, tx)
    // An id that was made for this call is known only if an earlier attempt had happened.
    return new RunHandle(this, made.id, id !== undefined && known.includes(0))
  }

  /** A handle on a run by its id, whether or not it exists. */
  run<Result = unknown>(id: string): RunHandle<Result> {
    assertJobId(id)
    return new RunHandle(this, id)
  }

  async get(id: string): Promise<RunView | null> {
    await this.#env.ready()
    const run = await this.#find(id)
    return run && this.#view(run)
  }

  /** One page of runs, newest first. */
  async list(
    options: {
      readonly flow?: string | Flow<never, unknown>
      readonly status?: RunStatus
      readonly attributes?: Readonly<Record<string, string | number>>
      /** This run with its branches, and theirs; otherwise branches are left out. */
      readonly root?: string
      readonly limit?: number
      readonly cursor?: string | null
    } = {},
  ): Promise<{ readonly runs: readonly RunView[]; readonly cursor: string | null }> {
    assertOptions(LIST_KEYS, options)
    await this.#env.ready()
    const { flow, status, attributes = {}, root, limit = 50, cursor = null } = options
    if (root !== undefined) assertJobId(root)
    assertWhole('limit', limit, 1, LIMITS.pageJobs)
    const [attribute, ...more] = attributesOf(attributes)
    if (more.length > 0) throw new SkepError('OPTION_INVALID', 'Runs are found by one attribute at a time.')
    const { runs, cursor: next } = await this.#env.store.listRuns({
      space: this.#env.space,
      ...(flow === undefined ? {} : { flow: typeof flow === 'string' ? flow : flow.name }),
      ...(status === undefined ? {} : { status }),
      ...(attribute === undefined ? {} : { attribute }),
      ...(root === undefined ? {} : { root, branches: true }),
      limit,
      cursor,
    })
    return { runs: await viewRuns(this.#env.store, this.#env.space, runs), cursor: next }
  }

  async explain(id: string): Promise<Explanation> {
    assertJobId(id)
    await this.#env.ready()
    return explainAny(this.#env.store, this.#env.space, id)
  }

  async members(id: string, options: { readonly limit?: number }): Promise<RunMembers> {
    assertOptions(MEMBERS_KEYS, options)
    const { limit = 20 } = options
    assertWhole('limit', limit, 1, LIMITS.pageJobs)
    await this.#env.ready()
    const { store, space } = this.#env
    const run = await this.#find(id)
    const waits = run && readPosition(run.position).waits
    if (!waits || waits.size === 0 || waits.kind === 'signal') return { open: [], failed: [] }
    const group = (await store.getGroups({ space, ids: [waits.id] })).groups[0]
    return group ? readMembers(store, group, limit) : { open: [], failed: [] }
  }

  /** The flows that workers or starters have told of, with how they look and how many runs they have. */
  async flows(options: { readonly name?: string } = {}): Promise<FlowSummary> {
    assertOptions(FLOWS_KEYS, options)
    await this.#env.ready()
    return summarizeFlows(this.#env.store, this.#env.space, options.name)
  }

  /** How many runs each flow and version has in each status: of the newest `limit`. */
  async counts(
    options: { readonly flow?: string; readonly status?: RunStatus; readonly limit?: number } = {},
  ): Promise<CountRunsReply> {
    assertOptions(COUNTS_KEYS, options)
    await this.#env.ready()
    const { limit = 100_000, ...filter } = options
    return this.#env.store.countRuns({ space: this.#env.space, ...filter, limit })
  }

  async result(
    id: string,
    options: { readonly timeout?: Duration; readonly signal?: AbortSignal },
  ): Promise<unknown> {
    assertOptions(RESULT_KEYS, options)
    const { timeout, signal } = options
    await this.#env.ready()
    const run = await this.#env.awaiting.ended(id, {
      ...(timeout === undefined ? {} : { timeoutMs: toMs('timeout', timeout) }),
      ...(signal === undefined ? {} : { signal }),
    })
    if (run === null) throw new SkepError('JOB_NOT_FOUND', `There is no run ${show(id)}.`, { facts: { id } })
    const { status } = run
    if (status === 'done') return run.result === null ? null : (JSON.parse(run.result) as unknown)
    const failure = run.failure === null ? null : (JSON.parse(run.failure) as { message: string })
    const code = status === 'cancelled' ? 'JOB_CANCELLED' : 'JOB_FAILED'
    throw new SkepError(code, `Run ${show(id)} ${status}: ${failure?.message ?? 'no reason was given.'}`, {
      facts: { id },
    })
  }

  async signal(id: string, name: string, value: unknown): Promise<boolean> {
    assertName('Signal', name)
    await this.#env.readyToWrite()
    const run = await this.#find(id, this.#env.patient)
    if (run === null) throw new SkepError('JOB_NOT_FOUND', `There is no run ${show(id)}.`, { facts: { id } })
    const { patient: store, space, maker } = this.#env
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
    assertText('run.cancel()', 'reason', reason)
    await this.#env.readyToWrite()
    return cancelRun({ ...this.#env, store: this.#env.patient }, id, reason)
  }

  async branches(id: string): Promise<readonly RunBranch[]> {
    await this.#env.ready()
    const run = await this.#find(id)
    return run === null ? [] : branchesOf(this.#env, run, (branch) => new RunHandle(this, branch))
  }

  async retry(id: string, from?: string): Promise<boolean> {
    assertJobId(id)
    await this.#env.readyToWrite()
    if (from !== undefined) await this.#assertStep(id, from)
    return retryRun({ ...this.#env, store: this.#env.patient }, id, from)
  }

  /** A step that is not there is refused before the run begins again, as far as it is known how the flow looks. */
  async #assertStep(id: string, from: string): Promise<void> {
    const { patient, space } = this.#env
    const run = await this.#find(id, patient)
    const [view] = run ? await viewRuns(patient, space, [run]) : []
    const steps = view?.position.steps ?? []
    if (run === null || steps.length === 0 || steps.some(({ name }) => name === from)) return
    const names = steps.map(({ name }) => show(name)).join(', ')
    throw new SkepError(
      'OPTION_INVALID',
      `Flow ${show(run.flow)} has no step ${show(from)}. It has ${names}.`,
      {
        facts: { id, from },
      },
    )
  }

  #newRun(tree: Tree, input: unknown, { id, attributes = {}, priority = 0 }: StartOptions): NewRun {
    const { maker, space } = this.#env
    const made = id ?? maker.uuid()
    return {
      id: made,
      space,
      flow: tree.name,
      version: tree.version,
      position: JSON.stringify(startOf({ queue: tree.queue, priority })),
      state: encodeJson('input', input ?? {}, maker.stateBytes),
      attributes: attributesOf(attributes),
      member: null,
      root: made,
    }
  }

  async #view(run: Run): Promise<RunView> {
    const [view] = await viewRuns(this.#env.store, this.#env.space, [run])
    return view as RunView
  }

  async #find(id: string, store: Store = this.#env.store): Promise<Run | null> {
    assertJobId(id)
    const { runs } = await store.getRuns({ space: this.#env.space, ids: [id] })
    return runs[0] ?? null
  }

  #hint(enqueued: readonly Enqueued[]): void {
    if (enqueued.length > 0) this.#env.notifier.publish(enqueued.map((one) => ({ kind: 'work', ...one })))
  }
}

/** Each as `name:value`; of an array each element. */
export function attributesOf(attributes: Attributes): string[] {
  if (typeof attributes !== 'object' || attributes === null || Array.isArray(attributes)) {
    throw new SkepError('OPTION_INVALID', `attributes is ${show(attributes)}; use an object: { userId: 62 }.`)
  }
  const all = Object.entries(attributes).flatMap(([name, value]) =>
    (Array.isArray(value) ? (value as readonly (string | number)[]) : [value as string | number]).map(
      (one) => {
        if (typeof one === 'string' || typeof one === 'number') return `${name}:${one}`
        throw new SkepError(
          'OPTION_INVALID',
          `Attribute ${show(name)} is ${show(one)}; use a string, a number, or an array of them.`,
        )
      },
    ),
  )
  for (const one of all) assertKey('attribute', one)
  return [...new Set(all)]
}
