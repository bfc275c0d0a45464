import { messageOf, SkepError } from '../../core/errors.ts'
import { encodeJson } from '../../core/json/payload.ts'
import { show } from '../../core/names.ts'
import type { Notifier } from '../../notifier/notifier.ts'
import type { Instrumentation, ProcessedJob } from '../../runtime/instrumentation.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Store } from '../../store/store.ts'
import { readValue } from '../../worker/events.ts'
import { batchAnswers, type HandlerSpec, isInstruction } from '../../worker/handler.ts'
import type { Noter } from '../../worker/log-writer.ts'
import type { Run } from '../../worker/runs.ts'
import { type Prepare, withOverrides } from '../enqueue/enqueue.ts'
import { transactionOf } from '../enqueue/transaction.ts'
import { callAfterRest, cancelRest, type RestEnv, restOf } from '../groups/insert-with-groups.ts'
import type { ResultReader } from '../jobs/results.ts'
import { threadSpec } from '../workers/thread-handler.ts'
import {
  type BatchHandlerFunction,
  type ContextTools,
  type HandlerFunction,
  JobContext,
} from './handler-context.ts'
import { sharesLimit } from './lane-options.ts'
import type { Handler, Queue } from './queue.ts'

/** What handlers of a Skep have in common. */
export interface HandlerEnv {
  readonly space: string
  readonly store: Store
  readonly notifier: Notifier
  readonly runtime: Runtime
  readonly logger: Logger
  readonly noter: Noter
  readonly results: Pick<ResultReader, 'of'>
  readonly prepare: Prepare
  readonly payloadBytes: number
}

/** Turns a user's handler into what a worker runs: it reads payloads, makes contexts and checks results. */
export function toSpec(handler: Handler, env: HandlerEnv): HandlerSpec {
  if (handler.threads) return threadSpec(handler, handler.threads, env)
  const queue = handler.queue as unknown as Queue
  const encodeResult = resultEncoder(env.payloadBytes)
  const within: ContextTools['within'] = (tx) => transactionOf(env.store, tx)
  const { noter, prepare, runtime, results } = env
  const resultsOf: ContextTools['resultsOf'] = (group) => results.of(group)
  const tools: ContextTools = { within, noter, prepare, runtime, resultsOf, encodeResult }
  const single = handler.run as HandlerFunction<unknown, unknown>
  const many = handler.run as BatchHandlerFunction<unknown, unknown>

  return {
    space: env.space,
    queue: queue.name,
    concurrency: queue.concurrencyPerWorker,
    sharesLimit: sharesLimit(queue),
    batch: handler.batch,
    policyOf: (job) => withOverrides(queue.policy, job.overrides),
    encodeResult,
    call: (runs) => {
      if (handler.batch > 1) return callMany(queue, many, runs, tools, env)
      const run = runs[0] as Run
      const call = (): unknown => callOne(queue, single, run, tools)
      return restOf(run) === null ? call() : callAfterRest(env, run, call)
    },
  }
}

/** Makes JSON text of what handlers return. */
export function resultEncoder(payloadBytes: number): (value: unknown) => string | null {
  return (value) => (value === undefined ? null : encodeJson('result', plain(value), payloadBytes))
}

/** Returning is success, also of an error: what JSON can hold of it is kept. */
function plain(value: unknown): unknown {
  return value instanceof Error ? { name: value.name, message: value.message } : value
}

/** Calls the handler of a single job. */
export function callOne(
  queue: Queue,
  run: HandlerFunction<unknown, unknown>,
  one: Run,
  tools: ContextTools,
): unknown {
  const payload = queue.read(parse(one))
  const answer =
    payload instanceof Promise
      ? payload.then((read) => run(new JobContext(one, read, tools)))
      : run(new JobContext(one, payload, tools))
  const { checkResult } = queue
  return checkResult === null ? answer : checked(checkResult, answer)
}

async function checked(check: (result: unknown) => void | Promise<void>, answer: unknown): Promise<unknown> {
  const value = await answer
  const checking = isInstruction(value) ? undefined : check(value)
  // Without a turn in between: the result is what it is when the handler has returned.
  if (checking instanceof Promise) await checking
  return value
}

/** A job whose payload cannot be read, or that has to wait, has its answer: the others of the batch go on without it. */
async function callMany(
  queue: Queue,
  run: BatchHandlerFunction<unknown, unknown>,
  runs: readonly Run[],
  tools: ContextTools,
  env: RestEnv,
): Promise<unknown> {
  const read = await Promise.all(
    runs.map(async (one) => {
      try {
        const wait = restOf(one) === null ? null : await cancelRest(env, one)
        if (isInstruction(wait)) return wait
        return new JobContext(one, await queue.read(parse(one)), tools)
      } catch (error) {
        return asError(error)
      }
    }),
  )
  const contexts = read.filter((context) => context instanceof JobContext)
  if (contexts.length === 0) return read
  const answers = await answersOf(queue, run, contexts)
  let next = 0
  return read.map((context) => (context instanceof JobContext ? answers[next++] : context))
}

/** The handler's answer for each job. What goes wrong as a whole is the answer for each. */
async function answersOf(
  queue: Queue,
  run: BatchHandlerFunction<unknown, unknown>,
  contexts: readonly JobContext[],
): Promise<readonly unknown[]> {
  const { checkResult } = queue
  try {
    const answers = batchAnswers(queue.name, contexts.length, await run(contexts))
    if (answers instanceof Error) throw answers
    if (checkResult === null) return answers
    const isResult = (answer: unknown): boolean => !(answer instanceof Error)
    return await Promise.all(
      answers.map((answer) => (isResult(answer) ? checked(checkResult, answer).catch(asError) : answer)),
    )
  } catch (error) {
    const failure = asError(error)
    return contexts.map(() => failure)
  }
}

/** In a batch only an Error says that a job failed. */
function asError(thrown: unknown): Error {
  try {
    return thrown instanceof Error ? thrown : new Error(messageOf(thrown))
  } catch {
    return new Error('The handler threw something that cannot be read.')
  }
}

function parse(run: Run): unknown {
  const { id, queue, payload } = run.job
  try {
    return JSON.parse(payload)
  } catch (cause) {
    throw new SkepError(
      'PAYLOAD_UNREADABLE',
      `The payload of job "${id}" in queue ${show(queue)} is not JSON. It is kept as it is; correct it and retry the job.`,
      { cause, facts: { id, poison: true } },
    )
  }
}

/** The same handler, followed by a tracer. */
export function instrumentedSpec(
  spec: HandlerSpec,
  telemetry: Instrumentation,
  workerId: () => string,
): HandlerSpec {
  const { queue, batch } = spec
  return {
    ...spec,
    call: (runs) =>
      telemetry.process(
        { queue, workerId: workerId(), isBatch: batch > 1, jobs: runs.map(processedJob) },
        () => spec.call(runs),
      ),
  }
}

function processedJob({ job }: Run): ProcessedJob {
  const headers = job.headers === null ? {} : readValue(job.headers)
  return {
    id: job.id,
    headers: typeof headers === 'object' && headers !== null ? (headers as Record<string, string>) : {},
    attempt: job.starts,
    payloadBytes: Buffer.byteLength(job.payload),
  }
}
