import type { NewJob } from '../../../core/jobs/job.ts'
import type { Settlement } from '../../../store/store.ts'
import { arrayOf, columnOf, idArrayOf, idColumnOf, SEPARATOR } from '../connection/literals.ts'
import { sentGroup, sentJob, sentMove } from '../flows/flow-rows.ts'
import type { Grouped } from '../flows/groups.ts'
import { lowestOf } from './insert.ts'

/** Stands between the texts of one column. JSON cannot hold it either. */
const BETWEEN = '\x1f'

/**
 * What the settlements bring along, as `settle_and_claim` reads it: jobs, groups and moves, each JSON with its round and its
 * settlement; or, if there are nothing but simple jobs, their columns. Null when they bring nothing.
 */
export function broughtBy(grouped: Grouped, settlements: readonly Settlement[]): string | null {
  if (!settlements.some(({ enqueue, groups, move }) => enqueue?.length || groups?.length || move)) return null
  return columnsOf(grouped, settlements) ?? jsonOf(grouped, settlements)
}

function jsonOf(grouped: Grouped, settlements: readonly Settlement[]): string {
  const of = <Item extends object>(items: (settlement: Settlement) => readonly Item[]): string => {
    const all = grouped.order.flatMap((index, position) =>
      items(settlements[index] as Settlement).map((item) => ({
        round: grouped.roundOf[position],
        parent: position + 1,
        ...item,
      })),
    )
    return all.length > 0 ? JSON.stringify(all) : ''
  }
  return [
    of(({ enqueue = [] }) => enqueue.map(sentJob)),
    of(({ groups = [] }) => groups.map(sentGroup)),
    of(({ move }) => (move ? [sentMove(move)] : [])),
  ].join(SEPARATOR)
}

/** Null if something is unusual. */
function columnsOf(grouped: Grouped, settlements: readonly Settlement[]): string | null {
  if (grouped.rounds.length > 1) return null
  const jobs: NewJob[] = []
  const parents: number[] = []
  for (const [position, index] of grouped.order.entries()) {
    const { enqueue = [], groups, move } = settlements[index] as Settlement
    if (groups?.length || move) return null
    for (const job of enqueue) {
      if (!isSimple(job)) return null
      jobs.push(job)
      parents.push(position + 1)
    }
  }
  const payloads = column(jobs.map(({ payload }) => payload))
  const headers = column(jobs.map(({ headers }) => headers ?? ''))
  if (payloads === null || headers === null) return null
  const ids = jobs.map(({ id }) => id)
  const parts = [
    idArrayOf(ids),
    payloads,
    headers,
    columnOf(jobs.map(({ space }) => space)),
    columnOf(jobs.map(({ queue }) => queue)),
    idColumnOf(jobs.map(({ member }) => member?.group ?? null)),
    columnOf(jobs.map(({ member }) => member?.n ?? null)),
    arrayOf(parents),
    lowestOf(ids),
  ]
  // Three that are empty come first: what is JSON otherwise.
  return parts.some((part) => part.includes(SEPARATOR)) ? null : ['', '', '', ...parts].join(SEPARATOR)
}

/** Nothing is unusual about it but headers and a place in a group. */
function isSimple({
  unique,
  delayMs,
  runAt,
  priority,
  overrides,
  lane,
  strict,
  cost,
  payload,
}: NewJob): boolean {
  return (
    unique === null &&
    delayMs === 0 &&
    runAt === null &&
    priority === 0 &&
    overrides === null &&
    lane === null &&
    !strict &&
    cost === 1 &&
    payload !== ''
  )
}

/** All in one text; null if one of them holds what stands between them. */
function column(texts: readonly string[]): string | null {
  const text = texts.join(BETWEEN)
  let between = 0
  for (let at = text.indexOf(BETWEEN); at >= 0; at = text.indexOf(BETWEEN, at + 1)) between++
  return between === texts.length - 1 ? text : null
}
