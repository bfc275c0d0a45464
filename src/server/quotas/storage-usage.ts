/**
 * How many bytes a space has stored. No store keeps that figure, because every insert and every settle would pay for it. So the jobs are
 * weighed, a page at a time, and what comes in through this server from the beginning of such a walk on is added:
 *
 *   stored = what the last walk found + what came in since that walk began
 *
 * What was on its way into the store when the walk began is added too. So what comes in during the walk may be in both, and what has left
 * since is still in the first: it overstates what this server let in, until the next walk, and never understates it.
 */

import { JOB_STATES, type JobState, type Runtime, sleepFor } from '../../index.ts'
import type { Weighable } from '../../operations/services.ts'

/** Jobs that are weighed in one call. A store is busy with them for a millisecond or two. */
const PAGE = 500
/** After each page all walks rest so many times as long as it took: together they take a twentieth of a store's time at most. */
const REST = 19
const MOST_REST_MS = 5_000
/** Between two walks of a space: so long, and so many times as long as the last one took. */
const PAUSE_MS = 10_000
const PAUSE = 4
/** The same when room is scarce and jobs have left. */
const SOON_MS = 1_000

/** Lets one page be weighed at a time, whoever's it is, and then some time pass. */
export class Pace {
  readonly #runtime: Runtime
  #last: Promise<void> = Promise.resolve()

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  turn<T>(work: () => Promise<T>): Promise<T> {
    let from = 0
    const done = this.#last.then(() => {
      from = this.#runtime.mono()
      return work()
    })
    const rest = (): Promise<void> | undefined => {
      const ms = Math.min((this.#runtime.mono() - from) * REST, MOST_REST_MS)
      return ms > 0 ? sleepFor(this.#runtime, ms, undefined, { background: true }) : undefined
    }
    this.#last = done.then(rest, rest)
    return done
  }
}

interface Amount {
  readonly bytes: number
  readonly jobs: number
}

const NOTHING: Amount = { bytes: 0, jobs: 0 }

/** The bytes of one space. */
export class Ledger {
  readonly #runtime: Runtime
  readonly #pace: Pace
  /** What the last walk found; null: none has ended. */
  #found: Amount | null = null
  /** What is on its way into the store. */
  #coming: Amount = NOTHING
  /** What came in since that walk began, and since the one began that is under way. */
  #since: Amount = NOTHING
  #during: Amount = NOTHING
  /** What the walk under way has found so far. */
  #soFar: Amount = NOTHING
  #walk: Promise<void> | null = null
  #tookMs = 0
  #endedAt = -Infinity

  constructor(runtime: Runtime, pace: Pace) {
    this.#runtime = runtime
    this.#pace = pace
  }

  /** At least what is stored, as far as it came in here. Before the first walk has ended, as far as that came. */
  get bytes(): number {
    return (this.#found ?? this.#soFar).bytes + this.#since.bytes
  }

  get isKnown(): boolean {
    return this.#found !== null
  }

  /** Something comes in. Call what it returns when it is in the store, or will not be: until then no walk can be sure to meet it. */
  comes(bytes: number, jobs: number): () => void {
    const amount = { bytes, jobs }
    this.#since = plus(this.#since, amount)
    this.#during = plus(this.#during, amount)
    this.#coming = plus(this.#coming, amount)
    return () => {
      this.#coming = plus(this.#coming, { bytes: -bytes, jobs: -jobs })
    }
  }

  /** Begins a walk if it is time for one. `limit` is the quota, and `jobs` how many jobs there are. */
  look(space: Weighable, limit: number, jobs: number): void {
    if (this.#walk !== null || !this.#isDue(limit, jobs)) return
    // A walk that fails is tried again soon; until then the figures are what they were.
    this.#walk = this.#weigh(space)
      .catch(() => {})
      .finally(() => {
        this.#walk = null
        this.#endedAt = this.#runtime.mono()
      })
  }

  /** Waits for the walk that is under way, for so long at most. */
  async walked(ms: number): Promise<void> {
    if (this.#walk === null) return
    const over = new AbortController()
    await Promise.race([this.#walk, sleepFor(this.#runtime, ms, over.signal)])
    over.abort()
  }

  #isDue(limit: number, jobs: number): boolean {
    const restedMs = this.#runtime.mono() - this.#endedAt
    if (this.#found === null) return restedMs >= SOON_MS
    if (restedMs >= Math.max(PAUSE_MS, PAUSE * this.#tookMs)) return true
    const isScarce = 2 * this.#since.bytes >= limit - this.#found.bytes
    const haveLeft = jobs < this.#found.jobs + this.#since.jobs
    return isScarce && haveLeft && restedMs >= SOON_MS
  }

  async #weigh(space: Weighable): Promise<void> {
    const from = this.#runtime.mono()
    this.#during = this.#coming
    this.#soFar = NOTHING
    for (const part of partsOf(await space.counts())) await this.#weighPart(space, part)
    const { bytes, jobs } = this.#soFar
    // Jobs that went back into a state that was weighed already were not met. They count as much as the others do.
    const stored = partsOf(await space.counts()).reduce((sum, part) => sum + part.jobs, 0) - this.#during.jobs
    const missed = jobs > 0 ? (Math.max(0, stored - jobs) * bytes) / jobs : 0
    this.#found = { bytes: bytes + missed, jobs: stored }
    this.#since = this.#during
    this.#tookMs = this.#runtime.mono() - from
  }

  /** As many jobs as there were, and no more: otherwise a walk would not end while jobs come in faster than it goes on. */
  async #weighPart(space: Weighable, { queue, state, most }: Part): Promise<void> {
    let left = most
    let cursor: string | null = null
    do {
      const page: Awaited<ReturnType<Weighable['weigh']>> = await this.#pace.turn(() =>
        space.weigh({ queue, state, limit: Math.min(PAGE, left), ...(cursor === null ? {} : { cursor }) }),
      )
      this.#soFar = plus(this.#soFar, page)
      left -= page.jobs
      cursor = page.cursor
    } while (cursor !== null && left > 0)
  }
}

interface Part {
  readonly queue: string
  readonly state: JobState
  readonly jobs: number
  /** How many jobs may be stored in this state: a delayed job that is due counts as ready, and is stored as either. */
  readonly most: number
}

/** Where there are jobs. The states are in the order in which jobs go through them, so that one that moves on is met all the same. */
function partsOf(queues: Awaited<ReturnType<Weighable['counts']>>): Part[] {
  return queues.flatMap((counts) =>
    JOB_STATES.map((state) => ({
      queue: counts.queue,
      state,
      jobs: counts[state],
      most: state === 'delayed' || state === 'ready' ? counts.delayed + counts.ready : counts[state],
    })).filter(({ most }) => most > 0),
  )
}

function plus(a: Amount, b: Amount): Amount {
  return { bytes: a.bytes + b.bytes, jobs: a.jobs + b.jobs }
}
