import { isFinal, type Job, type JobState } from '../core/job.ts'
import { listKey } from '../core/transitions.ts'
import type { Where } from '../store.ts'
import type { Budget, Found, SearchEnv, Wanted } from './search.ts'
import { type Cursor, type Place, type Stand, writeCursor } from './search-cursor.ts'
import { byKey } from './search-keys.ts'

/** Jobs of one queue in one call, at first: few, because there are many queues, and more whenever they were not enough. */
const FEWEST_AT_ONCE = 5
const MOST_AT_ONCE = 200
const TIMES_MORE = 4

/** One of the queues that are merged, and what was read of it ahead. */
interface Line {
  readonly queue: string
  /** What is asked of the store: nothing that was shown on a page before, as far as time tells. */
  readonly where: Where
  /** From where the rows that are here were read. */
  from: string | null
  /** Where the rows behind them begin; null if there are none. */
  next: string | null
  rows: readonly Job[]
  /** How many of the rows are used up. */
  used: number
  step: number
}

/**
 * One page of the jobs of several queues in one state, all in the order of that state: finished ones newest first, others by
 * their time. Each queue is read a little ahead; the next job is the first of all these heads.
 *
 * The next page begins behind the last job of this one. Its time tells where that is in every other queue, and stores find by
 * time. In its own queue others may have the very same time: so the cursor says from where that queue was being read.
 */
export async function mergeQueues(
  env: SearchEnv,
  wanted: Wanted,
  state: JobState,
  pairs: readonly { readonly queue: string }[],
  {
    limit,
    cursor,
    budget,
  }: { readonly limit: number; readonly cursor: Cursor | null; readonly budget: Budget },
): Promise<Found> {
  const { where, rest } = byKey(wanted, state)
  const start = cursor?.kind === 'merged' ? cursor : null
  const order = byPlace(state)
  const endsAt = env.runtime.mono() + budget.ms
  const jobs: Job[] = []
  let searched = 0
  let place: Place | null = start?.place ?? null

  const read = async (line: Line, most: number): Promise<void> => {
    const { queue, where: asked, next } = line
    const { store, space } = env
    const page = await store.list({ space, queue, state, where: asked, cursor: next, limit: most })
    const shown = place
    line.from = next
    line.next = page.cursor
    line.rows = page.jobs
    line.used = shown === null ? 0 : page.jobs.filter((job) => order(placeOf(job), shown) <= 0).length
  }
  /** How many to read of a queue. More than the page has room for would not be shown. */
  const nextStep = (line: Line): number => {
    const { step } = line
    line.step = Math.min(MOST_AT_ONCE, TIMES_MORE * step)
    return rest === null ? Math.min(step, limit - jobs.length) : step
  }
  /** Reads on until there is a row, or none is left. */
  const advance = async (line: Line): Promise<void> => {
    while (line.used >= line.rows.length && line.next !== null) await read(line, nextStep(line))
  }
  const begin = async (queue: string, step: number, until: Place | null): Promise<Line> => {
    const own = start?.place[1] === queue ? start.own : null
    const from = own?.from ?? null
    let asked = start === null || from !== null ? where : behind(where, state, start.place, queue)
    if (until !== null) asked = ahead(asked, state, until, queue)
    const line: Line = { queue, where: asked, from, next: from, rows: [], used: 0, step }
    if (isNothing(asked)) return line
    // What was shown is read by itself, so that the store says where it ends.
    await read(line, own === null || own.used === 0 ? nextStep(line) : Math.min(own.used, MOST_AT_ONCE))
    await advance(line)
    return line
  }
  // If one queue can fill the page, all others are asked only for what comes before its last job. Jobs often end by the hundred,
  // and then that is nothing. The first is the queue that the page before ended in, or of one moment comes first.
  const names = pairs.map(({ queue }) => queue)
  const firstName = names.find((queue) => queue === place?.[1]) ?? names.at(isFinal(state) ? -1 : 0)
  const isLed = rest === null && where.text === undefined
  const leader = isLed && firstName !== undefined ? await begin(firstName, limit, null) : null
  const last = leader?.rows[leader.used + limit - 1]
  const until = last !== undefined && leader?.next != null ? placeOf(last) : null
  const step = Math.min(MOST_AT_ONCE, Math.max(FEWEST_AT_ONCE, Math.ceil((2 * limit) / pairs.length)))
  const lines = await Promise.all(
    names.map((queue) => (queue === leader?.queue ? leader : begin(queue, step, until))),
  )

  for (;;) {
    let first: Line | null = null
    for (const line of lines) {
      const head = line.rows[line.used]
      if (head === undefined) continue
      const best = first?.rows[first.used]
      if (best === undefined || order(placeOf(head), placeOf(best)) < 0) first = line
    }
    if (first === null) return { jobs, cursor: null, searched }
    const job = first.rows[first.used] as Job
    place = placeOf(job)
    first.used++
    searched++
    if (rest === null || rest(job)) jobs.push(job)
    const isOver = rest !== null && (searched >= budget.rows || env.runtime.mono() >= endsAt)
    if (jobs.length >= limit || isOver) {
      const isLast = lines.every(({ rows, used, next }) => used >= rows.length && next === null)
      if (isLast) return { jobs, cursor: null, searched }
      return { jobs, searched, cursor: writeCursor({ kind: 'merged', state, place, own: standOf(first) }) }
    }
    await advance(first)
  }
}

/** From where to read a queue for what comes next in it, and how many jobs to pass over. */
function standOf({ rows, used, from, next }: Line): Stand {
  return used >= rows.length && next !== null ? { from: next, used: 0 } : { from, used }
}

/** Of what is wanted, that which a queue can have behind a place. */
function behind(where: Where, state: JobState, [time, placeQueue]: Place, queue: string): Where {
  const { after = -Infinity, before = Infinity } = where
  // Of one time, finished jobs come by their queues too from the last to the first.
  if (isFinal(state)) return { ...where, before: Math.min(before, queue <= placeQueue ? time + 1 : time) }
  return { ...where, after: Math.max(after, queue >= placeQueue ? time : time + 1) }
}

/** Of what is wanted, that which a queue other than the place's can have before it. */
function ahead(where: Where, state: JobState, [time, placeQueue]: Place, queue: string): Where {
  const { after = -Infinity, before = Infinity } = where
  if (isFinal(state)) return { ...where, after: Math.max(after, queue > placeQueue ? time : time + 1) }
  return { ...where, before: Math.min(before, queue < placeQueue ? time + 1 : time) }
}

function isNothing({ after = -Infinity, before = Infinity }: Where): boolean {
  return after >= before
}

function placeOf(job: Job): Place {
  return [listKey(job), job.queue, job.id]
}

/** Within one queue this is the order of the store. */
function byPlace(state: JobState): (a: Place, b: Place) => number {
  const direction = isFinal(state) ? -1 : 1
  return ([timeA, queueA, idA], [timeB, queueB, idB]) =>
    direction * (timeA - timeB || compare(queueA, queueB) || compare(idA, idB))
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
