import { SkepError } from '../core/errors.ts'
import type { Group } from '../core/groups.ts'
import { isFinal, type Job } from '../core/job.ts'
import type { Run } from '../core/runs.ts'
import { readPosition } from '../flows/position.ts'
import type { Hint, Notifier, Subscription } from '../notifier.ts'
import type { Runtime } from '../runtime.ts'
import type { Store } from '../store.ts'

/** Looks again this often even if no hint came: hints may be lost. */
const LOOK_AGAIN_MS = 2_000
const WATCHES_PER_CALL = 500

interface Watch<Thing> {
  readonly id: string
  /** Known from the first look on. */
  queue: string | null
  readonly resolve: (thing: Thing | null) => void
  readonly reject: (error: unknown) => void
}

/** What is waited for. */
interface Kind<Thing> {
  /** What it is called. */
  readonly name: string
  read(ids: readonly string[]): Promise<readonly (Thing | null)[]>
  hasEnded(thing: Thing): boolean
  /** The queue whose hints tell of its end; null: those of any. */
  queueOf(thing: Thing): string | null
}

interface Parts {
  readonly store: Store
  readonly notifier: Notifier
  readonly runtime: Runtime
  readonly space: string
}

/** Waits for jobs. */
export type Results = Awaiting<Job>

export function awaitingJobs(parts: Parts): Awaiting<Job> {
  const { store, space } = parts
  return new Awaiting(parts, {
    name: 'Job',
    read: async (ids) => (await store.get({ space, ids })).jobs,
    hasEnded: ({ state }) => isFinal(state),
    queueOf: ({ queue }) => queue,
  })
}

export function awaitingRuns(parts: Parts): Awaiting<Run> {
  const { store, space } = parts
  return new Awaiting(parts, {
    name: 'Run',
    read: async (ids) => (await store.getRuns({ space, ids })).runs,
    hasEnded: ({ status }) => status !== 'running',
    queueOf: ({ position }) => readPosition(position).queue,
  })
}

export function awaitingGroups(parts: Parts): Awaiting<Group> {
  const { store, space } = parts
  return new Awaiting(parts, {
    name: 'Group',
    read: async (ids) => (await store.getGroups({ space, ids })).groups,
    hasEnded: ({ endedAt }) => endedAt !== null,
    // Its members may be of many queues, and others may join it.
    queueOf: () => null,
  })
}

/** Waits for things to end: asks once, then again when a hint says that something ended. */
export class Awaiting<Thing> {
  readonly #options: Parts
  readonly #kind: Kind<Thing>
  readonly #watches = new Set<Watch<Thing>>()
  #subscription: Subscription | null = null
  #stopTimer: (() => void) | null = null
  #looking = false
  #again = false
  #closed: { readonly error: unknown } | null = null

  constructor(parts: Parts, kind: Kind<Thing>) {
    this.#options = parts
    this.#kind = kind
  }

  /** The job or run once it has ended, or null if there is none (any more). */
  ended(
    id: string,
    options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<Thing | null> {
    const { notifier, runtime } = this.#options
    return new Promise((resolve, reject) => {
      const { signal } = options
      if (this.#closed) return reject(this.#closed.error)
      if (signal?.aborted) return reject(signal.reason)
      const done = (): void => {
        this.#watches.delete(watch)
        stopTimer?.()
        signal?.removeEventListener('abort', abort)
        if (this.#watches.size === 0) this.#rest()
      }
      const watch: Watch<Thing> = {
        id,
        queue: null,
        resolve: (thing) => {
          done()
          resolve(thing)
        },
        reject: (error) => {
          done()
          reject(error)
        },
      }
      const abort = (): void => watch.reject(signal?.reason)
      signal?.addEventListener('abort', abort, { once: true })
      const stopTimer =
        options.timeoutMs === undefined
          ? null
          : runtime.timer(options.timeoutMs, () =>
              watch.reject(
                new SkepError(
                  'RESULT_TIMEOUT',
                  `${this.#kind.name} "${id}" has not ended within ${options.timeoutMs} ms. It goes on.`,
                  {
                    facts: { id },
                  },
                ),
              ),
            )
      this.#watches.add(watch)
      this.#subscription ??= notifier.subscribe((hints) => {
        if (this.#concerns(hints)) this.#look()
      })
      this.#look()
    })
  }

  /** Ends all waiting with this error, also that which begins later. */
  close(error: unknown): void {
    this.#closed = { error }
    for (const watch of this.#watches) watch.reject(error)
  }

  /** Whether one of those that are awaited may be meant: others end all the time. */
  #concerns(hints: readonly Hint[]): boolean {
    const ended = new Set<string>()
    for (const hint of hints) {
      if (hint.kind === 'sync') return true
      if (hint.kind === 'settled' && hint.space === this.#options.space) ended.add(hint.queue)
    }
    if (ended.size === 0) return false
    for (const { queue } of this.#watches) if (queue === null || ended.has(queue)) return true
    return false
  }

  #rest(): void {
    this.#subscription?.end()
    this.#subscription = null
    this.#stopTimer?.()
    this.#stopTimer = null
  }

  #look(): void {
    this.#again = true
    if (this.#looking) return
    this.#looking = true
    this.#options.runtime.defer(() => void this.#lookNow())
  }

  async #lookNow(): Promise<void> {
    const { runtime } = this.#options
    try {
      while (this.#again && this.#watches.size > 0) {
        this.#again = false
        const watches = [...this.#watches]
        for (let from = 0; from < watches.length; from += WATCHES_PER_CALL) {
          const page = watches.slice(from, from + WATCHES_PER_CALL)
          const things = await this.#kind.read(page.map((watch) => watch.id))
          page.forEach((watch, index) => {
            const thing = things[index] ?? null
            if (thing === null || this.#kind.hasEnded(thing)) watch.resolve(thing)
            else watch.queue = this.#kind.queueOf(thing)
          })
        }
      }
    } catch {
      // The store does not answer. Whoever waits for a result waits on; the timer below looks again.
    } finally {
      this.#looking = false
    }
    this.#stopTimer?.()
    this.#stopTimer = this.#watches.size > 0 ? runtime.timer(LOOK_AGAIN_MS, () => this.#look()) : null
  }
}
