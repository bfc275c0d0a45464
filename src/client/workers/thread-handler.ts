import { type MessagePort, parentPort } from 'node:worker_threads'
import { SkepError } from '../../core/errors.ts'
import { type LogLevel, lineOf, noteText } from '../../core/jobs/job-log.ts'
import { LIMITS } from '../../core/limits.ts'
import { show } from '../../core/names.ts'
import { systemRuntime } from '../../runtime/runtime.ts'
import { StopSignal } from '../../worker/executor.ts'
import type { HandlerSpec } from '../../worker/handler.ts'
import { Run } from '../../worker/runs.ts'
import type { ResolvedThreadOptions } from '../../worker/threads/options.ts'
import { ThreadPool } from '../../worker/threads/pool.ts'
import {
  type FromThread,
  packAnswer,
  packThrown,
  type ThreadAnswer,
  type ThreadCall,
  type ThreadData,
  type ThreadQuestion,
  type ToThread,
  unpackAnswer,
} from '../../worker/threads/protocol.ts'
import { inThread, threadData } from '../../worker/threads/self.ts'
import { makePrepare, withOverrides } from '../enqueue/enqueue.ts'
import { callAfterRest, restOf } from '../groups/insert-with-groups.ts'
import type { ContextTools, HandlerFunction } from '../queues/handler-context.ts'
import { callOne, type HandlerEnv, resultEncoder } from '../queues/handlers.ts'
import { sharesLimit } from '../queues/lane-options.ts'
import type { Handler, Queue, ThreadHandler } from '../queues/queue.ts'

/**
 * Makes a handler for threads. Call it in a file of its own and export what it returns; `queue.handleInThreads` starts
 * threads with that file. In such a thread the call also begins to take jobs. Everywhere else it does nothing, so the
 * file can be imported like any other.
 *
 * The handler gets what every handler gets, except that `complete` refuses: a transaction cannot cross into a thread.
 */
export function threadHandler<Input, Result, Output>(
  queue: Queue<Input, Result, Output>,
  run: HandlerFunction<NoInfer<Output>, NoInfer<Result>>,
): ThreadHandler<Output, Result> {
  const data = threadData()
  if (data !== null && parentPort !== null) {
    serve(queue as unknown as Queue, run as HandlerFunction<unknown, unknown>, data, parentPort)
  }
  return Object.freeze({ queue: queue.name, run })
}

/** The queues with a handler in this thread. */
const served = new Set<string>()

function serve(
  queue: Queue,
  handler: HandlerFunction<unknown, unknown>,
  data: ThreadData,
  port: MessagePort,
): void {
  const say = (message: FromThread): void => port.postMessage(message)
  if (queue.name !== data.queue) {
    say({ said: 'other', queue: queue.name })
    return
  }
  if (served.has(queue.name)) {
    throw new SkepError(
      'QUEUE_DUPLICATE',
      `threadHandler is called twice for queue ${show(queue.name)}. Keep one.`,
    )
  }
  served.add(queue.name)

  let current: { readonly number: number; readonly run: Run } | null = null
  const runtime = systemRuntime()
  const tell = (method: ThreadCall, values: readonly unknown[]): void => {
    if (current !== null) say({ said: 'call', run: current.number, method, values })
  }
  const questions = new Map<number, (answer: ThreadAnswer) => void>()
  let asked = 0
  const ask = async (method: ThreadQuestion, values: readonly unknown[]): Promise<unknown> => {
    // A handler that goes on after its run has nobody to ask.
    if (current === null)
      throw new SkepError('LEASE_LOST', 'The job has ended, so nothing can be asked for it.')
    const question = ++asked
    const { number } = current
    const answer = await new Promise<ThreadAnswer>((resolve) => {
      questions.set(question, resolve)
      say({ said: 'ask', run: number, question, method, values })
    })
    const text = unpackAnswer(answer)
    return JSON.parse(text as string)
  }
  const encodeResult = resultEncoder(data.payloadBytes)
  const tools: ContextTools = {
    within: refuseTransaction,
    // As texts: what a handler passes may not survive the way.
    noter: {
      progress: (_, value, note) =>
        tell('progress', [
          typeof value === 'number' ? value : null,
          note == null ? null : noteText(note, LIMITS.progressNoteBytes),
        ]),
      line: (_, level, message, fields) => {
        const line = lineOf(message, fields)
        tell('line', [level, line.text, line.fields])
      },
    },
    prepare: makePrepare({ ...data, runtime }),
    runtime,
    resultsOf: (group) => ask('results', [group]) as ReturnType<ContextTools['resultsOf']>,
    encodeResult,
  }
  const spec: HandlerSpec = {
    space: data.space,
    queue: queue.name,
    concurrency: 1,
    batch: 1,
    policyOf: (job) => withOverrides(queue.policy, job.overrides),
    encodeResult,
    call: ([run]) => callOne(queue, handler, run as Run, tools),
  }
  async function answerOf(run: Run): Promise<ThreadAnswer> {
    try {
      return packAnswer(await spec.call([run]), encodeResult)
    } catch (thrown) {
      return packThrown(thrown)
    }
  }

  async function take({ run: number, job, deadline }: Extract<ToThread, { said: 'run' }>): Promise<void> {
    // The lease is kept in the worker; here it is as good as endless.
    const run = new Run(job, spec, Infinity, runtime.mono())
    run.stage = 'running'
    run.deadline = deadline
    current = { number, run }
    say({ said: 'begun', run: number })
    const answer = await answerOf(run)
    run.stage = 'over'
    current = null
    say({ said: 'answer', run: number, answer, enqueued: run.enqueued ?? [], groups: run.groups ?? [] })
  }

  port.on('message', (message: ToThread) => {
    if (message.said === 'run') void take(message)
    else if (message.said === 'reply') {
      questions.get(message.question)?.(message.answer)
      questions.delete(message.question)
    } else if (current?.number === message.run)
      current.run.abort(new StopSignal(message.kind, message.message))
  })
  // Not before the rest of the file has run: what it throws there must be seen as a module that cannot be loaded.
  runtime.defer(() => say({ said: 'ready' }))
}

function refuseTransaction(): never {
  throw new SkepError(
    'TX_UNSUPPORTED',
    'complete() saves the job in your transaction, and a transaction cannot cross into a thread. Return the result, or ' +
      'let a handler outside of threads do this part.',
  )
}

/** What a worker runs for a handler in threads. */
export function threadSpec(handler: Handler, options: ResolvedThreadOptions, env: HandlerEnv): HandlerSpec {
  const { name, concurrencyPerWorker, policy } = handler.queue
  if (inThread()) {
    throw new SkepError(
      'THREAD_MODULE_INVALID',
      `A thread of a worker starts a worker with threads for queue ${show(name)}. If the program's own file is the ` +
        'handler module, start workers only where inThread() is false.',
      { facts: { queue: name } },
    )
  }
  const callsOf = calls(env.noter)
  const questionsOf = questions(env)
  const pool = new ThreadPool({
    runtime: env.runtime,
    logger: env.logger,
    data: { space: env.space, queue: name, payloadBytes: env.payloadBytes },
    options,
    onCall: (run, method, values) => callsOf[method](run, values),
    onQuestion: (run, method, values) => questionsOf[method](run, values),
  })
  return {
    space: env.space,
    queue: name,
    // A job is claimed only when a thread is free for it.
    concurrency: Math.min(concurrencyPerWorker, options.threads),
    sharesLimit: sharesLimit(handler.queue),
    batch: 1,
    policyOf: (job) => withOverrides(policy, job.overrides),
    // The thread has written the text already, as it has read the payload.
    encodeResult: (value) => value as string | null,
    call: (runs) => {
      const run = runs[0] as Run
      return restOf(run) === null ? pool.run(run) : callAfterRest(env, run, () => pool.run(run))
    },
    start: () => pool.start(),
    stop: () => pool.stop(),
  }
}

/** What a handler in a thread asks of its worker: methods of the context that need the store. */
function calls(noter: HandlerEnv['noter']): Readonly<Record<ThreadCall, Call>> {
  return {
    progress: (run, [value, note]) => noter.progress(run, value, note),
    line: (run, [level, text, fields]) =>
      noter.line(run, level as LogLevel, text, fields === null ? undefined : JSON.parse(fields as string)),
  }
}

type Call = (run: Run, values: readonly unknown[]) => void

/** The same for those that give something. */
function questions({ results }: HandlerEnv): Readonly<Record<ThreadQuestion, Question>> {
  return { results: (_run, [group]) => results.of(group as string) }
}

type Question = (run: Run, values: readonly unknown[]) => Promise<unknown>
