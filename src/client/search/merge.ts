import type { Job, JobState } from '../../core/jobs/job.ts'
import { listKey } from '../../core/jobs/transitions.ts'
import type { Where } from '../../store/store.ts'
import { type Cursor, type Place, type Stand, writeCursor } from './cursor.ts'
import { ahead, behind, byKey, byPlace, inTurn, isNothing, placeOf } from './places.ts'
import type { Budget, Found, SearchEnv, Wanted } from './search.ts'

/** Jobs of one queue in one call, at first: few, because there are many queues, and more whenever they were not enough. */
const FEWEST_AT_ONCE = 5
const MOST_AT_ONCE = 200
/** So many queues at most are read one after the other before all the rest at once. */
const MOST_LEADERS = 4

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
  /** Where the first of the others stands: it is compared for each job of the page. */
  head: Place | null
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
    line.head = headOf(line)
  }
  /** How many to read of a queue. More than the page has room for would not be shown. */
  const nextStep = (line: Line): number => {
    const { step } = line
    line.step = Math.min(MOST_AT_ONCE, 2 * step)
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
    const line: Line = { queue, where: asked, from, next: from, rows: [], used: 0, head: null, step }
    if (isNothing(asked)) return line
    // What was shown is read by itself, so that the store says where it ends.
    await read(line, own === null || own.used === 0 ? nextStep(line) : Math.min(own.used, MOST_AT_ONCE))
    await advance(line)
    return line
  }
  // What is known of some queues says where the page ends at the latest, and then the others are asked only for what comes before
  // that. Jobs often end by the hundred in one moment: then that is little, or nothing.
  const step = Math.min(MOST_AT_ONCE, Math.max(FEWEST_AT_ONCE, Math.ceil((3 * limit) / pairs.length)))
  const names = inTurn(pairs, state, place?.[1])
  const lines: Line[] = []
  let until: Place | null = null
  while (
    rest === null &&
    where.text === undefined &&
    lines.length < MOST_LEADERS &&
    lines.length < names.length
  ) {
    const line = await begin(names[lines.length] as string, limit, until)
    lines.push(line)
    const places = lines.flatMap(({ rows, used }) => rows.slice(used).map(placeOf)).sort(order)
    const isMore = places.length > limit || lines.some(({ next }) => next !== null)
    if (isMore) until = places[limit - 1] ?? null
    const [one, other] = [line.rows[line.used], line.rows[line.used + step]]
    const isScattered = one !== undefined && (other === undefined || listKey(one) !== listKey(other))
    const isOfOneMoment = until !== null && until[0] === places[0]?.[0]
    if (isScattered || isOfOneMoment) break
  }
  const others = names.slice(lines.length)
  lines.push(...(await Promise.all(others.map((queue) => begin(queue, step, until)))))

  for (;;) {
    let first: Line | null = null
    let best: Place | null = null
    for (const line of lines) {
      if (line.head === null || (best !== null && order(line.head, best) >= 0)) continue
      first = line
      best = line.head
    }
    if (first === null) return { jobs, cursor: null, searched }
    const job = first.rows[first.used] as Job
    place = best as Place
    first.used++
    first.head = headOf(first)
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

function headOf({ rows, used }: Line): Place | null {
  const job = rows[used]
  return job ? placeOf(job) : null
}

/** From where to read a queue for what comes next in it, and how many jobs to pass over. */
function standOf({ rows, used, from, next }: Line): Stand {
  return used >= rows.length && next !== null ? { from: next, used: 0 } : { from, used }
}
