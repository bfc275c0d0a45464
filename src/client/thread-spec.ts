import { SkepError } from '../core/errors.ts'
import { show } from '../core/names.ts'
import type { LogLevel } from '../core/notes.ts'
import type { HandlerSpec } from '../worker/handler.ts'
import type { Run } from '../worker/run.ts'
import type { ResolvedThreadOptions } from '../worker/threads/options.ts'
import { ThreadPool } from '../worker/threads/pool.ts'
import type { ThreadCall, ThreadQuestion } from '../worker/threads/protocol.ts'
import { inThread } from '../worker/threads/self.ts'
import { callAfterRest, restOf } from './cancel-rest.ts'
import { withOverrides } from './enqueue.ts'
import type { HandlerEnv } from './handlers.ts'
import type { Handler } from './queue.ts'

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
