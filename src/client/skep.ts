import { type Duration, type Keep, toMs } from '../core/duration.ts'
import { SkepError } from '../core/errors.ts'
import type { Group } from '../core/flows/groups.ts'
import type { Run } from '../core/flows/runs.ts'
import type { NewJob } from '../core/jobs/job.ts'
import type { ChangeTo } from '../core/jobs/transitions.ts'
import { LIMITS } from '../core/limits.ts'
import { assertJobId, assertName, show } from '../core/names.ts'
import { assertOptions, optionKeys } from '../core/options.ts'
import { Registry } from '../flows/registry.ts'
import { Sweeper } from '../maintenance/flow-sweeper.ts'
import { OverdueJobs } from '../maintenance/overdue.ts'
import { pruneAll } from '../maintenance/prune.ts'
import { Scheduler } from '../maintenance/scheduler.ts'
import { Meter } from '../metrics/counters.ts'
import { ErrorBook } from '../metrics/error-groups.ts'
import { History } from '../metrics/history.ts'
import type { Hint, Notifier, NotifierHealth } from '../notifier/notifier.ts'
import { localNotifier } from '../notifiers/local/notifier.ts'
import { Emitter } from '../runtime/emitter.ts'
import type { Instrumentation } from '../runtime/instrumentation.ts'
import { consoleLogger, harmless, type Logger } from '../runtime/logger.ts'
import { type Runtime, systemRuntime } from '../runtime/runtime.ts'
import type { RecordStore } from '../store/records.ts'
import type { Durability, InsertResult, Store } from '../store/store.ts'
import type { Order } from '../worker/commands.ts'
import type { WorkerEvents } from '../worker/events.ts'
import { Noter } from '../worker/log-writer.ts'
import { assertWhole, resolveWorkerOptions, WORKER_KEYS, type WorkerOptions } from '../worker/options.ts'
import { countInserted } from '../worker/settler.ts'
import { Bulk } from './bulk/bulk.ts'
import { BulkBook } from './bulk/record.ts'
import { type DoctorReport, examine } from './doctor.ts'
import { Enqueuer } from './enqueue/batcher.ts'
import { type AgainOptions, copyOf } from './enqueue/copy-job.ts'
import { type EnqueueOptions, makePrepare, type Prepare } from './enqueue/enqueue.ts'
import { type EnqueueManyOptions, prepareMany } from './enqueue/enqueue-many.ts'
import { LaterHints, transactionOf } from './enqueue/transaction.ts'
import { ErrorGroups } from './error-groups.ts'
import { type Explanation, explainAny } from './explain/explain.ts'
import { explainQueue, type QueueExplanation } from './explain/queue.ts'
import { Outlines } from './flows/definitions.ts'
import type { Flow } from './flows/flow.ts'
import { flowMaker, flowSpecs } from './flows/flow-handlers.ts'
import { type RunHandle, Runs, type StartOptions } from './flows/runs.ts'
import { Groups } from './groups/groups.ts'
import { type AttemptView, readAttempts } from './jobs/attempts.ts'
import {
  type ChangeSummary,
  changeJobs,
  type DeclaredTarget,
  dueMoment,
  type PrioritizeOptions,
  resolvePriority,
  type Target,
} from './jobs/change.ts'
import { type DeadNoticeOptions, readDeadNotices } from './jobs/dead-notices.ts'
import { type HandleOrigin, JobHandle } from './jobs/handle.ts'
import {
  type CountOptions,
  countFitting,
  countJobs,
  type InspectEnv,
  type JobCount,
  type JobPage,
  type ListOptions,
  listJobs,
  listSpaces,
  type QueueView,
  type SpaceView,
} from './jobs/list.ts'
import { buriedListener, logFailures } from './jobs/log-failures.ts'
import { type LogOptions, type LogPage, progressView, readLogs } from './jobs/logs.ts'
import { type PurgeOptions, type PurgeSummary, purgeJobs } from './jobs/purge.ts'
import {
  type Awaiting,
  awaitingGroups,
  awaitingJobs,
  awaitingRuns,
  ResultReader,
  type Results,
} from './jobs/results.ts'
import { type WeighedPage, type WeighOptions, weighJobs } from './jobs/size.ts'
import { type JobView, viewOf } from './jobs/view.ts'
import { type JobEvent, type WatchOptions, watchJob } from './jobs/watch.ts'
import { Metrics } from './metrics.ts'
import { programVersion } from './program-version.ts'
import { announceWorker, declareLimits, listCards, type QueueCard } from './queues/declarations.ts'
import { type DrainOptions, type DrainSummary, drainQueue } from './queues/drain.ts'
import { type DropOptions, type DropSummary, dropQueue } from './queues/drop.ts'
import { instrumentedSpec, toSpec } from './queues/handlers.ts'
import {
  type Holdable,
  type HoldEnv,
  type HoldOptions,
  type HoldSummary,
  type HoldView,
  hold,
  type ReleaseSummary,
  release,
  standing,
} from './queues/holds.ts'
import { type LaneListOptions, type LanePage, listLanes } from './queues/lanes.ts'
import { Limits } from './queues/limits.ts'
import type { Handler, Queue } from './queues/queue.ts'
import { workersHere } from './queues/recall.ts'
import { readyRecords } from './records.ts'
import { Relay, type RelayOptions } from './remote-execution/relay.ts'
import { patientStore } from './retry-calls.ts'
import { harmlessNotifier } from './safe-notifier.ts'
import { Declarations } from './schedules/declarations.ts'
import { Schedules } from './schedules/schedules.ts'
import { Opening } from './store-readiness.ts'
import { type AnsweringStore, answeringStore } from './with-timeouts.ts'
import { listWorkers, orderWorker, type WorkerView } from './workers/list.ts'
import { Worker } from './workers/worker.ts'

export interface SkepOptions {
  /** Where the jobs live. */
  readonly store: Store
  /** What carries hints. @default the one that fits the store */
  readonly notifier?: Notifier
  /** The tenant: everything this instance sees and does is inside it. @default 'default' */
  readonly space?: string
  /** @default warnings and errors on the console */
  readonly logger?: Logger
  /** The largest payload or result as JSON, in bytes, up to 4 MiB. @default 262144 */
  readonly payloadBytes?: number
  /** How long an enqueue keeps trying while the store does not answer. @default '10s' */
  readonly enqueueTimeout?: Duration
  /** How long a call to the store may take before it is given up. For stores that hang: ours answer earlier. @default '60s' */
  readonly storeTimeout?: Duration
  /**
   * Whether this process writes down what it counts (see {@link Skep.metrics}) and which errors it saw (see
   * {@link Skep.errors}). @default true
   */
  readonly history?: boolean
  /** Follows jobs from where they are enqueued to where they run, such as `otel()` of `skep/otel`. @default nobody */
  readonly telemetry?: Instrumentation
  /**
   * The version of your program, shown with its workers and as a mark in charts.
   * @default the environment's `SKEP_VERSION`, or the version of the package whose script `npm run` runs
   */
  readonly version?: string
  /** Time and chance, for tests. @default the system's */
  readonly runtime?: Runtime
}

const KEYS = optionKeys<SkepOptions>('createSkep()', {
  store: true,
  notifier: true,
  space: true,
  logger: true,
  payloadBytes: true,
  enqueueTimeout: true,
  storeTimeout: true,
  history: true,
  telemetry: true,
  version: true,
  runtime: true,
})
const CANCEL_KEYS = optionKeys<NonNullable<Parameters<Skep['cancel']>[1]>>('cancel()', {
  reason: true,
  keep: true,
})
const BURY_KEYS = optionKeys<NonNullable<Parameters<Skep['bury']>[1]>>('bury()', { reason: true, keep: true })
const ORDER_KEYS = optionKeys<NonNullable<Parameters<Skep['order']>[2]>>('order()', { by: true })

/** What the open Skeps on one store share: several spaces may be on it. */
interface Shared {
  users: number
  /** Carries hints between them if the store has no notifier of its own; made when the first one needs it. */
  local: Notifier | null
}

const shared = new WeakMap<Store, Shared>()

function join(store: Store): Shared {
  const known = shared.get(store) ?? { users: 0, local: null }
  known.users++
  shared.set(store, known)
  return known
}

/** Connects a store, a notifier and your handlers. One is enough for a process. */
export function createSkep(options: SkepOptions): Skep {
  return new Skep(options)
}

/** The queue system as your program sees it. Made by {@link createSkep}. */
export class Skep {
  readonly space: string
  /** Limits at run time. */
  readonly limits: Limits
  /** Runs of flows. */
  readonly runs: Runs
  /** Groups of jobs, chains, and what is made of them. */
  readonly groups: Groups
  /** One thing done to all jobs that fit a query. */
  readonly bulk: Bulk
  /** How much happened, and how long it took. */
  readonly metrics: Metrics
  /** Which errors happened, those that are alike together. */
  readonly errors: ErrorGroups
  readonly #options: SkepOptions
  readonly #store: AnsweringStore
  /** The same for calls that somebody waits for, see {@link patientStore}. */
  readonly #patientStore: Store
  /** The store as it was passed in. */
  readonly #given: Store
  readonly #notifier: Notifier
  /** Hints go no further than this process. */
  readonly #isLocal: boolean
  readonly #runtime: Runtime
  readonly #logger: Logger
  readonly #events: Emitter<WorkerEvents>
  readonly #payloadBytes: number
  readonly #prepare: Prepare
  readonly #enqueuer: Enqueuer
  readonly #results: Results
  readonly #keeping: HandleOrigin
  readonly #discarding: HandleOrigin
  readonly #awaitingRuns: Awaiting<Run>
  readonly #awaitingGroups: Awaiting<Group>
  readonly #outlines: Outlines
  readonly #noter: Noter
  readonly #meter = new Meter()
  readonly #history: History | null
  readonly #errorBook: Pick<ErrorBook, 'add'>
  readonly #telemetry: Instrumentation | null
  readonly #version: string | null
  /** Who watches a job, and how to end that. */
  readonly #watchers = new Set<(error: unknown) => void>()
  readonly #holdEnv: HoldEnv
  readonly #scheduler: Scheduler
  readonly #sweeper: Sweeper
  readonly #overdue: OverdueJobs
  readonly #schedules: Schedules
  readonly #workers = new Set<Pick<Worker, 'stop'>>()
  readonly #laterHints: LaterHints
  readonly #opening: Opening
  /** Ends what waits when this is closed. */
  readonly #end = new AbortController()
  #closing: Promise<void> | null = null
  #closed = false
  #records: RecordStore | null = null

  constructor(options: SkepOptions) {
    assertOptions(KEYS, options)
    if (typeof options?.store?.insert !== 'function') {
      throw new SkepError(
        'CONFIG_INVALID',
        'createSkep needs a store: memoryStore(), sqliteStore({ file }) or postgresStore({ url }).',
      )
    }
    const { store: given, space = 'default', payloadBytes = LIMITS.payloadBytes } = options
    assertName('Space', space)
    assertWhole('payloadBytes', payloadBytes, 1, LIMITS.payloadBytesMax)
    this.space = space
    this.#options = options
    this.#runtime = options.runtime ?? systemRuntime()
    const patienceMs = toMs('enqueueTimeout', options.enqueueTimeout ?? '10s')
    this.#given = given
    const store = answeringStore(given, {
      runtime: this.#runtime,
      callMs: toMs('storeTimeout', options.storeTimeout ?? '60s'),
      insertMs: patienceMs,
    })
    this.#store = store
    this.#logger = harmless(options.logger ?? consoleLogger)
    this.#events = new Emitter(this.#logger)
    logFailures(this.#events, this.#logger, this.#runtime)
    this.#isLocal = !options.notifier && !store.notifier
    const others = join(given)
    if (this.#isLocal) others.local ??= localNotifier({ runtime: this.#runtime })
    const notifier = options.notifier ?? store.notifier?.() ?? (others.local as Notifier)
    this.#notifier = harmlessNotifier(notifier, this.#logger)
    this.#payloadBytes = payloadBytes
    this.#telemetry = options.telemetry ?? null
    this.#version = programVersion(options.version)
    const { telemetry } = options
    this.#prepare = makePrepare({
      space,
      runtime: this.#runtime,
      payloadBytes,
      ...(telemetry ? { headers: () => telemetry.headers() } : {}),
    })
    const parts = { store, notifier: this.#notifier, runtime: this.#runtime }
    this.#opening = new Opening({ store, runtime: this.#runtime, logger: this.#logger, patienceMs })
    this.#laterHints = new LaterHints(this.#notifier, this.#runtime)
    const tellsEarly = options.notifier === undefined && store.capabilities.tellsInOrder === true
    const onInserted = (jobs: readonly NewJob[], results: readonly InsertResult[]): void =>
      countInserted(this.#meter, jobs, results)
    this.#enqueuer = new Enqueuer({ ...parts, timeoutMs: patienceMs, tellsEarly, onInserted })
    this.#results = awaitingJobs({ ...parts, space })
    this.#keeping = { skep: this, results: this.#results, discards: false }
    this.#discarding = { ...this.#keeping, discards: true }
    this.#noter = new Noter({ ...parts, logger: this.#logger })
    const patient = patientStore(store, { runtime: this.#runtime, patienceMs, isClosed: () => this.#closed })
    this.#patientStore = patient
    const ready = { patient, patienceMs, ready: () => this.ready(), readyToWrite: () => this.#readyToWrite() }
    const ends = { workers: workersHere(given), closed: this.#end.signal }
    this.#holdEnv = { ...parts, logger: this.#logger, space, ...ready, ...ends }
    this.limits = new Limits(this.#holdEnv)
    const onBuried = buriedListener({ store, space }, this.#events)
    this.bulk = new Bulk({
      ...this.#holdEnv,
      onBuried,
      runtime: this.#runtime,
      book: new BulkBook(store, space),
      patientBook: new BulkBook(patient, space),
    })
    const records = { ...parts, space, logger: this.#logger }
    const onFirst = (): void => this.#history?.wake()
    const book = new ErrorBook({ ...records, onFirst, onNews: () => this.#history?.hurry() })
    const meter = this.#meter
    this.#history =
      options.history === false ? null : new History({ ...records, meter, also: () => book.flush() })
    this.#errorBook = this.#history === null ? { add: () => {} } : book
    const told = { ...parts, space, ...ready, flush: async () => this.#history?.flush() }
    this.metrics = new Metrics({ ...told, meter })
    this.errors = new ErrorGroups(told)
    this.#outlines = new Outlines({ store, space, logger: this.#logger })
    this.#awaitingRuns = awaitingRuns({ ...parts, space })
    this.#awaitingGroups = awaitingGroups({ ...parts, space })
    const maker = flowMaker({ space, runtime: this.#runtime, prepare: this.#prepare, payloadBytes })
    const together = {
      ...parts,
      enqueuer: this.#enqueuer,
      laterHints: this.#laterHints,
      space,
      awaiting: this.#awaitingRuns,
      outlines: this.#outlines,
      ...ready,
    }
    this.groups = new Groups({
      ...together,
      prepare: this.#prepare,
      awaitingGroups: this.#awaitingGroups,
      results: this.#results,
    })
    this.runs = new Runs({ ...together, maker })
    this.#overdue = new OverdueJobs({ ...parts, space })
    this.#sweeper = new Sweeper({ ...parts, space, logger: this.#logger, maker })
    const env = { ...parts, space, logger: this.#logger, prepare: this.#prepare }
    const declarations = new Declarations(env)
    this.#scheduler = new Scheduler({
      ...env,
      makers: () => declarations.makers,
      sync: () => declarations.syncPending(),
      onFired: (queue, jobs) => this.#meter.of(queue).enqueued(jobs),
    })
    this.#schedules = new Schedules(
      {
        ...env,
        ...ready,
        wakeWorkers: () => {
          if (this.#workers.size > 0) this.#notifier.publish([{ kind: 'schedules', space }])
        },
        insert: (job) => this.#insertOne(job),
      },
      declarations,
    )
  }

  /**
   * Checks the store: its schema, and what its "ok" is worth. Every call does this by itself once; call it at
   * start-up to fail early.
   */
  async ready(): Promise<Durability> {
    if (this.#closed) throw closedError()
    return this.#opening.ready()
  }

  /** As {@link ready}, with the patience of an enqueue. */
  async #readyToWrite(): Promise<void> {
    if (this.#closed) throw closedError()
    await this.#opening.readyToWrite()
  }

  /**
   * Small documents beside the jobs, such as access tokens and saved views, for whoever builds on Skep: see {@link RecordStore}.
   * Choose kinds of your own; those of the server are `token`, `audit` and the like.
   */
  get records(): RecordStore {
    this.#records ??= readyRecords(this.#store, this.#holdEnv)
    return this.#records
  }

  /** Another space of the same store, with the same settings. Close it like any other: the last one closes the store. */
  inSpace(space: string): Skep {
    if (this.#closing) throw closedError()
    return new Skep({ ...this.#options, space })
  }

  /** Brings the store's schema up to date. Returns what was applied. */
  migrate(): Promise<{ readonly applied: readonly string[] }> {
    return this.#store.migrate()
  }

  // ── enqueue ────────────────────────────────────────────────────────────────────────────────────

  /**
   * Enqueues a job. When the promise resolves the job is in the store, durably, and will run; if it rejects
   * with any code but `STORE_UNKNOWN` it is not. With `tx` it is there when your transaction commits.
   */
  async enqueue<Input, Result, Output>(
    queue: Queue<Input, Result, Output>,
    // The queue alone says what it takes; otherwise a property too many would widen the type instead of failing.
    payload: NoInfer<Input>,
    options: EnqueueOptions = {},
  ): Promise<JobHandle<Result>> {
    if (this.#telemetry === null) return this.#enqueueOne(queue, payload, options)
    return this.#telemetry.send(queue.name, (made) => this.#enqueueOne(queue, payload, options, made))
  }

  async #enqueueOne<Input, Result, Output>(
    queue: Queue<Input, Result, Output>,
    payload: Input,
    options: EnqueueOptions,
    made?: (jobs: readonly NewJob[]) => void,
  ): Promise<JobHandle<Result>> {
    // First of all: the payload is what it is now, whatever the caller does with the object while the store opens.
    const prepared = this.#prepare(queue, payload, options)
    const job = prepared instanceof Promise ? await prepared : prepared
    made?.([job])
    if (!this.#opening.isReady || this.#closed) await this.#readyToWrite()
    const [result] =
      options.tx === undefined
        ? await this.#enqueuer.insert([job], options.id !== undefined)
        : await this.#insertWithin(options.tx, [job], options.id !== undefined)
    return this.#handle(queue, job, result as InsertResult, options.id !== undefined)
  }

  /**
   * Enqueues many jobs, all or none. Items are payloads, or payloads with options of their own. An item that
   * is not valid is named by its index (`BATCH_ITEM_INVALID`), and nothing is written.
   */
  async enqueueMany<Input, Result, Output>(
    queue: Queue<Input, Result, Output>,
    items: readonly NoInfer<Input>[],
    options: EnqueueManyOptions<NoInfer<Input>> = {},
  ): Promise<JobHandle<Result>[]> {
    if (this.#telemetry === null) return this.#enqueueAll(queue, items, options)
    return this.#telemetry.send(queue.name, (made) => this.#enqueueAll(queue, items, options, made))
  }

  async #enqueueAll<Input, Result, Output>(
    queue: Queue<Input, Result, Output>,
    items: readonly Input[],
    options: EnqueueManyOptions<Input>,
    made?: (jobs: readonly NewJob[]) => void,
  ): Promise<JobHandle<Result>[]> {
    const { tx } = options
    const { jobs, chosen } = await prepareMany(this.#prepare, queue, items, options)
    made?.(jobs)
    if (!this.#opening.isReady || this.#closed) await this.#readyToWrite()
    if (jobs.length === 0) return []
    const again = chosen !== null
    const results =
      tx === undefined ? await this.#enqueuer.insert(jobs, again) : await this.#insertWithin(tx, jobs, again)
    return jobs.map((job, index) =>
      this.#handle(queue, job, results[index] as InsertResult, chosen?.has(job.id) ?? false),
    )
  }

  async #insertWithin(
    tx: unknown,
    jobs: readonly NewJob[],
    again: boolean,
  ): Promise<readonly InsertResult[]> {
    if (this.#closed) throw closedError()
    const { results } = await transactionOf(this.#store, tx).insert({ jobs, again })
    this.#laterHints.tellOf(jobs, results)
    // Whether it commits is not seen from here; mostly it does.
    countInserted(this.#meter, jobs, results)
    return results
  }

  #handle<Input, Result, Output>(
    queue: Queue<Input, Result, Output>,
    job: NewJob,
    result: InsertResult,
    isChosen: boolean,
  ): JobHandle<Result> {
    // An id that was made for this call is known only if an earlier try had happened.
    const duplicate = result.status === 'duplicate' || (isChosen && result.known === true)
    const discards = queue.policy.onSuccess.end === 'discard' && !job.overrides?.includes('"keepMs"')
    const origin = discards ? this.#discarding : this.#keeping
    return new JobHandle(origin, result.status === 'duplicate' ? result.id : job.id, duplicate)
  }

  async #insertOne(job: NewJob): Promise<JobHandle<unknown>> {
    const [result] = await this.#enqueuer.insert([job], false)
    const duplicate = result?.status === 'duplicate'
    return new JobHandle(this.#keeping, duplicate ? result.id : job.id, duplicate)
  }

  /**
   * Enqueues a new job like that one, whatever its state, perhaps with another payload or in another queue. It keeps headers,
   * lane, priority, cost and the job's own options, but not the unique key, and has the header `skep-copy-of`. Throws
   * `JOB_NOT_FOUND` if there is no such job. The queue's schema is not asked: only its name is known here.
   */
  async again(id: string, options: AgainOptions = {}): Promise<JobHandle<unknown>> {
    assertJobId(id)
    await this.#readyToWrite()
    const { jobs } = await this.#patientStore.get({ space: this.space, ids: [id] })
    if (!jobs[0]) {
      throw new SkepError('JOB_NOT_FOUND', `There is no job "${id}" in space "${this.space}".`, {
        facts: { id },
      })
    }
    const env = { runtime: this.#runtime, payloadBytes: this.#payloadBytes }
    return this.#insertOne(copyOf(jobs[0], options, env))
  }

  /** A handle on a job by its id, whether or not it exists. */
  job<Result = unknown>(id: string): JobHandle<Result> {
    assertJobId(id)
    return new JobHandle(this.#keeping, id, false)
  }

  // ── work ───────────────────────────────────────────────────────────────────────────────────────

  /**
   * Starts a worker for these handlers, and for runs of these flows. It runs until `stop()`, through every outage of
   * the store.
   */
  worker(work: readonly (Handler | Flow<never, unknown>)[], options: WorkerOptions = {}): Worker {
    if (this.#closing) throw closedError()
    assertOptions(WORKER_KEYS, options)
    assertWork(work)
    const handlers = work.filter((one): one is Handler => 'queue' in one)
    const registry = new Registry()
    for (const one of work) if ('tree' in one) registry.add(one.tree)
    const names = handlers.map((handler) => handler.queue.name)
    const twice = names.find((name, index) => names.indexOf(name) !== index)
    if (twice !== undefined) {
      throw new SkepError('QUEUE_DUPLICATE', `Queue ${show(twice)} has two handlers in one worker. Keep one.`)
    }
    const env = {
      space: this.space,
      store: this.#store,
      notifier: this.#notifier,
      runtime: this.#runtime,
      logger: this.#logger,
      noter: this.#noter,
      results: new ResultReader({ store: this.#store, runtime: this.#runtime, space: this.space }),
      prepare: this.#prepare,
      payloadBytes: this.#payloadBytes,
    }
    const resolved = resolveWorkerOptions({
      ...options,
      ...(options.version === undefined && this.#version !== null ? { version: this.#version } : {}),
    })
    const specs = [...handlers.map((handler) => toSpec(handler, env)), ...flowSpecs(registry, env)]
    const telemetry = this.#telemetry
    const worker: Worker = new Worker({
      store: this.#store,
      notifier: this.#notifier,
      runtime: this.#runtime,
      logger: this.#logger,
      events: this.#events,
      noter: this.#noter,
      meter: this.#meter,
      errors: this.#errorBook,
      specs:
        telemetry === null ? specs : specs.map((spec) => instrumentedSpec(spec, telemetry, () => worker.id)),
      options: resolved,
      duties: [this.#scheduler, this.#sweeper, this.bulk.runner, this.#overdue],
      ready: async () => {
        await this.ready()
        const queues = handlers.map(({ queue }) => ({ name: queue.name, declared: queue.lanes.declared }))
        await declareLimits(this.#store, this.space, queues)
        await this.#outlines.put(registry.trees())
        await announceWorker(
          env,
          handlers.map(({ queue }) => queue),
          resolved.version,
        )
      },
      onStopped: async () => {
        this.#workers.delete(worker)
        workersHere(this.#given).delete(worker.id)
        // Programs end when their workers have.
        if (this.#workers.size === 0) await this.#history?.rest()
      },
    })
    this.#workers.add(worker)
    workersHere(this.#given).set(worker.id, worker)
    return worker
  }

  /**
   * Starts a worker whose jobs run outside of this process, such as a server's receivers. It takes jobs of the queues that
   * are opened on it, hands them over, and takes their ends. It runs until `stop()`, through every outage of the store.
   */
  relay<Holder>(options: RelayOptions<Holder>): Relay<Holder> {
    if (this.#closing) throw closedError()
    const relay = new Relay<Holder>(
      {
        store: this.#store,
        notifier: this.#notifier,
        runtime: this.#runtime,
        logger: this.#logger,
        events: this.#events,
        noter: this.#noter,
        meter: this.#meter,
        errors: this.#errorBook,
        space: this.space,
        payloadBytes: this.#payloadBytes,
        results: new ResultReader({ store: this.#store, runtime: this.#runtime, space: this.space }),
        duties: [this.#scheduler, this.#sweeper, this.bulk.runner, this.#overdue],
        ready: () => this.ready(),
        onStopped: () => {
          this.#workers.delete(relay)
          workersHere(this.#given).delete(relay.id)
        },
      },
      options,
    )
    this.#workers.add(relay)
    workersHere(this.#given).set(relay.id, relay)
    return relay
  }

  /**
   * Starts a run of a flow. When the promise resolves it is in the store with all its first jobs, and will go on; if it
   * rejects with any code but `STORE_UNKNOWN` nothing is.
   */
  start<Input, Result>(
    flow: Flow<Input, Result>,
    input: NoInfer<Input>,
    options: StartOptions = {},
  ): Promise<RunHandle<Result>> {
    return this.runs.start(flow, input, options)
  }

  /** Calls `listener` for every such event of this process's workers. It can never change a job's outcome. */
  on<Name extends keyof WorkerEvents>(
    name: Name,
    listener: (event: WorkerEvents[Name]) => unknown,
  ): () => void {
    return this.#events.on(name, listener)
  }

  /** What carries hints is doing. One that connects when it is first needed is down until then. */
  get notifierHealth(): NotifierHealth {
    return this.#notifier.health()
  }

  /**
   * Calls `listener` when something of this space may have changed, in any process. A hint may be late, doubled or lost: whoever
   * needs to know looks at the store now and then besides. Returns how to end it.
   */
  onHint(listener: (hints: readonly Hint[]) => void): () => void {
    if (this.#closing) throw closedError()
    const { space } = this
    const subscription = this.#notifier.subscribe((hints) => {
      const own = hints.filter((hint) => !('space' in hint) || hint.space === space)
      if (own.length > 0) listener(own)
    })
    return () => subscription.end()
  }

  /** Whether the notifier of this program has notices: `natsNotifier` has, others have none that could be dead. */
  get hasNotices(): boolean {
    return this.#notifier.notices !== undefined
  }

  /**
   * One page of notices (of `natsNotifier`) that were delivered too often without being dealt with, oldest first. Their jobs are in
   * the store: the sweep of a worker finds those that still wait.
   */
  async deadNotices(options: DeadNoticeOptions = {}): Promise<Awaited<ReturnType<typeof readDeadNotices>>> {
    if (this.#closing) throw closedError()
    return readDeadNotices(this.#notifier, this.space, options)
  }

  /** The workers that are on the list, here and on other machines. */
  async workers(): Promise<readonly WorkerView[]> {
    await this.ready()
    return listWorkers(this.#workersEnv())
  }

  /**
   * Tells a worker, here or on another machine, to take no more jobs (`quiet`), to go on (`none`), or to stop as if its
   * program had said so (`stop`). It hears of it within moments, or with its next heartbeat. Its process does not end by
   * itself: see {@link Worker.stopped}. Null: no such worker is on the list.
   */
  async order(id: string, order: Order, options: { readonly by?: string } = {}): Promise<WorkerView | null> {
    assertOptions(ORDER_KEYS, options)
    await this.#readyToWrite()
    return orderWorker({ ...this.#workersEnv(), store: this.#patientStore }, id, order, options)
  }

  /** How queues were declared in code, as their workers told. */
  async cards(): Promise<readonly QueueCard[]> {
    await this.ready()
    return listCards(this.#store, this.space)
  }

  #workersEnv(): Parameters<typeof listWorkers>[0] {
    return { store: this.#store, notifier: this.#notifier, runtime: this.#runtime, space: this.space }
  }

  /** The schedules of this space: what makes jobs by cron or interval. */
  get schedules(): Schedules {
    return this.#schedules
  }

  // ── look and change ────────────────────────────────────────────────────────────────────────────

  /** A job by its id, with how far it is, or null. */
  async get(id: string): Promise<JobView | null> {
    assertJobId(id)
    await this.ready()
    const { space } = this
    const [{ jobs }, { progress }] = await Promise.all([
      this.#store.get({ space, ids: [id] }),
      this.#store.notes({ space, id, after: 0, limit: 0 }),
    ])
    return jobs[0] ? { ...viewOf(jobs[0]), progress: progressView(progress) } : null
  }

  /** The runs of a job that ended badly, oldest first, at most twenty: each with its error. Empty if there are none. */
  async attempts(id: string): Promise<readonly AttemptView[]> {
    assertJobId(id)
    await this.ready()
    return readAttempts(this.#store, this.space, id)
  }

  /** One page of the lines that a job's handlers wrote, oldest first, and how far it is. Empty if there are none. */
  async logs(id: string, options: LogOptions = {}): Promise<LogPage> {
    assertJobId(id)
    await this.ready()
    return readLogs(this.#store, this.space, id, options)
  }

  /**
   * Follows a job: its state, its progress and its lines, those there are and those to come, until it has ended. Throws
   * `JOB_NOT_FOUND` if there is no such job; one that is discarded just ends. What nobody reads costs nothing.
   */
  watch(id: string, options: WatchOptions = {}): AsyncIterableIterator<JobEvent> {
    assertJobId(id)
    return this.#watch(id, options)
  }

  async *#watch(id: string, options: WatchOptions): AsyncGenerator<JobEvent, void, void> {
    await this.ready()
    const [store, notifier, runtime, watchers] = [this.#store, this.#notifier, this.#runtime, this.#watchers]
    yield* watchJob({ store, notifier, runtime, watchers, space: this.space }, id, options)
  }

  /**
   * One page of jobs. With a `query` that asks for more than states, queues, times, a lane or ids, each page looks at about
   * 5,000 jobs at most: go on with its cursor until that is null.
   */
  async list(options: ListOptions = {}): Promise<JobPage> {
    await this.ready()
    return listJobs(this.#inspectEnv, options)
  }

  /**
   * How many jobs fit a query: exactly and at once if it asks for states and queues alone, otherwise up to `cap` and as far as
   * half a second goes. Then `isExact` is false, and there are at least so many.
   */
  async count(query: string, options: CountOptions = {}): Promise<JobCount> {
    await this.ready()
    return countFitting(this.#inspectEnv, query, options)
  }

  get #inspectEnv(): InspectEnv {
    return { store: this.#store, runtime: this.#runtime, space: this.space }
  }

  /** How many jobs each queue has in each state; the cost does not grow with their number. */
  async counts(queues?: readonly (string | { readonly name: string })[]): Promise<readonly QueueView[]> {
    await this.ready()
    const names = queues?.map((queue) => (typeof queue === 'string' ? queue : queue.name))
    return countJobs(this.#store, this.space, names)
  }

  /**
   * All spaces of the store that have jobs, not only this one, with how many; the cost does not grow with the number of jobs. A space
   * without a job is not listed.
   */
  async spaces(): Promise<readonly SpaceView[]> {
    await this.ready()
    return listSpaces(this.#store, this.space)
  }

  /**
   * How many bytes one page of a queue's jobs in one state takes in the store. Nothing of the jobs is sent, and nobody waits for it, but
   * each of them is looked at: it is for walks that take their time.
   */
  async weigh(options: WeighOptions): Promise<WeighedPage> {
    await this.ready()
    return weighJobs(this.#store, this.space, options)
  }

  /**
   * One page of the lanes of a queue that have work: what runs and waits in each, what its rate and its holds say. A queue
   * without limits has none.
   */
  async lanes(queue: string | { readonly name: string }, options: LaneListOptions = {}): Promise<LanePage> {
    await this.ready()
    return listLanes(this.#store, this.space, typeof queue === 'string' ? queue : queue.name, options)
  }

  /**
   * Why a job is not running, with the names of what keeps it back; or what became of it. It changes nothing. By the id of
   * a run, or of a group: what it waits for.
   */
  async explain(id: string): Promise<Explanation> {
    assertJobId(id)
    await this.ready()
    return explainAny(this.#store, this.space, id)
  }

  /**
   * Why the waiting jobs of a queue wait: each cause with the number of jobs that it keeps back. It looks at no job and at 100 lanes at most,
   * so the cost does not grow with the queue.
   */
  async explainQueue(
    queue: string | { readonly name: string },
    options: { readonly lanes?: number } = {},
  ): Promise<QueueExplanation> {
    await this.ready()
    return explainQueue(this.#store, this.space, typeof queue === 'string' ? queue : queue.name, options)
  }

  /** Looks whether all is well with the store, the notifier, the workers and the queues. It changes nothing. */
  async doctor(): Promise<DoctorReport> {
    const durability = await this.ready()
    const [store, notifier, runtime] = [this.#store, this.#notifier, this.#runtime]
    return examine({ store, notifier, runtime, space: this.space, isLocal: this.#isLocal }, durability)
  }

  // ── hold back ──────────────────────────────────────────────────────────────────────────────────

  /**
   * Keeps jobs from starting: of a queue, of all that fit a pattern, of a lane, of the space or everywhere. When it has
   * answered, no worker takes one until {@link Skep.resume}, or until its time is over, and the workers of this process start none
   * that they have prefetched. Those of other processes hand theirs back as soon as they hear of it; with `wait` it answers when all
   * have. Jobs inside handlers go on, and nothing is lost. Costs the same however many jobs wait. Repeating it is fine.
   */
  pause(target: Holdable, options: HoldOptions = {}): Promise<HoldSummary> {
    return hold(this.#holdEnv, 'pause', target, options)
  }

  /** Takes a pause on this very target away. A block on it, or a hold on something wider, stays and is in the answer. */
  resume(target: Holdable, options: Pick<HoldOptions, 'by'> = {}): Promise<ReleaseSummary> {
    return release(this.#holdEnv, 'pause', target, options)
  }

  /** Like {@link Skep.pause}, for admins: the two do not know of each other, and both must be gone. */
  block(target: Holdable, options: HoldOptions = {}): Promise<HoldSummary> {
    return hold(this.#holdEnv, 'block', target, options)
  }

  /** Takes a block on this very target away. */
  unblock(target: Holdable, options: Pick<HoldOptions, 'by'> = {}): Promise<ReleaseSummary> {
    return release(this.#holdEnv, 'block', target, options)
  }

  /** The holds that stand and concern this space: blocks first, then the oldest. */
  holds(): Promise<readonly HoldView[]> {
    return standing(this.#holdEnv)
  }

  /**
   * Pauses a queue and waits until none of its jobs runs. The pause stays, also when this rejects: with `DRAIN_TIMEOUT`
   * after `timeout`, or with the reason of `signal`.
   */
  drain(queue: string | { readonly name: string }, options: DrainOptions = {}): Promise<DrainSummary> {
    return drainQueue(this.#holdEnv, queue, options)
  }

  /** Ends waiting jobs, and asks running ones to stop. After this none of them starts again. */
  async cancel(
    target: Target,
    options: { readonly reason?: string; readonly keep?: Keep } = {},
  ): Promise<ChangeSummary> {
    assertOptions(CANCEL_KEYS, options)
    return this.#change('cancel', target, options.reason ?? 'Cancelled.', options.keep ?? '3d')
  }

  /** Puts waiting jobs among the dead. */
  async bury(
    target: Target,
    options: { readonly reason?: string; readonly keep?: Keep } = {},
  ): Promise<ChangeSummary> {
    assertOptions(BURY_KEYS, options)
    return this.#change('bury', target, options.reason ?? 'Buried by hand.', options.keep ?? '30d')
  }

  /** Starts finished jobs anew, as their next generation. By selection: the dead, unless it names another state. */
  redrive(target: Target): Promise<ChangeSummary> {
    return this.#change('redrive', target, '', 0)
  }

  /** Makes delayed jobs due now. */
  promote(target: Target): Promise<ChangeSummary> {
    return this.#change('promote', target, '', 0)
  }

  /**
   * Makes waiting jobs due at another moment; one that is over means now. Jobs in strict order keep their place, and are refused.
   */
  reschedule(target: Target, when: Date | { readonly delay: Duration }): Promise<ChangeSummary> {
    return this.#change('reschedule', target, '', 0, { dueAt: dueMoment(when, this.#runtime.now()) })
  }

  /** Deletes jobs that do not run. By selection: finished ones, unless it names another state. */
  remove(target: Target): Promise<ChangeSummary> {
    return this.#change('remove', target, '', 0)
  }

  /**
   * Gives waiting jobs another priority, -100 to 100, and with it another place in line; delayed ones keep their time.
   * Pass the queue as it was declared, alone or in a filter, and all its waiting jobs that fit are reached.
   */
  prioritize(target: DeclaredTarget, priority: number): Promise<ChangeSummary>
  /** The same by id or by the name of a queue. Neither tells how the queue counts priorities, so you say it. */
  prioritize(target: Target, priority: number, options: PrioritizeOptions): Promise<ChangeSummary>
  async prioritize(
    target: Target | DeclaredTarget,
    priority: number,
    options?: PrioritizeOptions,
  ): Promise<ChangeSummary> {
    const resolved = resolvePriority(target, priority, options)
    return this.#change('prioritize', resolved.target, '', 0, { priority: resolved.priority })
  }

  /**
   * Deletes all jobs of a queue that do not run, or those that fit. With `dryRun` it only counts them. Says how many
   * were in each state, and how many run.
   */
  async purge(queue: string | { readonly name: string }, options: PurgeOptions = {}): Promise<PurgeSummary> {
    await this.#readyToWrite()
    const env = { store: this.#patientStore, notifier: this.#notifier, space: this.space }
    return purgeJobs(env, typeof queue === 'string' ? queue : queue.name, options)
  }

  /**
   * Removes a queue: its finished jobs, limits, holds and declaration, so that nothing lists it any more. Rejects with
   * `QUEUE_IN_USE` while a live worker handles it, its jobs run, or jobs wait in it; `force` removes those that wait.
   * After a failure, call it again: it continues where it was.
   */
  dropQueue(queue: string | { readonly name: string }, options: DropOptions = {}): Promise<DropSummary> {
    return dropQueue(this.#holdEnv, queue, options)
  }

  async #change(
    action: Parameters<typeof changeJobs>[1],
    target: Target,
    reason: string,
    keep: Keep,
    to: ChangeTo = {},
  ): Promise<ChangeSummary> {
    await this.#readyToWrite()
    const env = { store: this.#patientStore, notifier: this.#notifier, space: this.space }
    const tellBuried = buriedListener(env, this.#events)
    return changeJobs({ ...env, ...(action === 'bury' && { onChanged: tellBuried }) }, action, target, {
      reason,
      keep,
      ...to,
    })
  }

  /** Removes finished jobs whose time is over. Workers do this by themselves. Returns how many. */
  async prune(): Promise<number> {
    await this.#readyToWrite()
    return pruneAll(this.#patientStore)
  }

  /**
   * Stops the workers (they drain), waits for what is being enqueued, and closes the store with the last Skep
   * that uses it. A notifier you passed in stays open. Closing twice is fine.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    // Handlers that still run may need all of this, or closing would cost their jobs a try.
    if (this.#workers.size > 0) await Promise.all([...this.#workers].map((worker) => worker.stop()))
    await this.bulk.close()
    this.#closed = true
    await this.#enqueuer.close(closedError())
    await this.#history?.stop()
    this.#laterHints.flush()
    this.#end.abort(closedError())
    const unanswered = new SkepError('CLOSED', 'This Skep was closed while a result was awaited.')
    this.#results.close(unanswered)
    this.#awaitingRuns.close(unanswered)
    this.#awaitingGroups.close(unanswered)
    for (const end of this.#watchers)
      end(new SkepError('CLOSED', 'This Skep was closed while a job was watched.'))
    const others = shared.get(this.#given) as Shared
    others.users--
    if (others.users === 0) {
      shared.delete(this.#given)
      await others.local?.close()
      await this.#store.close()
    }
    this.#store.giveUp()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Refuses what would start a worker that never runs anything. */
function assertWork(work: readonly (Handler | Flow<never, unknown>)[]): void {
  if (!Array.isArray(work) || work.length === 0) {
    throw new SkepError(
      'CONFIG_INVALID',
      'A worker needs an array with at least one handler: skep.worker([mail.handle(send)]).',
    )
  }
  for (const [index, one] of (work as readonly unknown[]).entries()) {
    const { queue, run, tree, name, handle } = (one ?? {}) as Readonly<Record<string, unknown>>
    if (tree !== undefined || (queue !== undefined && typeof run === 'function')) continue
    throw new SkepError(
      'CONFIG_INVALID',
      typeof handle === 'function'
        ? `worker() got queue ${show(name)} without a handler. Use skep.worker([queue.handle(run)]).`
        : `worker() got ${show(one)} at ${index}; it takes handlers (queue.handle(run)) and flows.`,
    )
  }
}

function closedError(): SkepError {
  return new SkepError('CLOSED', 'This Skep is closed. Make a new one with createSkep.')
}
