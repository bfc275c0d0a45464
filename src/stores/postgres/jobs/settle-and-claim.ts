import { type ClaimedJob, type NewJob, rankOf } from '../../../core/jobs/job.ts'
import { takenIn } from '../../../core/jobs/taken-ids.ts'
import { slicesOf } from '../../../core/lanes/key-range.ts'
import type { Verdict } from '../../../core/policies/policy.ts'
import type {
  ClaimCall,
  ClaimReply,
  InsertResult,
  Refusal,
  SettleCall,
  Settlement,
  SettleReply,
  SettleResult,
  Source,
} from '../../../store/store.ts'
import type { Param, Query, Row } from '../connection/driver.ts'
import { arrayOf, idArrayOf } from '../connection/literals.ts'
import { type EnqueuedRow, hear } from '../flows/flow-rows.ts'
import { type Grouped, groupSettlements } from '../flows/groups.ts'
import { insertResults, type Odd } from './insert.ts'
import { settleStatement } from './job-log.ts'
import { addClaimed, startedAtOnce, stateOf } from './job-row.ts'
import type { Search, Starts } from './scan-start.ts'
import { broughtBy } from './settle-enqueues.ts'

/** What the last row of `settle_and_claim` tells. */
interface Report extends Remarks {
  readonly now: number
  readonly next: number | null
  readonly crowded: boolean
}

interface Remarks {
  /** [n, state, 0]: this token settled it before. [n, 6, 1]: stopped just now. [n, reason]: refused. */
  readonly odd:
    | readonly (readonly [number, number, 0 | 1] | readonly [number, Refusal | 'not-expired', 0?])[]
    | null
  /** For each round, what was odd about the jobs inserted in it. */
  readonly fresh: readonly (readonly Odd[] | null)[] | null
  /** Queues to which jobs went back: [space, queue, state, lowest rank, first due time]. */
  readonly waiting: readonly (readonly [string, string, number, number, number])[] | null
  /** Limited sources: [n, rank and id of the first job without a lane]. `n` counts from 1. */
  readonly limited: readonly (readonly [number, number | null, string | null])[] | null
  /** What groups and moves have enqueued. */
  readonly enqueued: readonly EnqueuedRow[] | null
  /** Sources that were held, so that nothing was looked for in them. Counted from 1. */
  readonly held: readonly number[] | null
}

/** Nearly all settlements end like one of these. */
const OK: Readonly<Record<Verdict['to'], SettleResult>> = {
  done: { status: 'ok', state: 'done' },
  failed: { status: 'ok', state: 'failed' },
  dead: { status: 'ok', state: 'dead' },
  cancelled: { status: 'ok', state: 'cancelled' },
  ready: { status: 'ok', state: 'ready' },
  delayed: { status: 'ok', state: 'delayed' },
}

const SETTLE_AND_CLAIM = `settle_and_claim($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
        $7::bigint[], string_to_array($8::text, chr(30), ''), $9::text[], $10::uuid[], $11::text[], $12::text[], $13::bigint[], $14::uuid[], $15::integer[],
        $16::bigint)`

const NOTHING: Remarks = Object.freeze({
  odd: null,
  fresh: null,
  waiting: null,
  limited: null,
  enqueued: null,
  held: null,
})

/**
 * Settles, and if that is refused because the id of a job to be enqueued is taken, in halves, one after the other, until the
 * settlements that want such ids are alone. Nothing of a call that is refused has happened.
 */
export async function settleApart(
  send: (call: SettleCall) => Promise<SettleReply>,
  call: SettleCall,
): Promise<SettleReply> {
  const { settlements, claim, ...rest } = call
  try {
    return await send(call)
  } catch (error) {
    const taken = takenIn(error)
    if (taken.length === 0) throw error
    const last = claim === undefined ? {} : { claim }
    if (settlements.length <= 1) {
      const refused: SettleResult = { status: 'refused', reason: 'taken', taken }
      const reply = claim ? await send({ settlements: [], ...last, ...rest }) : NO_REPLY
      return { ...reply, results: [refused] }
    }
    const middle = Math.ceil(settlements.length / 2)
    const first = await settleApart(send, { settlements: settlements.slice(0, middle), ...rest })
    const second = await settleApart(send, { settlements: settlements.slice(middle), ...last, ...rest })
    const enqueued = [...(first.enqueued ?? []), ...(second.enqueued ?? [])]
    const results = [...first.results, ...second.results]
    return { ...second, results, ...(enqueued.length > 0 && { enqueued }) }
  }
}

const NO_REPLY: SettleReply = { results: [], claimed: null }

/** Sends one settle, one claim, or both in one statement; see `migrations/settle-function.ts`. */
export async function settleAndClaim(
  query: Query,
  schema: string,
  starts: Starts,
  call: SettleCall,
): Promise<SettleReply> {
  const { settlements, claim, lockWaitMs, now } = call
  const grouped = groupSettlements(settlements)
  // A claim from a range may not look at the head of a queue, so it remembers nothing about it.
  const isExact =
    now !== undefined ||
    claim?.ids !== undefined ||
    claim?.again === true ||
    claim?.sources.some(isRanged) === true
  const search = claim && starts.begin(claim.sources, isExact)
  let rows: readonly Row[]
  try {
    const params = [
      ...settleParams(settlements, grouped),
      ...claimParams(claim, search, settlements),
      now === undefined ? null : String(now),
    ]
    const statement = settleStatement(schema, settlements, SETTLE_AND_CLAIM, params, lockWaitMs)
    rows = await query(statement.text, statement.params)
  } catch (error) {
    search?.failed()
    throw error
  }

  const report = readReport(rows.at(-1) as Row)
  for (const [space, queue, state, rank, dueAt] of report.waiting ?? []) {
    starts.lower({ space, queue }, state === 0 ? 'delayed' : 'ready', rank, dueAt)
  }
  return {
    results: settleResults(settlements, grouped, report, starts),
    claimed: claim && search ? claimReply(claim, search, rows, report, settlements) : null,
    ...(report.enqueued === null ? {} : { enqueued: hear(report.enqueued, starts) }),
  }
}

/** The results or failures of the verdicts, in the order of the groups; nothing at all when there are none. */
function textsOf(grouped: Grouped, settlements: readonly Settlement[], which: 'result' | 'failure'): string {
  const texts = grouped.order.map((index) => {
    const { verdict, handsOn } = settlements[index] as Settlement
    // What was given to the next of a chain, and is not kept, nobody reads.
    return handsOn && verdict.to === 'done' && verdict.keepMs === null ? null : verdict[which]
  })
  return texts.every((text) => text === null) ? '{}' : arrayOf(texts)
}

function delaysOf(grouped: Grouped, settlements: readonly Settlement[]): string {
  if (!settlements.some((settlement) => settlement.verdict.to === 'delayed')) return '{}'
  return arrayOf(grouped.order.map((index) => (settlements[index] as Settlement).verdict.delayMs))
}

function settleParams(settlements: readonly Settlement[], grouped: Grouped): Param[] {
  if (settlements.length === 0) return ['{}', '{}', '{}', '{}', '{}', '{}', '{}', null]
  return [
    idArrayOf(grouped.order.map((index) => (settlements[index] as Settlement).id)),
    arrayOf(grouped.groups.map((group) => group.text)),
    arrayOf(grouped.groups.map((group) => group.token)),
    arrayOf(grouped.groups.map((group) => group.pause)),
    textsOf(grouped, settlements, 'result'),
    textsOf(grouped, settlements, 'failure'),
    delaysOf(grouped, settlements),
    broughtBy(grouped, settlements),
  ]
}

function claimParams(
  claim: Omit<ClaimCall, 'now'> | undefined,
  search: Search | undefined,
  settlements: readonly Settlement[],
): Param[] {
  if (!claim || !search) return [null, null, '{}', '{}', '{}', '{}', null]
  const { sources, ids, first, token, workerId, leaseMs, limit, again } = claim
  const ahead = first?.length && !ids && !again ? aheadOf(first, settlements) : null
  return [
    arrayOf([token, workerId, leaseMs, limit, ...(again ? ['again'] : ahead === null ? [] : [null, ahead])]),
    ids ? idArrayOf([...new Set(ids)]) : null,
    arrayOf(sources.map((source) => source.space)),
    arrayOf(sources.map((source) => source.queue)),
    arrayOf(
      sources.flatMap((source, n) => [source.limit, search.starts[n]?.rank ?? 0, search.starts[n]?.due ?? 0]),
    ),
    idArrayOf(search.starts.map((start) => start.id)),
    sources.some(isRanged) ? arrayOf(sources.flatMap(slicesIn)) : null,
  ]
}

/** Which jobs go before all others. That they are all that comes along is said shortly: it is so with every step of chains. */
function aheadOf(first: readonly string[], settlements: readonly Settlement[]): string {
  const names = new Set(first)
  let brought = 0
  for (const { enqueue = [] } of settlements) {
    for (const { id } of enqueue) if (!names.has(id)) return idArrayOf(first)
    brought += enqueue.length
  }
  return brought === names.size ? 'all' : idArrayOf(first)
}

function isRanged({ keys }: Source): boolean {
  return keys !== undefined
}

function slicesIn({ keys }: Source): readonly (number | null)[] {
  if (keys === undefined) return [null, null]
  const { first, end } = slicesOf(keys)
  return [first, end]
}

function readReport(row: Row): Report {
  const remarks = row[2] === null ? NOTHING : (JSON.parse(row[2] as string) as Remarks)
  return {
    ...remarks,
    now: Number(row[6]),
    next: row[7] === null ? null : Number(row[7]),
    crowded: row[8] !== null,
  }
}

function settleResults(
  settlements: readonly Settlement[],
  grouped: Grouped,
  report: Report,
  starts: Starts,
): SettleResult[] {
  if (report.odd === null && report.fresh === null && !settlements.some(({ enqueue }) => enqueue)) {
    return settlements.map(({ verdict }) => OK[verdict.to])
  }
  if (report.odd === null && (report.fresh ?? []).every((odds) => odds === null)) {
    return allAsSaid(settlements, report.now, starts)
  }
  const oddOf = new Map((report.odd ?? []).map((odd) => [odd[0], odd]))
  const results: SettleResult[] = []
  const inserted = insertedOf(settlements, grouped, report, oddOf, starts)
  grouped.order.forEach((index, position) => {
    const { verdict, enqueue } = settlements[index] as Settlement
    const odd = oddOf.get(position + 1)
    const outcome = odd?.[1] ?? verdict.to
    if (odd && typeof odd[1] === 'string') results[index] = { status: 'refused', reason: odd[1] }
    else {
      const state = typeof outcome === 'number' ? stateOf(outcome) : verdict.to
      const isNew = !odd || odd[2] === 1
      results[index] =
        isNew && enqueue
          ? { status: 'ok', state, inserted: inserted.get(position) ?? [] }
          : { status: 'ok', state }
    }
  })
  return results
}

/** The results if nothing was odd. Mostly all jobs came to one place. */
function allAsSaid(settlements: readonly Settlement[], now: number, starts: Starts): SettleResult[] {
  const ready: InsertResult = { status: 'ok', state: 'ready', dueAt: now }
  let last: NewJob | null = null
  return settlements.map(({ verdict, enqueue }) => {
    if (enqueue === undefined) return OK[verdict.to]
    const inserted = enqueue.map((job): InsertResult => {
      const isReady = job.delayMs === 0 && job.runAt === null && job.priority === 0
      if (!isReady) return insertResults([job], [], now, starts)[0] as InsertResult
      if (last?.queue !== job.queue || last.space !== job.space) starts.lower(job, 'ready', now, now)
      last = job
      return ready
    })
    return { status: 'ok', state: verdict.to, inserted }
  })
}

/** The results of the jobs that accepted settlements brought along, by the settlement's position. */
function insertedOf(
  settlements: readonly Settlement[],
  grouped: Grouped,
  report: Report,
  oddOf: ReadonlyMap<number, readonly unknown[]>,
  starts: Starts,
): Map<number, InsertResult[]> {
  const inserted = new Map<number, InsertResult[]>()
  grouped.rounds.forEach((round, number) => {
    const jobs: NewJob[] = []
    const parents: number[] = []
    for (const position of round) {
      const odd = oddOf.get(position + 1)
      if (odd && odd[2] !== 1) continue
      inserted.set(position, [])
      for (const job of (settlements[grouped.order[position] as number] as Settlement).enqueue ?? []) {
        jobs.push(job)
        parents.push(position)
      }
    }
    const results = insertResults(jobs, report.fresh?.[number] ?? [], report.now, starts)
    results.forEach((result, index) => {
      inserted.get(parents[index] as number)?.push(result)
    })
  })
  return inserted
}

function claimReply(
  claim: Omit<ClaimCall, 'now'>,
  search: Search,
  rows: readonly Row[],
  report: Report,
  settlements: readonly Settlement[],
): ClaimReply {
  const bySource: ClaimedJob[][] = claim.sources.map(() => [])
  const limited = new Map((report.limited ?? []).map(([n, rank, id]) => [n - 1, { rank, id }]))
  const orders: string[][] = claim.sources.map(() => [])
  for (let i = 0; i < rows.length - 1; i++) {
    const row = rows[i] as Row
    const source = row[0] === null ? 0 : Number(row[0]) - 1
    const jobs = bySource[source] as ClaimedJob[]
    if (row[2] === null) addOwn(jobs, row, settlements, claim.token)
    else addClaimed(jobs, row, claim.sources[source] as { space: string; queue: string }, claim.token)
    if (row[10] !== null) orders[source]?.push(...(row[10] as string).split(','))
  }
  const ahead = takeAhead(claim, bySource, (source) => limited.has(source))
  const placeOf =
    claim.ids && !claim.again && new Map([...claim.ids.entries()].reverse().map(([place, id]) => [id, place]))
  for (const [source, jobs] of bySource.entries()) {
    const order = orders[source] as string[]
    // They come in the order in which they lie in the table.
    if (order.length > 0) bySource[source] = inOrder(jobs, order)
    else if (placeOf) jobs.sort((a, b) => (placeOf.get(a.id) ?? 0) - (placeOf.get(b.id) ?? 0))
    else jobs.sort(byRank)
  }
  const held = new Set(report.held)
  search.found(
    (source) => {
      if (held.has(source + 1)) return 'held'
      const line = limited.get(source)
      if (line) return line.rank === null ? undefined : { rank: line.rank, id: line.id as string }
      const first = bySource[source]?.[0]
      return first && { rank: rankOf(first.dueAt, first.priority), id: first.id }
    },
    report.crowded ? null : report.now,
  )
  return {
    jobs: bySource.flatMap((jobs, source) => [...(ahead[source] ?? []), ...jobs]),
    nextDueAt: report.next,
    ...(limited.size > 0 ? { limited: [...limited.keys()] } : {}),
    now: report.now,
  }
}

/** Those that went before others, out of line: of what waits in it they tell nothing. */
function takeAhead(
  { first = [], ids, again }: Omit<ClaimCall, 'now'>,
  bySource: ClaimedJob[][],
  isLimited: (source: number) => boolean,
): readonly ClaimedJob[][] {
  if (first.length === 0 || ids || again) return []
  const names = new Set(first)
  return bySource.map((jobs, source) => {
    if (isLimited(source)) return []
    const ahead = jobs.filter(({ id }) => names.has(id)).sort(byRank)
    if (ahead.length > 0) bySource[source] = jobs.filter(({ id }) => !names.has(id))
    return ahead
  })
}

function inOrder(jobs: readonly ClaimedJob[], ids: readonly string[]): ClaimedJob[] {
  const byId = new Map(jobs.map((job) => [job.id, job]))
  return ids.map((id) => byId.get(id) as ClaimedJob)
}

/** Jobs that the settlements of this call brought along, and that its claim took at once. */
function addOwn(to: ClaimedJob[], row: Row, settlements: readonly Settlement[], token: string): void {
  const sent = new Map<string, NewJob>()
  for (const { enqueue = [] } of settlements) for (const job of enqueue) sent.set(job.id, job)
  const now = Number(row[6])
  for (const id of (row[1] as string).split(',')) {
    const { space, queue, payload, headers } = sent.get(id) as NewJob
    to.push(startedAtOnce({ id, space, queue, payload, headers, token }, now))
  }
}

function byRank(a: ClaimedJob, b: ClaimedJob): number {
  return rankOf(a.dueAt, a.priority) - rankOf(b.dueAt, b.priority) || (a.id < b.id ? -1 : 1)
}
