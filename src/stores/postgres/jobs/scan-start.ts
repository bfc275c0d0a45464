import type { Runtime } from '../../../runtime/runtime.ts'
import type { Source } from '../../../store/store.ts'
import { LOWEST, LOWEST_ID } from '../connection/literals.ts'

/**
 * Where the next claim begins to search.
 *
 * A claim that always searches from the lowest rank walks over the dead entries of every job that ran since the last
 * cleaning, and when some transaction keeps its snapshot open, nothing is cleaned. So each source remembers where
 * its last claim began and starts there. It goes back
 * - to the rank of a hint, or of a job that this process itself made ready, if that is lower;
 * - to the very head, when nobody has looked there for 200 ms. When such a look takes longer than other claims, it is
 *   made so seldom that this costs no more than a four-hundredth of the time, but at least once a minute: a job that
 *   nobody told of waits no longer than that.
 *
 * The same goes for delayed jobs and the moment up to which they were made ready.
 */

const HEAD_EVERY_MS = 200
const HEAD_SHARE = 400
const HEAD_AT_LEAST_EVERY_MS = 60_000

/** One source as a claim is told it. */
export interface Start {
  readonly rank: number
  readonly id: string
  readonly due: number
}

interface Place {
  rank: number
  id: string
  due: number
  /** Raised whenever it goes back, so that a claim which began before that does not undo it. */
  backs: number
  /** When a claim last began at the head, and how long it took; and how long the last one took that did not. */
  headAt: number
  headMs: number
  usualMs: number
}

/** A claim under way. */
export interface Search {
  readonly starts: readonly Start[]
  /**
   * It succeeded: where each source's first job was, and up to when delayed jobs are all made ready. Where a source is held
   * nobody has looked, and what becomes due meanwhile must be found when the hold ends.
   */
  found(
    first: (source: number) => { rank: number; id: string } | 'held' | undefined,
    dueUpTo: number | null,
  ): void
  /** It failed, and nothing is known. */
  failed(): void
}

const HEAD: Start = Object.freeze({ rank: LOWEST, id: LOWEST_ID, due: LOWEST })

export class Starts {
  readonly #runtime: Pick<Runtime, 'mono'>
  readonly #places = new Map<string, Place>()

  constructor(runtime: Pick<Runtime, 'mono'>) {
    this.#runtime = runtime
  }

  /** Decides where a claim begins. `exact`: the caller owns the clock, so nothing depends on when it looks. */
  begin(sources: readonly Source[], exact: boolean): Search {
    if (exact) return { starts: sources.map(() => HEAD), found() {}, failed() {} }
    const now = this.#runtime.mono()
    const places = sources.map((source) => this.#placeOf(source))
    const isHead = places.map((place) => now - place.headAt > pauseMs(place))
    const starts = places.map((place, index): Start => {
      if (isHead[index]) return HEAD
      const hinted = sources[index]?.hintedRank
      return hinted !== undefined && hinted < place.rank
        ? { rank: hinted, id: LOWEST_ID, due: place.due }
        : { rank: place.rank, id: place.id, due: place.due }
    })
    const backs = places.map((place) => place.backs)

    return {
      starts,
      found: (first, dueUpTo) => {
        const ms = this.#runtime.mono() - now
        places.forEach((place, index) => {
          const begun = starts[index] as Start
          const found = first(index) ?? begun
          if (found === 'held') return
          const { rank, id } = found
          const due = dueUpTo ?? begun.due
          if (place.backs === backs[index]) Object.assign(place, { rank, id, due })
          if (isHead[index]) Object.assign(place, { headAt: now, headMs: ms })
          else place.usualMs = ms
        })
      },
      failed: () => {
        for (const place of places) goBack(place, HEAD)
      },
    }
  }

  /** Something became ready, or delayed until `dueAt`. */
  lower(
    source: { space: string; queue: string },
    state: 'ready' | 'delayed',
    rank: number,
    dueAt: number,
  ): void {
    const place = this.#places.get(keyOf(source))
    if (!place) return
    if (state === 'ready' && rank <= place.rank) goBack(place, { rank, id: LOWEST_ID })
    if (state === 'delayed' && dueAt < place.due) goBack(place, { due: dueAt })
  }

  /** Something may have come to any place of this queue, or of any queue in this space. */
  forget(space: string, queue?: string): void {
    if (queue !== undefined) {
      const place = this.#places.get(keyOf({ space, queue }))
      if (place) goBack(place, HEAD)
      return
    }
    for (const [key, place] of this.#places) if (key.startsWith(`${space}\n`)) goBack(place, HEAD)
  }

  #placeOf(source: { space: string; queue: string }): Place {
    const key = keyOf(source)
    const known = this.#places.get(key)
    if (known) return known
    const place: Place = { ...HEAD, backs: 0, headAt: Number.NEGATIVE_INFINITY, headMs: 0, usualMs: 0 }
    this.#places.set(key, place)
    return place
  }
}

/** How long after a look at the head the next one is due. */
function pauseMs({ headMs, usualMs }: Place): number {
  const wanted = HEAD_SHARE * Math.max(0, headMs - usualMs)
  return Math.min(HEAD_AT_LEAST_EVERY_MS, Math.max(HEAD_EVERY_MS, wanted))
}

function goBack(place: Place, to: Partial<Start>): void {
  Object.assign(place, to)
  place.backs++
}

function keyOf({ space, queue }: { space: string; queue: string }): string {
  return `${space}\n${queue}`
}

/** A look from the very beginning that takes less than this is not worth sparing, unless it is made often. */
const CHEAP_MS = 250
const SHARE = 50

interface Floor<T> {
  value: T
  /** When a look last began at the beginning, and how long it took. */
  headAt: number
  headMs: number
}

/**
 * Where reads that walk an index from its beginning may start, like {@link Starts} for claims but for things that are
 * only looked at: the next ready job of each queue, the first lease that is over. As long as looking from the
 * beginning is cheap it is done every time; when dead entries have made it dear, at most 2 % of the time.
 */
export class Floors<T> {
  readonly #runtime: Pick<Runtime, 'mono'>
  readonly #cheapMs: number
  readonly #floors = new Map<string, Floor<T>>()

  constructor(runtime: Pick<Runtime, 'mono'>, cheapMs: number = CHEAP_MS) {
    this.#runtime = runtime
    this.#cheapMs = cheapMs
  }

  /**
   * Begins a read of these keys. `from` says where each starts, undefined for the beginning; `found` tells where
   * each should start the next time.
   */
  begin(keys: readonly string[]): {
    readonly from: readonly (T | undefined)[]
    found(values: readonly (T | undefined)[]): void
  } {
    const now = this.#runtime.mono()
    const from = keys.map((key) => {
      const floor = this.#floors.get(key)
      const isHead = !floor || floor.headMs < this.#cheapMs || now - floor.headAt > SHARE * floor.headMs
      return isHead ? undefined : floor.value
    })
    return {
      from,
      found: (values) => {
        const ms = this.#runtime.mono() - now
        keys.forEach((key, n) => {
          const value = values[n]
          const floor = this.#floors.get(key)
          if (value === undefined) this.#floors.delete(key)
          else if (from[n] === undefined || !floor) this.#floors.set(key, { value, headAt: now, headMs: ms })
          else floor.value = value
        })
      },
    }
  }
}
