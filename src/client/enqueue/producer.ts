import type { NewJob } from '../../core/jobs/job.ts'
import type { Instrumentation } from '../../runtime/instrumentation.ts'
import type { InsertResult } from '../../store/store.ts'
import type { CallsUnderWay } from '../calls-under-way.ts'
import type { ClientEnv } from '../client-env.ts'
import { type HandleOrigin, JobHandle } from '../jobs/handle.ts'
import type { Queue } from '../queues/queue.ts'
import type { Enqueuer } from './batcher.ts'
import type { EnqueueOptions } from './enqueue.ts'
import { type EnqueueManyOptions, prepareMany } from './enqueue-many.ts'
import { type LaterHints, transactionOf } from './transaction.ts'

export interface ProducerEnv extends ClientEnv {
  readonly enqueuer: Enqueuer
  readonly calls: CallsUnderWay
  readonly laterHints: LaterHints
  readonly telemetry: Instrumentation | null
  readonly origin: HandleOrigin
  /** Whether the store was checked and the client is open: then a call need not wait for it. */
  readonly isReady: () => boolean
  readonly onInserted: (jobs: readonly NewJob[], results: readonly InsertResult[]) => void
}

/** Turns payloads into jobs and inserts them: in shared batches, or in the caller's transaction. */
export class Producer {
  readonly #env: ProducerEnv
  /** For queues that discard finished jobs, so that there is no result to wait for. */
  readonly #discarding: HandleOrigin

  constructor(env: ProducerEnv) {
    this.#env = env
    this.#discarding = { ...env.origin, discards: true }
  }

  async enqueue<Input, Result, Output>(
    queue: Queue<Input, Result, Output>,
    payload: Input,
    options: EnqueueOptions,
  ): Promise<JobHandle<Result>> {
    const { telemetry, calls } = this.#env
    calls.begin()
    try {
      if (telemetry === null) return await this.#enqueueOne(queue, payload, options)
      return await telemetry.send(queue.name, (made) => this.#enqueueOne(queue, payload, options, made))
    } finally {
      calls.end()
    }
  }

  async #enqueueOne<Input, Result, Output>(
    queue: Queue<Input, Result, Output>,
    payload: Input,
    options: EnqueueOptions,
    made?: (jobs: readonly NewJob[]) => void,
  ): Promise<JobHandle<Result>> {
    // First, so that the payload is what it was at the call, even if the caller changes the object while the store opens.
    const prepared = this.#env.prepare(queue, payload, options)
    const job = prepared instanceof Promise ? await this.#env.calls.unlessClosed(prepared) : prepared
    made?.([job])
    if (!this.#env.isReady()) await this.#env.readyToWrite()
    const hasId = options.id !== undefined
    const [result] =
      options.tx === undefined
        ? await this.#env.enqueuer.insert([job], hasId)
        : await this.#insertWithin(options.tx, [job], hasId)
    return this.#handle(queue, job, result as InsertResult, hasId)
  }

  async enqueueMany<Input, Result, Output>(
    queue: Queue<Input, Result, Output>,
    items: readonly Input[],
    options: EnqueueManyOptions<Input>,
  ): Promise<JobHandle<Result>[]> {
    const { telemetry, calls } = this.#env
    calls.begin()
    try {
      if (telemetry === null) return await this.#enqueueAll(queue, items, options)
      return await telemetry.send(queue.name, (made) => this.#enqueueAll(queue, items, options, made))
    } finally {
      calls.end()
    }
  }

  async #enqueueAll<Input, Result, Output>(
    queue: Queue<Input, Result, Output>,
    items: readonly Input[],
    options: EnqueueManyOptions<Input>,
    made?: (jobs: readonly NewJob[]) => void,
  ): Promise<JobHandle<Result>[]> {
    const { tx } = options
    const preparing = prepareMany(this.#env.prepare, queue, items, options)
    const { jobs, chosen } = await this.#env.calls.unlessClosed(preparing)
    made?.(jobs)
    if (!this.#env.isReady()) await this.#env.readyToWrite()
    if (jobs.length === 0) return []
    const again = chosen !== null
    const results =
      tx === undefined
        ? await this.#env.enqueuer.insert(jobs, again)
        : await this.#insertWithin(tx, jobs, again)
    return jobs.map((job, index) =>
      this.#handle(queue, job, results[index] as InsertResult, chosen?.has(job.id) ?? false),
    )
  }

  /** Inserts one job that was prepared elsewhere: a copy, or the job of a schedule. */
  async insertOne(job: NewJob): Promise<JobHandle<unknown>> {
    const [result] = await this.#env.enqueuer.insert([job], false)
    const duplicate = result?.status === 'duplicate'
    return new JobHandle(this.#env.origin, duplicate ? result.id : job.id, duplicate)
  }

  async #insertWithin(
    tx: unknown,
    jobs: readonly NewJob[],
    again: boolean,
  ): Promise<readonly InsertResult[]> {
    const { store, laterHints, onInserted, isReady, readyToWrite } = this.#env
    // Rejects if the client was closed meanwhile.
    if (!isReady()) await readyToWrite()
    const { results } = await transactionOf(store, tx).insert({ jobs, again })
    laterHints.tellOf(jobs, results)
    // Counted although the transaction may still roll back: its end is not visible from here.
    onInserted(jobs, results)
    return results
  }

  #handle<Input, Result, Output>(
    queue: Queue<Input, Result, Output>,
    job: NewJob,
    result: InsertResult,
    isChosen: boolean,
  ): JobHandle<Result> {
    // An id that was made for this call is known only if an earlier attempt of the insert had happened.
    const duplicate = result.status === 'duplicate' || (isChosen && result.known === true)
    const discards = queue.policy.onSuccess.end === 'discard' && !job.overrides?.includes('"keepMs"')
    const origin = discards ? this.#discarding : this.#env.origin
    return new JobHandle(origin, result.status === 'duplicate' ? result.id : job.id, duplicate)
  }
}
