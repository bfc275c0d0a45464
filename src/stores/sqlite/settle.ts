import { type FinalState, isFinal, type Job } from '../../core/job.ts'
import type { Verdict } from '../../core/policy.ts'
import { holder, settle as settled } from '../../core/transitions.ts'
import type { SettleCall, Settlement, SettleReply, SettleResult } from '../../store.ts'
import { claim } from './claim.ts'
import { insertOne } from './insert.ts'
import { find, replace } from './record.ts'
import { STATE_NUMBER, type Turn } from './turn.ts'
import { releaseKey } from './uniques.ts'

/** Ends leases, then claims. */
export function settle(turn: Turn, call: SettleCall, now: number): SettleReply {
  const results = settleMany(turn, call.settlements, now)
  return { results, claimed: call.claim ? claim(turn, call.claim, now) : null }
}

function settleMany(turn: Turn, settlements: readonly Settlement[], now: number): SettleResult[] {
  const results: SettleResult[] = []
  for (let from = 0; from < settlements.length; ) {
    const first = settlements[from] as Settlement
    const numbers = new Map<number, Settlement>()
    let to = from
    for (; to < settlements.length; to++) {
      const n = together(turn, settlements[to] as Settlement, first)
      if (n === undefined || numbers.has(n)) break
      numbers.set(n, settlements[to] as Settlement)
    }
    if (numbers.size > 1 && endTogether(turn, numbers, first, now)) {
      const result = { status: 'ok', state: first.verdict.to } as const
      for (let i = from; i < to; i++) results.push(result)
      from = to
    } else {
      results.push(settleOne(turn, first, now))
      from += 1
    }
  }
  return results
}

/** The number of a job that can be ended together with `first`, by the same few statements. */
function together(turn: Turn, settlement: Settlement, first: Settlement): number | undefined {
  const { verdict } = settlement
  const alike =
    settlement.token === first.token &&
    settlement.enqueue === undefined &&
    settlement.onlyIfExpired !== true &&
    isPlainEnd(verdict) &&
    verdict.to === first.verdict.to &&
    verdict.keepMs === first.verdict.keepMs
  return alike ? turn.held.find(settlement.token, settlement.id) : undefined
}

/** The end of a job that succeeded: no counter moves and nothing failed. Or one that leaves nothing behind. */
function isPlainEnd(verdict: Verdict): boolean {
  if (verdict.to === 'ready' || verdict.to === 'delayed') return false
  if (verdict.keepMs === null) return true
  return verdict.to === 'done' && verdict.count === null && !verdict.refund && verdict.failure === null
}

const LISTED = '(select value from json_each(?1))'
const ARCHIVE = `
  insert into skep_archive (id, q, state, finished_at, expires_at, due_at, enqueued_at, payload, priority,
    headers, overrides, generation, starts, errors, timeouts, lost, snoozes, unique_key, unique_scope,
    token, worker, started_at, result, failure, cancel_reason)
  select j.id, j.q, ?2, ?3, ?4, j.due_at, j.enqueued_at, j.payload, j.priority,
    j.headers, j.overrides, j.generation, j.starts + 1, j.errors, j.timeouts, j.lost, j.snoozes, null, null,
    l.token, l.worker, l.started_at, v.value ->> 1, null, l.cancel_reason
  from json_each(?1) v cross join skep_jobs j on j.n = v.value ->> 0 cross join skep_leases l on l.n = j.n`

/** Ends many leases of one claim at once; false, and nothing is changed, if one of them does not hold. */
function endTogether(
  turn: Turn,
  numbers: ReadonlyMap<number, Settlement>,
  { token, verdict }: Settlement,
  now: number,
): boolean {
  const { db } = turn
  const list = JSON.stringify([...numbers.keys()])
  const rows = db.all(
    `select q, count(*) from skep_leases where n in ${LISTED} and token = ?2 group by q`,
    list,
    token,
  ) as [number, number][]
  if (rows.reduce((sum, [, count]) => sum + count, 0) < numbers.size) return false

  for (const [q, count] of rows) {
    turn.count(q, 'running', -count)
    if (verdict.keepMs !== null) turn.count(q, verdict.to, count)
  }
  if (verdict.keepMs !== null) {
    const results = JSON.stringify([...numbers].map(([n, settlement]) => [n, settlement.verdict.result]))
    db.run(ARCHIVE, results, STATE_NUMBER[verdict.to], now, now + verdict.keepMs)
    turn.archived()
  }
  db.run(`delete from skep_leases where n in ${LISTED}`, list)
  db.run(`delete from skep_jobs where n in ${LISTED}`, list)
  for (const { id } of numbers.values()) {
    if (verdict.keepMs === null) turn.discarded.add(id, token, now)
    turn.held.settled(token, id)
  }
  return true
}

function settleOne(turn: Turn, settlement: Settlement, now: number): SettleResult {
  const placed = find(turn, settlement.id)
  const held = holder(placed?.job, settlement.token)
  // The settlement that removed a job can be repeated too, for as long as the job's id is remembered.
  if (!placed && turn.discarded.tokenOf(settlement.id) === settlement.token) {
    return { status: 'ok', state: settlement.verdict.to }
  }
  if (!placed || held === 'gone' || held === 'lost') {
    return { status: 'refused', reason: held === 'lost' ? 'lost' : 'gone' }
  }
  if (held === 'settled') return { status: 'ok', state: placed.job.state }
  const running = placed.job
  if (settlement.onlyIfExpired && (running.leaseUntil as number) > now) {
    return { status: 'refused', reason: 'not-expired' }
  }

  const ended: Job | null = settled(running, settlement.verdict, now)
  replace(turn, placed, ended)
  turn.held.settled(settlement.token, running.id)
  if (!ended) turn.discarded.add(running.id, settlement.token, now)
  if (!ended || isFinal(ended.state)) releaseKey(turn, placed.q, running, 'end')
  const inserted = settlement.enqueue?.map((fresh) => insertOne(turn, fresh, false, now))
  const state = ended?.state ?? (settlement.verdict.to as FinalState)
  return inserted ? { status: 'ok', state, inserted } : { status: 'ok', state }
}
