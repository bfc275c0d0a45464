import { type Duration, toMs } from '../../core/duration.ts'
import { messageOf, SkepError } from '../../core/errors.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import { type Runtime, sleep } from '../../runtime/runtime.ts'
import { atMost, retryDelayMs } from '../../runtime/supervise.ts'
import type { RecallTarget } from '../../worker/commands.ts'
import { type StopOptions, WorkerEngine, type WorkerHealth, type WorkerParts } from '../../worker/worker.ts'

const STOP_KEYS = optionKeys<WorkerStopOptions>('stop()', { drain: true, grace: true })

/** How long a stop waits for a start that is under way. */
const START_MS = 5_000

export interface WorkerStopOptions {
  /** How long running handlers may finish undisturbed. @default the worker's `drain` */
  readonly drain?: Duration
  /** How long handlers may take to end after their signal aborted. @default the worker's `grace` */
  readonly grace?: Duration
}

/** A running worker. Made by `skep.worker`; it stops when told to, and not before. */
export class Worker {
  readonly id: string
  /**
   * Resolves when the worker takes jobs. While the store is away it stays pending, and the worker keeps trying. Rejects at once
   * with a problem that somebody has to solve: missing or outdated tables (`SCHEMA_MISSING`, `SCHEMA_OUTDATED`; the worker keeps
   * trying, so it starts after the migration), a refused login, an unsafe store, a wrong option. Rejects with `CLOSED` when the worker
   * is stopped before it started.
   */
  readonly ready: Promise<void>
  /**
   * Resolves when it has stopped, for whatever reason: your program stopped it, or it was stopped with `skep.workers.stop`. A program
   * that has nothing else to do then ends.
   */
  readonly stopped: Promise<void>
  #tellStopped: () => void = () => {}
  readonly #engine: WorkerEngine
  readonly #stopping = new AbortController()
  readonly #onStopped: () => void | Promise<void>
  readonly #runtime: Runtime
  readonly #starting: Promise<void>
  #stop: Promise<void> | null = null
  #stage: 'starting' | 'failing' | 'started' | 'stopped' = 'starting'

  constructor(
    parts: Omit<WorkerParts, 'onStopCommand'> & {
      readonly ready: () => Promise<unknown>
      readonly onStopped: () => void | Promise<void>
    },
    engine?: WorkerEngine,
  ) {
    this.#engine = engine ?? new WorkerEngine({ ...parts, onStopCommand: () => void this.stop() })
    this.stopped = new Promise((resolve) => {
      this.#tellStopped = resolve
    })
    this.id = this.#engine.id
    this.#onStopped = parts.onStopped
    this.#runtime = parts.runtime
    let resolveReady: () => void = () => {}
    let rejectReady: (reason: unknown) => void = () => {}
    this.ready = new Promise((resolve, reject) => {
      resolveReady = resolve
      rejectReady = reject
    })
    // A caller may await `ready`; none has to.
    this.ready.catch(() => {})
    this.#starting = this.#start(parts, rejectReady)
    this.#starting.then(resolveReady, rejectReady)
  }

  async #start(
    parts: Pick<WorkerParts, 'runtime' | 'logger'> & { readonly ready: () => Promise<unknown> },
    report: (problem: unknown) => void,
  ): Promise<void> {
    const { runtime, logger } = parts
    let awaySince: number | null = null
    let reported = ''
    for (let failures = 1; !this.#stopping.signal.aborted; failures++) {
      try {
        await parts.ready()
        if (this.#stopping.signal.aborted) break
        await this.#engine.start(awaySince)
        this.#stage = 'started'
        return
      } catch (error) {
        this.#stage = 'failing'
        awaySince ??= runtime.mono()
        if (isFinal(error)) {
          logger.error(`The worker cannot start: ${messageOf(error)}`)
          throw error
        }
        const message = messageOf(error)
        if (message !== reported) logger.warn(`The worker cannot start yet and tries again: ${message}`)
        reported = message
        if (isForOperator(error)) report(error)
        await sleep(runtime, retryDelayMs(failures, runtime.random()), this.#stopping.signal)
      }
    }
    throw new SkepError('CLOSED', 'The worker was stopped before it had started.')
  }

  /** What it is doing, and whether all of it works. */
  health(): WorkerHealth {
    const health = this.#engine.health()
    if (this.#stage === 'failing') return { ...health, status: 'degraded' }
    return this.#stage === 'stopped' ? { ...health, status: 'stopped' } : health
  }

  /**
   * Takes no more jobs and hands back what has not started. Running handlers may finish within `drain`; then their signals
   * abort, and they have `grace` to end, with their outcome saved whatever it is. What still runs after that is handed back.
   * Nothing is lost and no retry is used up; when it resolves, this worker holds no job. A second call is the same stop:
   * `drain: 0` aborts the signals now, `grace: 0` also ends the wait for the handlers.
   */
  stop(options: WorkerStopOptions = {}): Promise<void> {
    assertOptions(STOP_KEYS, options)
    const how: StopOptions = {
      ...(options.drain === undefined ? {} : { drainMs: toMs('drain', options.drain) }),
      ...(options.grace === undefined ? {} : { graceMs: toMs('grace', options.grace) }),
    }
    if (this.#stop !== null && this.#stage === 'started') void this.#engine.stop(how)
    this.#stop ??= this.#end(how)
    return this.#stop
  }

  async #end(options: StopOptions): Promise<void> {
    this.#stopping.abort()
    // A store that does not answer must not keep us for ever. Should the start succeed after that, it is undone.
    const stopEngine = (): Promise<void> | undefined =>
      this.#stage === 'started' ? this.#engine.stop(options) : undefined
    if (await atMost(this.#runtime, START_MS, this.#starting)) await stopEngine()
    else this.#starting.then(stopEngine, () => {})
    this.#stage = 'stopped'
    await this.#onStopped()
    this.#tellStopped()
  }

  /** Hands back what it has taken of a target and not started. For {@link Queues.pause}. @internal */
  recall(target: RecallTarget): void {
    this.#engine.recall(target)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }
}

/** Somebody has to do something, and once it is done the worker starts. */
function isForOperator(error: unknown): boolean {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return code === 'SCHEMA_MISSING' || code === 'SCHEMA_OUTDATED'
}

/**
 * Trying again does not help against an unsafe store or a wrong option. A schema that is missing or old is another
 * matter: in a deploy the worker may simply have started before the migration.
 */
function isFinal(error: unknown): boolean {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return (
    typeof code === 'string' &&
    /^(SCHEMA_TOO_NEW|STORE_UNSAFE|STORE_REJECTED|CONFIG_|CLIENT_|CLOSED|NAME_|THREAD_)/.test(code)
  )
}
