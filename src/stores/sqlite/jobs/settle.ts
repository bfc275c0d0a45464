import { type FinalState, isFinal, type Job, type NewJob } from '../../../core/jobs/job.ts'
import { holder, keptToken, settle as settled } from '../../../core/jobs/transitions.ts'
import { DEFAULT_LANE } from '../../../core/lanes/lanes.ts'
import type { LaneVerdict, Verdict } from '../../../core/policies/policy.ts'
import type { SettleCall, Settlement, SettleReply, SettleResult } from '../../../store/store.ts'
import { STATE_NUMBER, type Turn } from '../connection/write-batch.ts'
import { firing, makeGroup } from '../flows/groups.ts'
import type { Ending } from '../flows/members.ts'
import { moveRun } from '../flows/runs.ts'
import { holdOne } from '../lanes/holds.ts'
import { claim } from './claim.ts'
import { insertJobs, takenBy } from './insert.ts'
import { removeNotes, writeNote } from './job-log.ts'
import { find, type Placed, replace } from './job-row.ts'
import type { HeldBatch } from './leases.ts'
import { releaseKey } from './unique-keys.ts'

/** Ends leases, then claims. */
export function settle(turn: Turn, call: SettleCall, now: number): SettleReply {
  const results = settleMany(turn, call.settlements, now)
  const fired = firing(turn, now)
  turn.intake.write(turn)
  return { results, claimed: call.claim ? claim(turn, call.claim, now) : null, ...fired }
}

function settleMany(turn: Turn, settlements: readonly Settlement[], now: number): SettleResult[] {
  const results: SettleResult[] = []
  for (let from = 0; from < settlements.length; ) {
    const first = settlements[from] as Settlement
    const batch = turn.held.find(first.token, first.space, first.id)
    let to = from
    while (batch && to < settlements.length && isAlike(settlements[to] as Settlement, first, batch)) to++
    const alike = batch && to - from > 1 ? settlements.slice(from, to) : []
    const isFree =
      alike.length > 0 &&
      takenBy(
        turn,
        alike.flatMap(({ enqueue = [] }) => enqueue),
      ).length === 0
    if (batch && isFree && endTogether(turn, batch, alike, now)) {
      results.push(...withFollowing(turn, alike, now))
      from = to
    } else {
      results.push(settleOne(turn, first, now))
      from += 1
    }
  }
  return results
}

/** The results of settlements that ended together, with the jobs that follow those of chains. */
function withFollowing(turn: Turn, settlements: readonly Settlement[], now: number): SettleResult[] {
  const { to: state } = (settlements[0] as Settlement).verdict
  const jobs = settlements.flatMap(({ enqueue = [] }) => enqueue)
  const inserted = jobs.length > 0 ? insertJobs(turn, { jobs }, now) : []
  let next = 0
  return settlements.map(({ enqueue }) => {
    if (enqueue === undefined) return { status: 'ok', state }
    next += enqueue.length
    return { status: 'ok', state, inserted: inserted.slice(next - enqueue.length, next) }
  })
}

/** Whether a job can be ended together with `first`, by the same few statements. */
function isAlike(settlement: Settlement, first: Settlement, batch: HeldBatch): boolean {
  const { verdict } = settlement
  return (
    settlement.token === first.token &&
    settlement.space === first.space &&
    (settlement.handsOn ?? false) === (first.handsOn ?? false) &&
    (settlement.enqueue === undefined ||
      (settlement.handsOn === true && settlement.enqueue.every(isPlain))) &&
    settlement.groups === undefined &&
    settlement.move === undefined &&
    settlement.note === undefined &&
    settlement.noted !== true &&
    settlement.onlyIfExpired !== true &&
    settlement.rescue !== true &&
    verdict.to === first.verdict.to &&
    verdict.keepMs === first.verdict.keepMs &&
    isPlainEnd(verdict) &&
    batch.numbers.has(settlement.id)
  )
}

function isPlain({ unique }: NewJob): boolean {
  return unique === null
}

/** The end of a job that succeeded: no counter moves and nothing failed. Or one that leaves nothing behind. */
function isPlainEnd(verdict: Verdict): boolean {
  if (verdict.to === 'ready' || verdict.to === 'delayed' || verdict.lane !== undefined) return false
  if (verdict.keepMs === null) return true
  return verdict.to === 'done' && verdict.count === null && !verdict.refund && verdict.failure === null
}

const archiveWith = (membership: string): string => `
  insert into skep_archive (id, space, q, state, finished_at, expires_at, due_at, enqueued_at, payload, priority,
    headers, overrides, generation, starts, errors, timeouts, lost, snoozes, unique_key, unique_scope,
    lane, strict, cost, arrival, group_id, member, token, worker, started_at, result, failure, cancel_reason)
  select j.id, j.space, j.q, ?, ?, ?, j.due_at, j.enqueued_at, j.payload, j.priority,
    j.headers, j.overrides, j.generation, j.starts + 1, j.errors, j.timeouts, j.lost, j.snoozes, null, null,
    j.lane, j.strict, j.cost, case when j.strict then coalesce(j.arrival, j.n) end, ${membership}, l.token, l.worker, l.started_at, `
const ARCHIVE = archiveWith('j.group_id, j.member')
const ARCHIVE_HANDED_ON = archiveWith('null, null')
const archiveResults = (archive: string): string => `${archive} v.value ->> 1, null, l.cancel_reason
  from json_each(?) v cross join skep_jobs j on j.n = v.value ->> 0 cross join skep_leases l on l.n = j.n`
const archiveNone = (archive: string, span: string): string => `${archive} null, null, l.cancel_reason
  from skep_jobs j cross join skep_leases l on l.n = j.n where j.${span}`

/** Ends many leases of one claim at once; false, and nothing is changed, if one of them does not hold. */
function endTogether(turn: Turn, batch: HeldBatch, settlements: readonly Settlement[], now: number): boolean {
  const { db } = turn
  const { token, verdict, handsOn = false } = settlements[0] as Settlement
  const archive = handsOn ? ARCHIVE_HANDED_ON : ARCHIVE
  const numbers = settlements.map(({ id }) => batch.numbers.get(id) as number)
  // Whatever is named twice is left to those who look at one after the other.
  if (new Set(numbers).size < numbers.length) return false
  const spans = spansOf(numbers)
  let held = 0
  for (const [span, ...values] of spans) {
    const sql = `select count(*) from skep_leases where ${span} and token = ?`
    held += (db.get(sql, ...values, token) as [number])[0]
  }
  if (held < numbers.length) return false

  turn.count(batch.q, 'running', -numbers.length)
  if (verdict.keepMs !== null) {
    turn.count(batch.q, STATE_NUMBER[verdict.to], numbers.length)
    turn.archived()
    const end = [STATE_NUMBER[verdict.to], now, now + verdict.keepMs] as const
    if (settlements.some((settlement) => settlement.verdict.result !== null)) {
      const results = settlements.map((settlement, i) => [numbers[i], settlement.verdict.result])
      db.run(archiveResults(archive), ...end, JSON.stringify(results))
    } else for (const [span, ...values] of spans) db.run(archiveNone(archive, span), ...end, ...values)
  }
  for (const [span, ...values] of spans) {
    db.run(`delete from skep_leases where ${span}`, ...values)
    db.run(`delete from skep_jobs where ${span}`, ...values)
  }
  const ids = settlements.map(({ id }) => id)
  if (verdict.keepMs === null)
    turn.discarded.add(batch.q, ids, { token, state: verdict.to as FinalState }, now)
  turn.held.settled(batch, ids)
  if (batch.members.size > 0 && !handsOn) endMembers(turn, batch, settlements, now)
  const line = turn.lanes.line(batch.q)
  if (line) {
    const ended = ids.map((id) => [id, batch.lanes.get(id) ?? DEFAULT_LANE] as const)
    turn.lanes.vacateAll(line, ended, now)
  }
  return true
}

function endMembers(turn: Turn, batch: HeldBatch, settlements: readonly Settlement[], now: number): void {
  const ends = settlements.flatMap(({ id, verdict }) => {
    const member = batch.members.get(id)
    return member ? [{ member, outcome: { id, ...endingOf(verdict) } }] : []
  })
  turn.members.endMany(ends, now)
}

function endingOf({ to, result, failure }: Verdict): Ending {
  return { state: to as FinalState, result, failure }
}

/** A condition on `n` with its values. */
type Span = readonly [condition: string, ...values: (number | string)[]]

/**
 * The same numbers as conditions. Jobs that were inserted together were claimed together and mostly end together, so
 * a few ranges say it all; otherwise they are listed.
 */
function spansOf(numbers: readonly number[]): Span[] {
  const sorted = Float64Array.from(numbers).sort()
  const spans: Span[] = []
  let from = 0
  for (let i = 1; i <= sorted.length; i++) {
    if (i < sorted.length && sorted[i] === (sorted[i - 1] as number) + 1) continue
    spans.push(['n between ? and ?', sorted[from] as number, sorted[i - 1] as number])
    from = i
  }
  if (spans.length <= 4) return spans
  return [['n in (select value from json_each(?))', JSON.stringify(numbers)]]
}

function settleOne(turn: Turn, settlement: Settlement, now: number): SettleResult {
  turn.intake.write(turn)
  const placed = find(turn, settlement.space, settlement.id)
  const { token } = settlement
  const kept = keptToken(settlement)
  const held = holder(placed?.job, token, kept)
  const isEarly = settlement.onlyIfExpired === true && (placed?.job.leaseUntil ?? 0) > now
  if (held === 'holds' && !isEarly && settlement.enqueue) {
    const { to, keepMs } = settlement.verdict
    const leaves = isFinal(to) && keepMs === null
    const taken = takenBy(turn, settlement.enqueue, leaves ? settlement : undefined)
    if (taken.length > 0) return { status: 'refused', reason: 'taken', taken }
  }
  if (settlement.note) writeNote(turn, placed, token, settlement.note, now)
  // The settlement that removed a job can be repeated too, for as long as the job's id is remembered.
  const gone = placed || kept === null ? null : turn.discarded.find(settlement, kept)
  if (gone) return { status: 'ok', state: gone.state }
  if (!placed || held === 'gone' || held === 'lost') {
    return { status: 'refused', reason: held === 'lost' ? 'lost' : 'gone' }
  }
  if (held === 'settled') return { status: 'ok', state: placed.job.state }
  const running: Job = settlement.handsOn ? { ...placed.job, member: null } : placed.job
  if (isEarly) return { status: 'refused', reason: 'not-expired' }

  const ended: Job | null = settled(running, settlement.verdict, now, kept)
  replace(turn, { ...placed, job: running }, ended, now, ended ? null : endingOf(settlement.verdict))
  const batch = turn.held.find(token, running.space, running.id)
  if (batch) turn.held.settled(batch, [running.id])
  const state = ended?.state ?? (settlement.verdict.to as FinalState)
  if (!ended)
    turn.discarded.add(
      placed.q,
      [running.id],
      kept === null ? null : { token: kept, state: state as FinalState },
      now,
    )
  if (!ended && settlement.noted) removeNotes(turn, [running])
  if (!ended || isFinal(ended.state)) releaseKey(turn, placed.q, running, 'end')
  if (settlement.verdict.lane) applyToLane(turn, placed, settlement.verdict.lane, now)
  if (settlement.move) moveRun(turn, settlement.move, now)
  for (const group of settlement.groups ?? []) makeGroup(turn, group, now)
  const inserted = settlement.enqueue && insertJobs(turn, { jobs: settlement.enqueue }, now)
  return inserted ? { status: 'ok', state, inserted } : { status: 'ok', state }
}

/** What a verdict says about the lane of its job. */
function applyToLane(turn: Turn, { job, q }: Placed, verdict: LaneVerdict, now: number): void {
  const key = job.lane ?? DEFAULT_LANE
  if ('waitMs' in verdict) {
    turn.lanes.wait(turn.lanes.limited(q, now), key, now + verdict.waitMs, now)
    return
  }
  const target = { space: job.space, queue: job.queue, lane: key }
  holdOne(turn, { kind: 'pause', ...target, reason: verdict.pause, by: 'skep', forMs: null }, now)
}
