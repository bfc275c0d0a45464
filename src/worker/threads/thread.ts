import { Worker } from 'node:worker_threads'
import { messageOf } from '../../core/errors.ts'
import { RunLostError } from '../handler.ts'
import type { Run } from '../runs.ts'
import {
  type FromThread,
  packAnswer,
  packThrown,
  THREAD_KEY,
  type ThreadAnswer,
  type ThreadCall,
  type ThreadData,
  type ThreadQuestion,
  type ToThread,
  unpackAnswer,
} from './protocol.ts'

export interface ThreadParts {
  readonly module: URL | string
  readonly data: ThreadData
  readonly memoryMb: number | null
  readonly execArgv: readonly string[] | null
  /** The handler called a method of its context that only this side can carry out. */
  readonly onCall: (run: Run, method: ThreadCall, values: readonly unknown[]) => void
  /** The same for one that waits for an answer. */
  readonly onQuestion: (run: Run, method: ThreadQuestion, values: readonly unknown[]) => Promise<unknown>
  /** It has the handler and takes jobs. */
  readonly onReady: () => void
  /** A handler has ended in it, however it ended. */
  readonly onAnswer: () => void
  /** Nothing of it runs any more, whatever the reason. */
  readonly onGone: () => void
}

interface Task {
  readonly number: number
  /** Whether the handler may have been called. */
  begun: boolean
  readonly run: Run
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The thread had ended before the job reached it: another can have it. */
export class NotBegunError extends RunLostError {}

/**
 * One thread and its module: starting (the module is being loaded) → idle ⇄ busy → ending (we killed it) → gone.
 * From each of them it may be gone at once: a handler can do anything.
 */
export class Thread {
  stage: 'starting' | 'idle' | 'busy' | 'ending' | 'gone' = 'starting'
  /** Whether its module was loaded and has the handler. */
  wasReady = false
  wasKilled = false
  /** What it died of, if it said so. */
  fault: unknown = undefined
  exitCode: number | null = null
  /** Queues whose handlers its module has, if not the one it shall have. */
  readonly others: string[] = []
  /** Resolves when nothing of it runs any more. */
  readonly gone: Promise<void>
  readonly #parts: ThreadParts
  readonly #worker: Worker
  #task: Task | null = null
  #runs = 0

  /** Throws if there cannot be such a thread at all. */
  constructor(parts: ThreadParts) {
    this.#parts = parts
    this.#worker = new Worker(parts.module, {
      name: `skep ${parts.data.queue}`,
      workerData: { [THREAD_KEY]: parts.data },
      ...(parts.execArgv === null ? {} : { execArgv: [...parts.execArgv] }),
      ...(parts.memoryMb === null ? {} : { resourceLimits: { maxOldGenerationSizeMb: parts.memoryMb } }),
    })
    this.#worker.on('message', (message: FromThread) => this.#hear(message))
    this.#worker.on('error', (error: unknown) => {
      this.fault = error
    })
    // What cannot be read may have been the answer, for which somebody would wait for ever.
    this.#worker.on('messageerror', () => void this.kill())
    this.gone = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        this.#exited(code)
        resolve()
      })
    })
  }

  /**
   * Gives it a job. Rejects with {@link RunLostError} when the thread ends before the handler does, and with
   * {@link NotBegunError} when it ended before the handler was called.
   */
  run(run: Run): Promise<unknown> {
    this.stage = 'busy'
    this.#worker.ref()
    const number = ++this.#runs
    return new Promise((resolve, reject) => {
      this.#task = { number, begun: false, run, resolve, reject }
      this.#say({ said: 'run', run: number, job: run.job, deadline: run.deadline })
    })
  }

  /** Aborts the signal of the handler that runs. One that never awaits does not notice. */
  stop(kind: Extract<ToThread, { said: 'stop' }>['kind'], message: string): void {
    if (this.#task !== null) this.#say({ said: 'stop', run: this.#task.number, kind, message })
  }

  /** Ends it in the middle of whatever it does. Resolves when nothing of it runs any more. */
  kill(): Promise<void> {
    if (this.stage !== 'gone') {
      this.stage = 'ending'
      this.wasKilled = true
      void this.#worker.terminate()
    }
    return this.gone
  }

  #hear(message: FromThread | null | undefined): void {
    const task = this.#task
    // The handler's own code can send anything along the same way.
    switch (message?.said) {
      case 'ready':
        if (this.stage !== 'starting') return
        this.wasReady = true
        this.#rest()
        this.#parts.onReady()
        return
      case 'other':
        this.others.push(message.queue)
        return
      case 'begun':
        if (task?.number === message.run) task.begun = true
        return
      case 'call':
        if (task?.number === message.run) this.#parts.onCall(task.run, message.method, message.values)
        return
      case 'ask':
        if (task?.number === message.run) void this.#reply(task, message)
        return
      case 'answer':
        if (task?.number !== message.run) return
        this.#task = null
        if (this.stage === 'busy') this.#rest()
        this.#parts.onAnswer()
        if (message.enqueued.length > 0) task.run.enqueued = [...message.enqueued]
        if (message.groups.length > 0) task.run.groups = [...message.groups]
        try {
          task.resolve(unpackAnswer(message.answer))
        } catch (error) {
          task.reject(error)
        }
    }
  }

  async #reply({ run, number }: Task, ask: Extract<FromThread, { said: 'ask' }>): Promise<void> {
    const { question, method, values } = ask
    let answer: ThreadAnswer
    try {
      answer = packAnswer(await this.#parts.onQuestion(run, method, values), JSON.stringify)
    } catch (error) {
      answer = packThrown(error)
    }
    this.#say({ said: 'reply', run: number, question, answer })
  }

  /** A thread without a job does not keep the process alive. */
  #rest(): void {
    this.stage = 'idle'
    this.#worker.unref()
  }

  #exited(code: number): void {
    const cause = this.fault
    this.stage = 'gone'
    this.exitCode = code
    const how = cause === undefined ? `exit code ${code}` : messageOf(cause)
    const Lost = this.#task?.begun === false ? NotBegunError : RunLostError
    this.#task?.reject(new Lost(`The thread that ran the job has ended: ${how}`, { cause }))
    this.#task = null
    this.#parts.onGone()
  }

  #say(message: ToThread): void {
    this.#worker.postMessage(message)
  }
}
