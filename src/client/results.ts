import { SkepError } from '../core/errors.ts'
import { isFinal, type Job } from '../core/job.ts'
import type { Hint, Notifier, Subscription } from '../notifier.ts'
import type { Runtime } from '../runtime.ts'
import type { Store } from '../store.ts'

/** Looks again this often even if no hint came: hints may be lost. */
const LOOK_AGAIN_MS = 2_000
const PAGE = 500

interface Watch {
  readonly id: string
  /** Known from the first look on. */
  queue: string | null
  readonly resolve: (job: Job | null) => void
  readonly reject: (error: unknown) => void
}

/** Waits for jobs to end: asks once, then again when a hint says that something ended. */
export class Results {
  readonly #options: {
    readonly store: Store
    readonly notifier: Notifier
    readonly runtime: Runtime
    readonly space: string
  }
  readonly #watches = new Set<Watch>()
  #subscription: Subscription | null = null
  #stopTimer: (() => void) | null = null
  #looking = false
  #again = false
  #closed: { readonly error: unknown } | null = null

  constructor(options: { store: Store; notifier: Notifier; runtime: Runtime; space: string }) {
    this.#options = options
  }

  /** The job once it has ended, or null if there is no such job (any more). */
  ended(
    id: string,
    options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<Job | null> {
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
      const watch: Watch = {
        id,
        queue: null,
        resolve: (job) => {
          done()
          resolve(job)
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
                  `Job "${id}" has not ended within ${options.timeoutMs} ms. It goes on.`,
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

  /** Whether one of the awaited jobs may be meant: others end all the time. */
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
    const { store, runtime, space } = this.#options
    try {
      while (this.#again && this.#watches.size > 0) {
        this.#again = false
        const watches = [...this.#watches]
        for (let from = 0; from < watches.length; from += PAGE) {
          const page = watches.slice(from, from + PAGE)
          const { jobs } = await store.get({ space, ids: page.map((watch) => watch.id) })
          page.forEach((watch, index) => {
            const job = jobs[index] ?? null
            if (job === null || isFinal(job.state)) watch.resolve(job)
            else watch.queue = job.queue
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
