import type { ClaimedJob, Job, JobState, UniqueConflict, UniqueScope } from '../../../core/jobs/job.ts'
import type { ExpiredLease } from '../../../store/store.ts'
import type { Row } from '../connection/driver.ts'
import { SEPARATOR } from '../connection/literals.ts'

// Clients differ in what they make of numbers (text, number, bigint), so each one is converted here.
const optional = (value: unknown): number | null => (value === null ? null : Number(value))

/** The columns of `every_job`, for SELECT, in the order in which {@link toJob} reads them. */
export const JOB_SELECT = `id, space, queue, state, payload, headers, priority, overrides, due_at, enqueued_at,
  started_at, generation, starts, errors, timeouts, lost, snoozes, token, worker, cancel_reason, unique_key,
  unique_scope, result, failure, lease_until, finished_at, expires_at, lane, is_strict, cost, group_id, nth, arrival`

/** Where `every_job` has the rank of a job that waits. */
export const RANK = 33

/** Clients differ here too. */
export function isTrue(value: unknown): boolean {
  return value === true || value === 't' || value === 'true'
}

export function toJob(row: Row): Job {
  const scope = row[21]
  return {
    id: row[0] as string,
    space: row[1] as string,
    queue: row[2] as string,
    state: stateOf(row[3]),
    payload: row[4] as string,
    headers: row[5] as string | null,
    priority: Number(row[6]),
    overrides: row[7] as string | null,
    lane: row[27] as string | null,
    strict: isTrue(row[28]),
    cost: row[29] === null ? 1 : Number(row[29]),
    member: row[30] === null ? null : { group: row[30] as string, n: Number(row[31]) },
    dueAt: Number(row[8]),
    enqueuedAt: Number(row[9]),
    ...(row[32] !== null && { arrival: Number(row[32]) }),
    startedAt: optional(row[10]),
    finishedAt: optional(row[25]),
    expiresAt: optional(row[26]),
    generation: Number(row[11]),
    starts: Number(row[12]),
    errors: Number(row[13]),
    timeouts: Number(row[14]),
    lost: Number(row[15]),
    snoozes: Number(row[16]),
    token: row[17] as string | null,
    worker: row[18] as string | null,
    leaseUntil: optional(row[24]),
    cancelReason: row[19] as string | null,
    uniqueKey: row[20] as string | null,
    uniqueScope: scope === null ? null : scopeOf(scope),
    result: row[22] as string | null,
    failure: row[23] as string | null,
  }
}

/** The jobs of a row of `settle_and_claim`, in which null stands for what is usual, added to `to`. */
export function addClaimed(
  to: ClaimedJob[],
  row: Row,
  source: { space: string; queue: string },
  token: string,
): void {
  const ids = (row[1] as string).split(',')
  const isAlone = ids.length === 1
  const payloads = isAlone ? [row[2] as string] : (row[2] as string).split(SEPARATOR)
  const headers = row[3] === null || isAlone ? [row[3] as string | null] : (row[3] as string).split(SEPARATOR)
  const lanes = row[9] === null || isAlone ? [row[9] as string | null] : (row[9] as string).split(SEPARATOR)
  const dueAts = isAlone ? [row[6] as string] : (row[6] as string).split(',')
  const counters = row[8] as string | null
  const [starts, errors, timeouts, lost, snoozes, generation] =
    counters === null ? UNTOUCHED : (counters.split(',').map(Number) as Sixfold)
  for (let i = 0; i < ids.length; i++) {
    const dueAt = Number(dueAts[i])
    to.push({
      id: ids[i] as string,
      space: source.space,
      queue: source.queue,
      payload: payloads[i] as string,
      headers: headers[i] ?? null,
      priority: row[5] === null ? 0 : Number(row[5]),
      overrides: row[4] as string | null,
      lane: lanes[i] || null,
      dueAt,
      enqueuedAt: row[7] === null ? dueAt : Number(row[7]),
      generation,
      starts,
      errors,
      timeouts,
      lost,
      snoozes,
      token,
    })
  }
}

/** A job of which nothing is unusual, enqueued and claimed at the same moment. */
export function startedAtOnce(
  { id, space, queue, payload, headers, token }: Started,
  now: number,
): ClaimedJob {
  const [starts, errors, timeouts, lost, snoozes, generation] = UNTOUCHED
  return {
    id,
    space,
    queue,
    payload,
    headers,
    priority: 0,
    overrides: null,
    lane: null,
    dueAt: now,
    enqueuedAt: now,
    generation,
    starts,
    errors,
    timeouts,
    lost,
    snoozes,
    token,
  }
}

type Started = Pick<ClaimedJob, 'id' | 'space' | 'queue' | 'payload' | 'headers' | 'token'>
type Sixfold = [number, number, number, number, number, number]
const UNTOUCHED: Readonly<Sixfold> = [1, 0, 0, 0, 0, 0]

/** A row of `expired_leases`. */
export function toExpired(row: Row): ExpiredLease {
  return {
    id: row[0] as string,
    space: row[1] as string,
    queue: row[2] as string,
    payload: row[3] as string,
    headers: row[4] as string | null,
    priority: Number(row[6]),
    overrides: row[5] as string | null,
    lane: row[19] as string | null,
    dueAt: Number(row[7]),
    enqueuedAt: Number(row[8]),
    generation: Number(row[14]),
    starts: Number(row[9]),
    errors: Number(row[10]),
    timeouts: Number(row[11]),
    lost: Number(row[12]),
    snoozes: Number(row[13]),
    token: row[15] as string,
    workerId: row[16] as string,
    cancelReason: row[17] as string | null,
    over: Number(row[18]) <= Number(row[20]),
  }
}

/** How states, scopes and rules are stored. The numbers are in users' databases: they never change. */
export const STATE_CODES: Readonly<Record<JobState, number>> = {
  delayed: 0,
  ready: 1,
  running: 2,
  done: 3,
  failed: 4,
  dead: 5,
  cancelled: 6,
}

const STATES = Object.keys(STATE_CODES) as JobState[]

export function stateOf(code: unknown): JobState {
  return STATES[Number(code)] as JobState
}

export const SCOPE_CODES: Readonly<Record<UniqueScope, number>> = { queued: 0, active: 1, window: 2 }

const SCOPES = Object.keys(SCOPE_CODES) as UniqueScope[]

export function scopeOf(code: unknown): UniqueScope {
  return SCOPES[Number(code)] as UniqueScope
}

export const CONFLICT_CODES: Readonly<Record<UniqueConflict, number>> = { ignore: 0, replace: 1, postpone: 2 }

/** What a conflict did, by the same numbers. */
export const CONFLICT_ACTIONS = ['ignored', 'replaced', 'postponed'] as const

/** Which counter a verdict raises. */
export const COUNTER_CODES = { errors: 1, timeouts: 2, lost: 3, snoozes: 4 } as const
