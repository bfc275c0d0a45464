import { SkepError } from '../../core/errors.ts'
import type { Group, Outcome } from '../../core/flows/groups.ts'
import type { Run } from '../../core/flows/runs.ts'
import { isFinal, type Job } from '../../core/jobs/job.ts'
import { readPosition } from '../../flows/position.ts'
import type { Hint, Notifier, Subscription } from '../../notifier/notifier.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Store } from '../../store/store.ts'
import type { Settled } from '../flows/joins.ts'
import { settledOf } from '../groups/groups.ts'

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

/** So many groups are read at once, and so much of each; of a larger one the rest is read by itself. */
const GROUPS = 50
const FIRST_PAGE = 200
const PAGE = 1_000
const MOST_READS = 2

interface Question {
  readonly resolve: (outcomes: readonly Outcome[]) => void
  readonly reject: (error: unknown) => void
}

/**
 * Reads for handlers what became of the members of groups. Many of them start at once, and each asks for a group of its
 * own: those that ask at the same time, or while a read is under way, cost one round trip together.
 */
export class ResultReader {
  readonly #store: Pick<Store, 'outcomes'>
  readonly #runtime: Runtime
  readonly #space: string
  #asked = new Map<string, Question[]>()
  #reads = 0
  #scheduled = false

  constructor(options: { store: Pick<Store, 'outcomes'>; runtime: Runtime; space: string }) {
    this.#store = options.store
    this.#runtime = options.runtime
    this.#space = options.space
  }

  /** Of those that have ended, by number; none if the group is not kept any more. */
  async of(group: string): Promise<readonly Settled<unknown>[]> {
    return (await this.outcomes(group)).map(settledOf)
  }

  /** The same as it is stored. */
  async outcomes(group: string): Promise<readonly Outcome[]> {
    const first = await new Promise<readonly Outcome[]>((resolve, reject) => {
      const questions = this.#asked.get(group) ?? []
      this.#asked.set(group, questions)
      questions.push({ resolve, reject })
      this.#schedule()
    })
    const all = [...first]
    for (let page = first, limit = FIRST_PAGE; page.length === limit; limit = PAGE) {
      const from = (page.at(-1) as Outcome).n + 1
      page = (await this.#page([group], from, PAGE))[0] ?? []
      for (const outcome of page) all.push(outcome)
    }
    return all
  }

  #schedule(): void {
    if (this.#scheduled || this.#reads >= MOST_READS || this.#asked.size === 0) return
    this.#scheduled = true
    this.#runtime.defer(() => {
      this.#scheduled = false
      const some = [...this.#asked].slice(0, GROUPS)
      for (const [group] of some) this.#asked.delete(group)
      this.#reads++
      void this.#answer(some).finally(() => {
        this.#reads--
        this.#schedule()
      })
      this.#schedule()
    })
  }

  async #answer(asked: readonly (readonly [string, readonly Question[]])[]): Promise<void> {
    try {
      const groups = asked.map(([group]) => group)
      const outcomes = await this.#page(groups, 0, FIRST_PAGE)
      for (const [index, [, questions]] of asked.entries()) {
        for (const { resolve } of questions) resolve(outcomes[index] ?? [])
      }
    } catch (error) {
      // One who asks for what is no group must not fail the others: try each alone.
      if (asked.length > 1) for (const one of asked) await this.#answer([one])
      else for (const { reject } of asked[0]?.[1] ?? []) reject(error)
    }
  }

  async #page(
    groups: readonly string[],
    from: number,
    limit: number,
  ): Promise<readonly (readonly Outcome[])[]> {
    return (await this.#store.outcomes({ space: this.#space, groups, from, limit })).outcomes
  }
}
