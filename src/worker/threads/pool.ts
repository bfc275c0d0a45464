import { messageOf, SkepError } from '../../core/errors.ts'
import { show } from '../../core/names.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { retryDelayMs } from '../../runtime/supervise.ts'
import { StopSignal } from '../executor.ts'
import type { Run } from '../runs.ts'
import type { ResolvedThreadOptions } from './options.ts'
import type { ThreadCall, ThreadData, ThreadQuestion } from './protocol.ts'
import { NotBegunError, Thread } from './thread.ts'

/** How long a module may take to be loaded. */
const START_MS = 60_000

export interface ThreadPoolParts {
  readonly runtime: Runtime
  readonly logger: Logger
  readonly data: ThreadData
  readonly options: ResolvedThreadOptions
  /** A handler called a method of its context that only this side can carry out. */
  readonly onCall: (run: Run, method: ThreadCall, values: readonly unknown[]) => void
  /** The same for one that waits for an answer. */
  readonly onQuestion: (run: Run, method: ThreadQuestion, values: readonly unknown[]) => Promise<unknown>
}

interface Waiting {
  readonly run: Run
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * The threads of one handler. They are started when there are jobs for them, kept for the next ones, and have one job
 * at a time. One that died is replaced, and after each death without an answer in between a little later: a module
 * that kills its threads must not take the machine with it.
 */
export class ThreadPool {
  readonly #parts: ThreadPoolParts
  /** All that are not gone, also those that are ending. */
  readonly #threads = new Set<Thread>()
  readonly #waiting: Waiting[] = []
  #stage: 'closed' | 'open' = 'closed'
  /** Who waits for the first thread. */
  #first: { readonly resolve: () => void; readonly reject: (error: unknown) => void } | null = null
  /** Deaths since the last answer. */
  #deaths = 0
  /** Ends the wait before the next thread is started. */
  #pause: (() => void) | null = null

  constructor(parts: ThreadPoolParts) {
    this.#parts = parts
  }

  /** Starts the first thread. Rejects with `THREAD_MODULE_INVALID` if the module is no handler of this queue. */
  async start(): Promise<void> {
    this.#stage = 'open'
    this.#deaths = 0
    const ready = new Promise<void>((resolve, reject) => {
      this.#first = { resolve, reject }
    })
    const stopTimer = this.#parts.runtime.timer(START_MS, () =>
      this.#first?.reject(this.#invalid(`has not called threadHandler within ${START_MS} ms`)),
    )
    this.#open()
    try {
      await ready
    } catch (error) {
      await this.stop()
      throw error
    } finally {
      this.#first = null
      stopTimer()
    }
  }

  /**
   * Has a thread do this job. When the run is aborted its handler is told, and killed if it has not ended after the
   * grace. Rejects with `RunLostError` when the thread ends before the handler does.
   */
  run(run: Run): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const waiting = { run, resolve, reject }
      this.#waiting.push(waiting)
      run.signal.addEventListener('abort', () => this.#leave(waiting), { once: true })
      this.#assign()
    })
  }

  /**
   * Ends all threads. Those with a job end with it: its run has been aborted, so that is soon. Resolves when nothing
   * of them runs any more.
   */
  async stop(): Promise<void> {
    this.#stage = 'closed'
    this.#first?.reject(new Error('The worker stops.'))
    this.#pause?.()
    this.#pause = null
    await Promise.all(
      Array.from(this.#threads, (thread) => (thread.stage === 'busy' ? thread.gone : thread.kill())),
    )
  }

  #leave(waiting: Waiting): void {
    const at = this.#waiting.indexOf(waiting)
    if (at < 0) return
    this.#waiting.splice(at, 1)
    waiting.reject(waiting.run.abortReason)
  }

  /** Gives waiting jobs to idle threads, and starts threads for the others as far as there may be more. */
  #assign(): void {
    while (this.#waiting.length > 0 && this.#stage === 'open') {
      const [idle] = this.#at('idle')
      if (idle) {
        this.#give(idle, this.#waiting.shift() as Waiting)
        continue
      }
      const starting = this.#at('starting').length
      const isFull = starting + this.#at('busy').length >= this.#parts.options.threads
      if (isFull || starting >= this.#waiting.length || this.#pause !== null) return
      this.#open()
    }
  }

  #at(stage: Thread['stage']): Thread[] {
    return [...this.#threads].filter((thread) => thread.stage === stage)
  }

  #give(thread: Thread, waiting: Waiting): void {
    const { run, resolve, reject } = waiting
    const { runtime, options } = this.#parts
    let stopTimer: (() => void) | null = null
    const stop = (): void => {
      const { abortReason: reason } = run
      thread.stop(reason instanceof StopSignal ? reason.kind : 'stop', messageOf(reason))
      // A handler that never awaits does not hear of it.
      stopTimer = runtime.timer(options.graceMs, () => void thread.kill())
    }
    run.signal.addEventListener('abort', stop, { once: true })
    const ended = (): void => {
      run.signal.removeEventListener('abort', stop)
      stopTimer?.()
      if (this.#stage === 'closed') void thread.kill()
    }
    thread.run(run).then(
      (value) => {
        ended()
        resolve(value)
        this.#assign()
      },
      (error: unknown) => {
        ended()
        // It died without having seen the job, so the job has lost nothing.
        const isUnseen = error instanceof NotBegunError && !run.aborted && this.#stage === 'open'
        if (isUnseen) this.#waiting.unshift(waiting)
        else reject(error)
        this.#assign()
      },
    )
  }

  #open(): void {
    const { data, options } = this.#parts
    try {
      const thread = new Thread({
        module: options.module,
        memoryMb: options.memoryMb,
        execArgv: options.execArgv,
        data,
        onCall: (run, method, values) => this.#carryOut(run, method, values),
        onQuestion: async (run, method, values) => this.#parts.onQuestion(run, method, values),
        onReady: () => {
          this.#first?.resolve()
          this.#assign()
        },
        onAnswer: () => {
          this.#deaths = 0
        },
        onGone: () => this.#gone(thread),
      })
      this.#threads.add(thread)
    } catch (error) {
      this.#failed(this.#invalid(`could not be loaded: ${messageOf(error)}`, error))
    }
  }

  #carryOut(run: Run, method: ThreadCall, values: readonly unknown[]): void {
    const { logger, onCall } = this.#parts
    try {
      onCall(run, method, values)
    } catch (error) {
      // Nobody waits for it, and a handler must not be able to end its worker.
      logger.warn(`${method} of job "${run.job.id}" failed: ${messageOf(error)}`)
    }
  }

  #gone(thread: Thread): void {
    this.#threads.delete(thread)
    if (thread.wasKilled) {
      this.#assign()
      return
    }
    const { fault, others, exitCode } = thread
    if (thread.wasReady) {
      this.#failed(new Error(`it has ended by itself: ${fault ? messageOf(fault) : `exit code ${exitCode}`}`))
    } else if (fault) {
      this.#failed(this.#invalid(`could not be loaded: ${messageOf(fault)}`, fault))
    } else if (exitCode !== 0) {
      this.#failed(this.#invalid(`ended its thread with exit code ${exitCode} while it was loaded`))
    } else {
      const instead = others.length === 0 ? '' : `, but for ${others.map(show).join(', ')}`
      this.#failed(this.#invalid(`does not call threadHandler for this queue${instead}`))
    }
  }

  /** A thread died, or did not come to life. The next one comes after a wait that grows. */
  #failed(error: Error): void {
    const { runtime, logger, data } = this.#parts
    if (this.#first !== null) {
      this.#first.reject(error)
      return
    }
    this.#deaths++
    logger.warn(`A thread of queue ${show(data.queue)} is replaced: ${error.message}`)
    if (this.#stage === 'closed') return
    this.#pause?.()
    this.#pause = runtime.timer(
      retryDelayMs(this.#deaths, runtime.random()),
      () => {
        this.#pause = null
        this.#assign()
      },
      { background: true },
    )
  }

  #invalid(problem: string, cause?: unknown): SkepError {
    const { data, options } = this.#parts
    const module = String(options.module)
    const advice = isAboutTypeScript(cause)
      ? 'Threads read TypeScript only if Node does: run "npm install -D jiti" and pass ' +
        "{ execArgv: ['--import', 'jiti/register'] } to handleInThreads, or name the compiled file."
      : 'Name the file in which threadHandler is called with this queue, as it is when the program runs.'
    return new SkepError(
      'THREAD_MODULE_INVALID',
      `The handler module "${module}" of queue ${show(data.queue)} ${problem}. ${advice}`,
      { ...(cause === undefined ? {} : { cause }), facts: { queue: data.queue, module } },
    )
  }
}

/** Whether the module, or one that it imports, is TypeScript of a kind that this Node cannot read, and jiti can. */
function isAboutTypeScript(cause: unknown): boolean {
  const { code, message = '' } = (cause ?? {}) as { readonly code?: unknown; readonly message?: string }
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION') return /\.[cm]?tsx?"/.test(message)
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX' || code === 'ERR_INVALID_TYPESCRIPT_SYNTAX') return true
  // It wants file endings in imports. A file that is missing itself is named by its whole path.
  const isImport = code === 'ERR_MODULE_NOT_FOUND' || code === 'ERR_UNSUPPORTED_DIR_IMPORT'
  return isImport && /imported from .*\.[cm]?tsx?$/m.test(message)
}
