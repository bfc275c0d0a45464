import { isFinal, type Job, type JobState } from '../core/job.ts'
import { listKey } from '../core/transitions.ts'
import type { Budget, Found, SearchEnv, Wanted } from './search.ts'
import { type Cursor, type Place, writeCursor } from './search-cursor.ts'
import { byKey } from './search-keys.ts'

/** Jobs of one queue in one call, at first: few, because there are many queues, and more whenever they were not enough. */
const FEWEST_AT_ONCE = 5
const MOST_AT_ONCE = 200

/** One of the queues that are merged, and what was read of it ahead. */
interface Line {
  readonly queue: string
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
 * What was read and not used is read again for the next page: its cursor has the job at which this one ended, and from where
 * each queue was being read.
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
  let place: Place | null = start?.place ?? null
  const step = Math.min(MOST_AT_ONCE, Math.max(FEWEST_AT_ONCE, Math.ceil((2 * limit) / pairs.length)))
  const lines = pairs.map(({ queue }): Line => {
    const from = start?.queues[queue] ?? null
    return { queue, from, next: from, rows: [], used: 0, step }
  })

  const fill = async (line: Line): Promise<void> => {
    const { queue, next, step: most } = line
    const { store, space } = env
    const page = await store.list({ space, queue, state, where, cursor: next, limit: most })
    const behind = place
    line.from = next
    line.next = page.cursor
    line.rows = behind === null ? page.jobs : page.jobs.filter((job) => order(placeOf(job), behind) > 0)
    line.used = 0
    line.step = Math.min(MOST_AT_ONCE, 2 * most)
  }
  /** Reads on until there is a row, or none is left. */
  const advance = async (line: Line): Promise<void> => {
    while (line.used >= line.rows.length && line.next !== null) await fill(line)
  }
  await Promise.all(
    lines.map(async (line) => {
      await fill(line)
      await advance(line)
    }),
  )

  const jobs: Job[] = []
  let searched = 0
  for (;;) {
    let first: Line | null = null
    for (const line of lines) {
      const head = line.rows[line.used]
      if (head === undefined) continue
      const best = first?.rows[first.used]
      if (best === undefined || order(placeOf(head), placeOf(best)) < 0) first = line
    }
    if (first === null) return { jobs, cursor: null, searched }
    const isOver =
      rest !== null && (searched >= budget.rows || (searched > 0 && env.runtime.mono() >= endsAt))
    if (place !== null && (jobs.length >= limit || isOver)) {
      const queues = Object.fromEntries(
        lines.flatMap(({ queue, from }) => (from === null ? [] : [[queue, from]])),
      )
      return { jobs, searched, cursor: writeCursor({ kind: 'merged', state, place, queues }) }
    }
    const job = first.rows[first.used] as Job
    place = placeOf(job)
    first.used++
    searched++
    if (rest === null || rest(job)) jobs.push(job)
    await advance(first)
  }
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
