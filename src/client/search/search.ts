/**
 * Looks for the jobs that fit, page by page. What stores can find by key (queue, state, time, lane, id) they find; the rest is
 * asked here of each job, up to a budget. So a page costs the same however many jobs there are, and may be short and still not
 * be the last.
 */
import type { Job, JobState } from '../../core/jobs/job.ts'
import type { Predicate } from '../../core/query/match.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { type Store, storedStates, type Where } from '../../store/store.ts'
import { type Cursor, readCursor, writeCursor } from './cursor.ts'
import { mergeQueues } from './merge.ts'
import { byKey } from './places.ts'

export interface SearchEnv {
  readonly store: Pick<Store, 'counts' | 'get' | 'list'>
  readonly runtime: Runtime
  readonly space: string
}

/** Which jobs are looked for. All of it must hold. */
export interface Wanted {
  /** In this order, one after the other. */
  readonly states: readonly JobState[]
  /** These queues; null: all that fit. */
  readonly queues: readonly string[] | null
  readonly fitsQueue: (name: string) => boolean
  readonly ids: readonly string[] | null
  readonly where: Where
  /** What each job is asked besides; null: nothing. */
  readonly rest: Predicate | null
  /** Finished jobs the oldest first, queue after queue. @default false */
  readonly oldestFirst?: boolean
  /** All that is wanted, for jobs that are found by id. */
  readonly fits: Predicate
}

/** How much may be looked at for one page. */
export interface Budget {
  readonly rows: number
  readonly ms: number
}

export interface Found {
  readonly jobs: readonly Job[]
  /** For the next page; null when this was the last. */
  readonly cursor: string | null
  /** How many jobs were looked at. */
  readonly searched: number
}

/** Over so many queues the jobs of one state are merged by time; over more they come queue after queue. */
const MOST_MERGED = 50

/** Jobs in one call while most of them do not fit. */
export const MOST_AT_ONCE = 200

/** The jobs that fit, one page. */
export async function searchJobs(
  env: SearchEnv,
  wanted: Wanted,
  options: { readonly limit: number; readonly cursor: string | null; readonly budget: Budget },
): Promise<Found> {
  const cursor = options.cursor === null ? null : readCursor(options.cursor)
  const page = { ...options, cursor }
  if (wanted.ids !== null) return searchIds(env, wanted, wanted.ids, page)
  return searchStates(env, wanted, await pairsOf(env, wanted), page)
}

/** State after state; in each the jobs of all queues by their time, where that is possible. */
async function searchStates(
  env: SearchEnv,
  wanted: Wanted,
  pairs: readonly Pair[],
  { limit, cursor: start, budget }: Page,
): Promise<Found> {
  const { states, rest } = wanted
  const endsAt = env.runtime.mono() + budget.ms
  const jobs: Job[] = []
  let searched = 0
  let cursor = start?.kind === 'ids' ? null : start
  for (let i = cursor === null ? 0 : states.indexOf(cursor.state); i >= 0 && i < states.length; i++) {
    const state = states[i] as JobState
    const ofState = pairs.filter((pair) => pair.state === state)
    const left = { rows: budget.rows - searched, ms: endsAt - env.runtime.mono() }
    const page = { limit: limit - jobs.length, cursor, budget: left }
    const found = await searchState(env, wanted, state, ofState, page)
    jobs.push(...found.jobs)
    searched += found.searched
    if (found.cursor !== null) return { jobs, searched, cursor: found.cursor }
    cursor = null
    const isOver = rest !== null && (searched >= budget.rows || env.runtime.mono() >= endsAt)
    if (jobs.length < limit && !isOver) continue
    const next = states.slice(i + 1).find((one) => pairs.some((pair) => pair.state === one && !pair.isEmpty))
    const beginning = next && writeCursor({ kind: 'walk', queue: '', state: next, cursor: null })
    return { jobs, searched, cursor: beginning ?? null }
  }
  return { jobs, cursor: null, searched }
}

function searchState(
  env: SearchEnv,
  wanted: Wanted,
  state: JobState,
  pairs: readonly Pair[],
  page: Page,
): Promise<Found> {
  const full = pairs.filter(({ isEmpty }) => !isEmpty)
  const { cursor } = page
  const isBegun = cursor?.kind === 'walk' && cursor.queue !== ''
  // Ready jobs stand lane by lane, which time does not tell.
  const canMerge =
    wanted.oldestFirst !== true && state !== 'ready' && full.length > 1 && full.length <= MOST_MERGED
  if (cursor?.kind === 'merged' || (canMerge && !isBegun)) return mergeQueues(env, wanted, state, full, page)
  return walk(env, wanted, pairs, page)
}

interface Page {
  readonly limit: number
  readonly cursor: Cursor | null
  readonly budget: Budget
}

export interface Pair {
  readonly queue: string
  readonly state: JobState
  /** The counters say that there is nothing, so nobody looks. */
  readonly isEmpty: boolean
}

/** The queues and states to look into. */
export async function pairsOf(
  { store, space }: Pick<SearchEnv, 'store' | 'space'>,
  wanted: Wanted,
): Promise<Pair[]> {
  const { states, queues } = wanted
  if (queues !== null) {
    return queues.flatMap((queue) => states.map((state) => ({ queue, state, isEmpty: false })))
  }
  const { queues: counted } = await store.counts({ space })
  return counted
    .filter(({ queue }) => wanted.fitsQueue(queue))
    .toSorted((a, b) => (a.queue < b.queue ? -1 : 1))
    .flatMap((counts) => {
      const stored = storedStates(counts)
      return states.map((state) => ({ queue: counts.queue, state, isEmpty: stored[state] === 0 }))
    })
}

async function searchIds(
  { store, space }: SearchEnv,
  { fits }: Wanted,
  ids: readonly string[],
  { limit, cursor }: Page,
): Promise<Found> {
  const from = cursor?.kind === 'ids' ? cursor.at : 0
  const some = ids.slice(from, from + limit)
  const { jobs } = await store.get({ space, ids: some })
  const to = from + some.length
  return {
    jobs: jobs.filter((job): job is Job => job !== null && fits(job)),
    cursor: to < ids.length ? writeCursor({ kind: 'ids', at: to }) : null,
    searched: some.length,
  }
}

/** Queue after queue, in one state. */
async function walk(env: SearchEnv, wanted: Wanted, pairs: readonly Pair[], page: Page): Promise<Found> {
  const { limit, budget } = page
  const start = page.cursor?.kind === 'walk' ? page.cursor : null
  const endsAt = env.runtime.mono() + budget.ms
  const jobs: Job[] = []
  let searched = 0
  let step = limit
  // A queue may have vanished since the last page: then its successors follow.
  const same = pairs.findIndex(({ queue }) => queue === start?.queue)
  const first = same >= 0 ? same : pairs.findIndex(({ queue }) => start === null || queue > start.queue)
  for (let i = first; i >= 0 && i < pairs.length; i++) {
    const pair = pairs[i] as Pair
    if (pair.isEmpty) continue
    const { where, rest } = byKey(wanted, pair.state)
    const { oldestFirst = false } = wanted
    let cursor = i === same && start !== null ? start.cursor : null
    do {
      const room = limit - jobs.length
      const most = rest === null ? room : Math.min(MOST_AT_ONCE, budget.rows - searched, Math.max(room, step))
      const found = await lookAt(env, { where, rest }, { ...pair, oldestFirst, cursor, limit: most }, room)
      jobs.push(...found.jobs)
      searched += found.searched
      cursor = found.cursor
      // The fewer fit, the more are looked at in one call.
      step *= 2
      const isOver = searched >= budget.rows || env.runtime.mono() >= endsAt
      if (jobs.length >= limit || (rest !== null && isOver)) {
        const next = cursor === null ? pairs[i + 1] : pair
        return {
          jobs,
          searched,
          cursor: next ? writeCursor({ kind: 'walk', ...placeOf(next), cursor }) : null,
        }
      }
    } while (cursor !== null)
  }
  return { jobs, cursor: null, searched }
}

function placeOf({ queue, state }: Pair): { readonly queue: string; readonly state: JobState } {
  return { queue, state }
}

/**
 * The jobs of one call to the store that fit, but not more than there is room for. If there were more, the call is made again
 * for just so many jobs as have been used: only the store can say where those end.
 */
async function lookAt(
  { store, space }: Pick<SearchEnv, 'store' | 'space'>,
  { where, rest }: Pick<Wanted, 'where' | 'rest'>,
  call: {
    readonly queue: string
    readonly state: JobState
    readonly oldestFirst: boolean
    readonly cursor: string | null
    readonly limit: number
  },
  room: number,
): Promise<Found> {
  const { queue, state, oldestFirst, cursor, limit } = call
  const page = await store.list({ space, queue, state, where, oldestFirst, cursor, limit })
  const fitting = rest === null ? page.jobs : page.jobs.filter(rest)
  const last = fitting[room - 1]
  if (fitting.length <= room || last === undefined) {
    return { jobs: fitting, cursor: page.cursor, searched: page.jobs.length }
  }
  return lookAt({ store, space }, { where, rest }, { ...call, limit: page.jobs.indexOf(last) + 1 }, room)
}
