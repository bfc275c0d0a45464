import { type Duration, toMs } from '../core/duration.ts'
import { SkepError } from '../core/errors.ts'
import type { Group } from '../core/flows/groups.ts'
import type { Run } from '../core/flows/runs.ts'
import type { NewJob } from '../core/jobs/job.ts'
import { LIMITS } from '../core/limits.ts'
import { assertName } from '../core/names.ts'
import { assertOptions, optionKeys } from '../core/options.ts'
import { Sweeper } from '../maintenance/flow-sweeper.ts'
import { OverdueJobs } from '../maintenance/overdue.ts'
import { Scheduler } from '../maintenance/scheduler.ts'
import { Meter } from '../metrics/counters.ts'
import { ErrorBook } from '../metrics/error-groups.ts'
import { History } from '../metrics/history.ts'
import type { Notifier } from '../notifier/notifier.ts'
import { localNotifier } from '../notifiers/local/notifier.ts'
import { Emitter } from '../runtime/emitter.ts'
import type { Instrumentation } from '../runtime/instrumentation.ts'
import { consoleLogger, harmless, type Logger } from '../runtime/logger.ts'
import { type Runtime, systemRuntime } from '../runtime/runtime.ts'
import { atMost, LONGEST_RETRY_MS } from '../runtime/supervise.ts'
import type { RecordStore } from '../store/records.ts'
import type { Durability, InsertResult, Store } from '../store/store.ts'
import { assertEvent } from '../worker/event-names.ts'
import type { WorkerEvents } from '../worker/events.ts'
import { Noter } from '../worker/log-writer.ts'
import { assertWhole, type WorkerOptions } from '../worker/options.ts'
import { countInserted } from '../worker/settler.ts'
import { assertParts } from './assert-parts.ts'
import { Bulk } from './bulk/bulk.ts'
import { BulkBook } from './bulk/record.ts'
import { CallsUnderWay } from './calls-under-way.ts'
import type { ClientEnv } from './client-env.ts'
import { type DoctorReport, examine } from './doctor.ts'
import { Enqueuer } from './enqueue/batcher.ts'
import { type EnqueueOptions, makePrepare } from './enqueue/enqueue.ts'
import type { EnqueueManyOptions } from './enqueue/enqueue-many.ts'
import { Producer } from './enqueue/producer.ts'
import { LaterHints } from './enqueue/transaction.ts'
import { ErrorGroups } from './error-groups.ts'
import { Outlines } from './flows/definitions.ts'
import type { Flow } from './flows/flow.ts'
import { flowMaker } from './flows/flow-handlers.ts'
import { type RunHandle, Runs, type StartOptions } from './flows/runs.ts'
import { Groups } from './groups/groups.ts'
import type { JobHandle } from './jobs/handle.ts'
import { Jobs } from './jobs/jobs.ts'
import { listSpaces, type SpaceView } from './jobs/list.ts'
import { buriedListener, logFailures } from './jobs/log-failures.ts'
import { type Awaiting, awaitingGroups, awaitingJobs, awaitingRuns, type Results } from './jobs/results.ts'
import { Metrics } from './metrics.ts'
import { NotifierAccess } from './notifier-access.ts'
import { programVersion } from './program-version.ts'
import { Limits } from './queues/limits.ts'
import type { Handler, Queue } from './queues/queue.ts'
import { Queues } from './queues/queues.ts'
import { workersHere } from './queues/recall.ts'
import { readyRecords } from './records.ts'
import { patientStore } from './retry-calls.ts'
import { harmlessNotifier } from './safe-notifier.ts'
import { Declarations } from './schedules/declarations.ts'
import { Schedules } from './schedules/schedules.ts'
import { Opening } from './store-readiness.ts'
import { type AnsweringStore, answeringStore } from './with-timeouts.ts'
import { type StartWorkerEnv, startRelay, startWorker } from './workers/start-worker.ts'
import type { Worker } from './workers/worker.ts'
import { Workers } from './workers/workers.ts'

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
  /** Reads and changes jobs. */
  readonly jobs: Jobs
  /** Counts, explains, pauses and drains queues. */
  readonly queues: Queues
  /** Limits at run time. */
  readonly limits: Limits
  /** The workers of all processes. */
  readonly workers: Workers
  /** What makes jobs by cron or interval. */
  readonly schedules: Schedules
  /** Runs of flows, and the flows that are known. */
  readonly runs: Runs
  /** Groups of jobs, chains, and what is made of them. */
  readonly groups: Groups
  /** One action on all jobs that match a query, in the background. */
  readonly bulk: Bulk
  /** Throughput and latency, now and over time. */
  readonly metrics: Metrics
  /** Failures, grouped by cause. */
  readonly errors: ErrorGroups
  /** Small documents beside the jobs, such as access tokens and saved views. Use kinds of your own, see {@link RecordStore}. */
  readonly records: RecordStore
  /** The notifier: its health, its hints, its dead notices. */
  readonly notifier: NotifierAccess
  readonly #options: SkepOptions
  readonly #env: ClientEnv & { readonly store: AnsweringStore }
  readonly #isLocal: boolean
  readonly #opening: Opening
  readonly #producer: Producer
  readonly #enqueuer: Enqueuer
  readonly #laterHints: LaterHints
  readonly #history: History | null
  readonly #results: Results
  readonly #awaitingRuns: Awaiting<Run>
  readonly #awaitingGroups: Awaiting<Group>
  readonly #workerEnv: StartWorkerEnv
  readonly #calls = new CallsUnderWay()
  readonly #running = new Set<Pick<Worker, 'id' | 'stop'>>()
  /** Ends every wait on close. */
  readonly #end = new AbortController()
  #closing: Promise<void> | null = null
  #closed = false

  constructor(options: SkepOptions) {
    assertOptions(KEYS, options)
    assertParts(options)
    const { store: given, space = 'default', payloadBytes = LIMITS.payloadBytes, telemetry = null } = options
    // Only a logger that was left out is replaced: null is refused.
    const { logger: givenLogger = consoleLogger } = options
    assertName('Space', space)
    assertWhole('payloadBytes', payloadBytes, 1, LIMITS.payloadBytesMax)
    this.space = space
    this.#options = options

    const runtime = options.runtime ?? systemRuntime()
    const logger = harmless(givenLogger)
    const patienceMs = toMs('enqueueTimeout', options.enqueueTimeout ?? '10s')
    const storeMs = toMs('storeTimeout', options.storeTimeout ?? '60s')
    const store = answeringStore(given, { runtime, callMs: storeMs, insertMs: patienceMs })
    this.#isLocal = !options.notifier && !store.notifier
    const others = join(given)
    if (this.#isLocal) others.local ??= localNotifier({ runtime })
    const own = options.notifier ?? store.notifier?.() ?? (others.local as Notifier)
    const notifier = harmlessNotifier(own, logger)
    const events = new Emitter<WorkerEvents>(logger)
    logFailures(events, logger, runtime)
    this.#opening = new Opening({ store, runtime, logger, patienceMs })
    const env: ClientEnv & { readonly store: AnsweringStore } = {
      space,
      store,
      patient: patientStore(store, { runtime, patienceMs, isClosed: () => this.#closed }),
      patienceMs,
      notifier,
      runtime,
      logger,
      events,
      payloadBytes,
      prepare: makePrepare({
        space,
        runtime,
        payloadBytes,
        ...(telemetry === null ? {} : { headers: () => telemetry.headers() }),
      }),
      workers: workersHere(given),
      closed: this.#end.signal,
      ready: () => this.ready(),
      readyToWrite: () => this.#readyToWrite(),
    }
    this.#env = env

    const meter = new Meter()
    const onFirst = (): void => this.#history?.wake()
    const book = new ErrorBook({ ...env, onFirst, onNews: () => this.#history?.hurry() })
    this.#history =
      options.history === false ? null : new History({ ...env, meter, also: () => book.flush() })
    const flush = async (): Promise<void> => this.#history?.flush()
    this.metrics = new Metrics({ ...env, meter, flush })
    this.errors = new ErrorGroups({ ...env, flush })

    this.#results = awaitingJobs(env)
    this.#awaitingRuns = awaitingRuns(env)
    this.#awaitingGroups = awaitingGroups(env)
    this.jobs = new Jobs({
      ...env,
      results: this.#results,
      insert: (job) => this.#producer.insertOne(job),
    })
    this.#laterHints = new LaterHints(notifier, runtime)
    const onInserted = (jobs: readonly NewJob[], results: readonly InsertResult[]): void =>
      countInserted(meter, jobs, results)
    const tellsEarly = options.notifier === undefined && store.capabilities.tellsInOrder === true
    this.#enqueuer = new Enqueuer({ ...env, timeoutMs: patienceMs, tellsEarly, onInserted })
    const inserting = { ...env, enqueuer: this.#enqueuer, laterHints: this.#laterHints, calls: this.#calls }
    this.#producer = new Producer({
      ...inserting,
      telemetry,
      origin: { jobs: this.jobs, ready: env.ready, results: this.#results, discards: false },
      isReady: () => this.#opening.isReady && !this.#closed,
      onInserted,
    })

    const outlines = new Outlines(env)
    const maker = flowMaker(env)
    this.groups = new Groups({ ...inserting, awaitingGroups: this.#awaitingGroups, results: this.#results })
    this.runs = new Runs({ ...inserting, outlines, maker, awaiting: this.#awaitingRuns })
    this.queues = new Queues(env)
    this.limits = new Limits(env)
    this.workers = new Workers({ ...env, relay: (relayOptions) => this.#relay(relayOptions) })
    this.bulk = new Bulk({
      ...env,
      book: new BulkBook(store, space),
      patientBook: new BulkBook(env.patient, space),
      onBuried: buriedListener(env, events),
    })
    this.records = readyRecords(store, env)
    this.notifier = new NotifierAccess(notifier, space, () => this.#assertOpen())

    const declarations = new Declarations(env)
    this.schedules = new Schedules(
      {
        ...env,
        wakeWorkers: () => {
          if (this.#running.size > 0) notifier.publish([{ kind: 'schedules', space }])
        },
        insert: (job) => this.#producer.insertOne(job),
      },
      declarations,
    )
    const scheduler = new Scheduler({
      ...env,
      makers: () => declarations.makers,
      sync: () => declarations.syncPending(),
      onFired: (queue, jobs) => meter.of(queue).enqueued(jobs),
    })
    this.#workerEnv = {
      ...env,
      noter: new Noter(env),
      meter,
      errors: this.#history === null ? { add: () => {} } : book,
      telemetry,
      version: programVersion(options.version),
      outlines,
      duties: [scheduler, new Sweeper({ ...env, maker }), this.bulk.runner, new OverdueJobs(env)],
      onStopped: (worker) => this.#stopped(worker),
    }
  }

  /**
   * Checks the store: its schema, and how durable an acknowledged job is. Every call does this once; call it at start-up to
   * fail early.
   */
  async ready(): Promise<Durability> {
    if (this.#closed) throw closedError()
    return this.#opening.isReady ? this.#opening.ready() : this.#calls.unlessClosed(this.#opening.ready())
  }

  /** Like {@link ready}, but keeps trying for the enqueue timeout. */
  async #readyToWrite(): Promise<void> {
    if (this.#closed) throw closedError()
    if (!this.#opening.isReady) await this.#calls.unlessClosed(this.#opening.readyToWrite())
  }

  #assertOpen(): void {
    if (this.#closing) throw closedError()
  }

  /** Brings the store's schema up to date. Returns the migrations it applied. */
  migrate(): Promise<{ readonly applied: readonly string[] }> {
    return this.#env.store.migrate()
  }

  /** Another space of the same store, with the same settings. Close it like any other: the last one closes the store. */
  inSpace(space: string): Skep {
    this.#assertOpen()
    return new Skep({ ...this.#options, space })
  }

  /**
   * All spaces of the store that have jobs, not only this one, with their number; the cost does not grow with the number of jobs.
   */
  async spaces(): Promise<readonly SpaceView[]> {
    await this.ready()
    return listSpaces(this.#env.store, this.space)
  }

  /** Checks the store, the notifier, the workers and the queues for problems. Changes nothing. */
  async doctor(): Promise<DoctorReport> {
    const durability = await this.ready()
    return examine({ ...this.#env, isLocal: this.#isLocal }, durability)
  }

  /**
   * Enqueues a job. When the promise resolves the job is stored, durably, and will run; if it rejects with any code but
   * `STORE_UNKNOWN` it is not stored. With `tx` it is stored when your transaction commits.
   */
  async enqueue<Input, Result, Output>(
    queue: Queue<Input, Result, Output>,
    // Input is inferred from the queue alone: otherwise an excess property would widen the type instead of failing.
    payload: NoInfer<Input>,
    options: EnqueueOptions = {},
  ): Promise<JobHandle<Result>> {
    return this.#producer.enqueue(queue, payload, options)
  }

  /**
   * Enqueues many jobs, all or none. Items are payloads, or payloads with options of their own. An invalid item is named by its
   * index (`BATCH_ITEM_INVALID`), and nothing is written.
   */
  async enqueueMany<Input, Result, Output>(
    queue: Queue<Input, Result, Output>,
    items: readonly NoInfer<Input>[],
    options: EnqueueManyOptions<NoInfer<Input>> = {},
  ): Promise<JobHandle<Result>[]> {
    return this.#producer.enqueueMany(queue, items, options)
  }

  /**
   * Starts a run of a flow. When the promise resolves the run is stored with all its first jobs and will continue; if it rejects
   * with any code but `STORE_UNKNOWN` nothing is stored.
   */
  start<Input, Result>(
    flow: Flow<Input, Result>,
    input: NoInfer<Input>,
    options: StartOptions = {},
  ): Promise<RunHandle<Result>> {
    return this.runs.start(flow, input, options)
  }

  /** Starts a worker for these handlers and for runs of these flows. It runs until `stop()`, through every outage of the store. */
  worker(work: readonly (Handler | Flow<never, unknown>)[], options: WorkerOptions = {}): Worker {
    this.#assertOpen()
    return this.#started(startWorker(this.#workerEnv, work, options))
  }

  #relay: Workers['relay'] = (options) => {
    this.#assertOpen()
    return this.#started(startRelay(this.#workerEnv, options))
  }

  #started<Started extends Pick<Worker, 'id' | 'stop' | 'recall'>>(worker: Started): Started {
    this.#running.add(worker)
    workersHere(this.#options.store).set(worker.id, worker)
    return worker
  }

  async #stopped(worker: Pick<Worker, 'id' | 'stop'>): Promise<void> {
    this.#running.delete(worker)
    workersHere(this.#options.store).delete(worker.id)
    // A program ends when its workers have stopped.
    if (this.#running.size === 0) await this.#history?.rest()
  }

  /** Calls `listener` for every event of this kind of this process's workers. A listener never changes a job's outcome. */
  on<Name extends keyof WorkerEvents>(
    name: Name,
    listener: (event: WorkerEvents[Name]) => unknown,
  ): () => void {
    assertEvent(name, listener)
    return this.#env.events.on(name, listener)
  }

  /**
   * Drains and stops the workers, waits for enqueues, starts and groups under way, at most the `enqueueTimeout`, and closes the store
   * with the last Skep that uses it. Calls made afterwards reject with `CLOSED`. A notifier that you passed stays open. Closing
   * twice is fine.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    // Running handlers may need everything else: closing it first would cost their jobs an attempt.
    if (this.#running.size > 0) await Promise.all([...this.#running].map((worker) => worker.stop()))
    this.#calls.refuse(closedError())
    await this.bulk.close()
    const { runtime, patienceMs } = this.#env
    const giveUpAt = runtime.mono() + patienceMs + LONGEST_RETRY_MS
    // Opening a store takes some time, however short the timeout is.
    await atMost(runtime, Math.max(1_000, patienceMs), this.#calls.idle())
    this.#closed = true
    this.#calls.abandon(closedError())
    await this.#enqueuer.close(closedError(), Math.max(0, giveUpAt - runtime.mono()))
    await this.#history?.stop()
    this.#laterHints.flush()
    this.#end.abort(closedError())
    const unanswered = new SkepError('CLOSED', 'This Skep was closed while a result was awaited.')
    this.#results.close(unanswered)
    this.#awaitingRuns.close(unanswered)
    this.#awaitingGroups.close(unanswered)
    const { store: given } = this.#options
    const { store } = this.#env
    const others = shared.get(given) as Shared
    others.users--
    if (others.users === 0) {
      shared.delete(given)
      await others.local?.close()
      await store.close()
    }
    store.giveUp()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

function closedError(): SkepError {
  return new SkepError('CLOSED', 'This Skep is closed. Make a new one with createSkep.')
}
