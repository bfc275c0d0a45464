import { SkepError } from '../../core/errors.ts'
import { isFinal, type JobState } from '../../core/jobs/job.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import type { Hint, Notifier } from '../../notifier/notifier.ts'
import { type Runtime, sleep } from '../../runtime/runtime.ts'
import type { Store } from '../../store/store.ts'
import { type LogLine, type ProgressView, readLogs } from './logs.ts'
import { type JobView, viewOf } from './view.ts'

/** Looks again this often even if no hint came, and says then that somebody is here. */
const LOOK_AGAIN_MS = 2_000
/** Looks not more often than this, however many hints come: other jobs of the queue write notes too. */
const APART_MS = 100

/** What is seen of a job while it is watched. */
export type JobEvent =
  /** Its state at first, and then whenever another one is seen. Short ones may be missed. */
  | { readonly kind: 'state'; readonly state: JobState; readonly job: JobView }
  | ({ readonly kind: 'progress' } & ProgressView)
  | ({ readonly kind: 'log' } & LogLine)

export interface WatchOptions {
  /** Ends it; the loop then throws the signal's reason. */
  readonly signal?: AbortSignal
  /** Only lines after this place. @default 0: all that are kept */
  readonly after?: number
}

const KEYS = optionKeys<WatchOptions>('jobs.watch()', { signal: true, after: true })

export interface WatchEnvironment {
  readonly store: Store
  readonly notifier: Notifier
  readonly runtime: Runtime
  readonly space: string
  /** Everyone who watches adds here how to end it with an error, and takes it away when done. */
  readonly watchers: Set<(error: unknown) => void>
}

/**
 * Follows a job until it has ended, or is gone. Hints say when to look; if they are lost it looks by itself. While the
 * store does not answer it waits on.
 */
export async function* watchJob(
  env: WatchEnvironment,
  id: string,
  options: WatchOptions = {},
): AsyncGenerator<JobEvent, void, void> {
  assertOptions(KEYS, options)
  const { notifier, runtime, space } = env
  const sight = new Sight(env, id, options.after ?? 0)
  const bell = new Bell(env.watchers, options.signal)
  const subscription = notifier.subscribe((hints) => {
    if (hints.some((hint) => concerns(hint, space, sight.queue))) bell.ring()
  })
  try {
    while (!sight.isOver) {
      bell.prepare()
      yield* sight.look()
      if (sight.isOver) return
      // So that whoever runs the job tells when it writes notes.
      if (sight.queue !== null) notifier.publish([{ kind: 'watch', space, queue: sight.queue }])
      await sleep(runtime, APART_MS, bell.ended)
      await sleep(runtime, LOOK_AGAIN_MS, bell.rung)
    }
  } finally {
    subscription.end()
    bell.leave()
  }
}

/** Wakes whoever waits: for a hint, or because it is to end. */
class Bell {
  readonly #watchers: Set<(error: unknown) => void>
  readonly #signal: AbortSignal | undefined
  readonly #end = new AbortController()
  #rung = new AbortController()

  constructor(watchers: Set<(error: unknown) => void>, signal: AbortSignal | undefined) {
    this.#watchers = watchers
    this.#signal = signal
    watchers.add(this.#stop)
    signal?.addEventListener('abort', this.#abort)
  }

  get ended(): AbortSignal {
    return this.#end.signal
  }

  get rung(): AbortSignal {
    return this.#rung.signal
  }

  ring(): void {
    this.#rung.abort()
  }

  /** Before each look, so that a hint that comes during it is not lost. Throws if it is to end. */
  prepare(): void {
    this.#signal?.throwIfAborted()
    this.#end.signal.throwIfAborted()
    this.#rung = new AbortController()
  }

  leave(): void {
    this.#watchers.delete(this.#stop)
    this.#signal?.removeEventListener('abort', this.#abort)
  }

  readonly #abort = (): void => this.#stop(this.#signal?.reason)

  readonly #stop = (error: unknown): void => {
    this.#end.abort(error)
    this.ring()
  }
}

/** What has been seen of a job so far. */
class Sight {
  /** Known from the first look on. */
  queue: string | null = null
  /** The job has ended, or is gone. */
  isOver = false
  readonly #env: WatchEnvironment
  readonly #id: string
  #after: number
  #state: JobState | null = null
  #progress: ProgressView | null = null

  constructor(env: WatchEnvironment, id: string, after: number) {
    this.#env = env
    this.#id = id
    this.#after = after
  }

  async *look(): AsyncGenerator<JobEvent, void, void> {
    const { store, space } = this.#env
    const read = await attempt(() => store.get({ space, ids: [this.#id] }))
    if (read === null) return
    const job = read.jobs[0] ?? null
    if (job === null) {
      if (this.#state === null) throw notFound(this.#id)
      this.isOver = true
      return
    }
    this.queue = job.queue
    const isNew = job.state !== this.#state
    const change = { kind: 'state', state: job.state, job: viewOf(job) } as const
    this.#state = job.state
    if (isNew && !isFinal(job.state)) yield change
    // After the job: when it has ended, all that it told is there. If it cannot be read now, the end has to wait.
    const isWhole = yield* this.#notes()
    if (!isFinal(job.state)) return
    if (isWhole) {
      this.isOver = true
      yield change
    }
  }

  /** New lines, then how far it is. Tells whether that was all. */
  async *#notes(): AsyncGenerator<JobEvent, boolean, void> {
    const { store, space } = this.#env
    for (;;) {
      const page = await attempt(() => readLogs(store, space, this.#id, { after: this.#after }))
      if (page === null) return false
      for (const line of page.lines) yield { kind: 'log', ...line }
      this.#after = page.cursor
      if (page.more) continue
      const { progress } = page
      if (progress !== null && !isSame(progress, this.#progress)) {
        this.#progress = progress
        yield { kind: 'progress', ...progress }
      }
      return true
    }
  }
}

function isSame(a: ProgressView, b: ProgressView | null): boolean {
  return a.value === b?.value && a.note === b.note && a.at.getTime() === b.at.getTime()
}

/** Whether the watched job may be meant. Before its queue is known, every hint may. */
function concerns(hint: Hint, space: string, queue: string | null): boolean {
  if (hint.kind === 'sync') return true
  if (hint.kind !== 'settled' && hint.kind !== 'noted') return false
  return hint.space === space && (queue === null || hint.queue === queue)
}

/** What was read; null while the store does not answer. A wrong option is told. */
async function attempt<Value>(read: () => Promise<Value>): Promise<Value | null> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof SkepError && error.code === 'OPTION_INVALID') throw error
    return null
  }
}

function notFound(id: string): SkepError {
  return new SkepError(
    'JOB_NOT_FOUND',
    `There is no job "${id}" in this space: it was discarded, pruned, or never was.`,
    { facts: { id } },
  )
}
