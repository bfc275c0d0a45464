/**
 * A store for the search: the pure transitions over a few jobs, put together as `src/stores/memory/store.ts` does, but
 * without changing anything in place. `model.test.ts` walks both in lockstep, so that this one cannot drift away.
 */
import { isFinal, type Job, type JobState, type NewJob } from '../../src/core/jobs/job.ts'
import * as transitions from '../../src/core/jobs/transitions.ts'
import { judge, type Verdict } from '../../src/core/policies/policy.ts'

/** The functions under test. A broken one can be put in to see whether the search notices. */
export type Rules = Pick<
  typeof transitions,
  | 'create'
  | 'claim'
  | 'claimable'
  | 'extend'
  | 'holder'
  | 'keptToken'
  | 'settle'
  | 'finish'
  | 'retry'
  | 'isPossible'
> & { readonly judge: typeof judge }

export const RULES: Rules = { ...transitions, judge }

const REASON = 'stop'
/** What is stored with a job that is cancelled here. */
export const CANCEL: string = transitions.cancelFailure(REASON)

export interface Stored {
  /** By number; null when there is none. */
  readonly jobs: readonly (Job | null)[]
  /** The token whose holder removed a job, and the state it said; null when nobody remembers any. */
  readonly discarded: readonly (Discarded | null)[]
}

interface Discarded {
  readonly token: string | null
  readonly state: JobState
}

export interface Settling {
  readonly job: number
  readonly token: string
  readonly verdict: Verdict
  readonly onlyIfExpired: boolean
  readonly rescue: boolean
}

export type Answer =
  | { readonly status: 'ok'; readonly state: JobState }
  | { readonly status: 'refused'; readonly reason: string }

export function insert(rules: Rules, store: Stored, number: number, job: NewJob, now: number): Stored {
  if (store.jobs[number] || store.discarded[number]) return store
  return put(store, number, rules.create(job, now))
}

/** Takes the job by its id, or changes nothing if it may not be taken. */
export function claim(
  rules: Rules,
  store: Stored,
  number: number,
  lease: transitions.Lease,
  now: number,
): Stored {
  const job = store.jobs[number]
  return job && rules.claimable(job, now) ? put(store, number, rules.claim(job, lease, now)) : store
}

/** Asks for what a claim took whose answer was lost: the lease begins anew if the token still holds. */
export function claimAgain(
  rules: Rules,
  store: Stored,
  number: number,
  lease: transitions.Lease,
  now: number,
): Stored {
  return extend(rules, store, number, lease.token, lease.leaseMs, now).store
}

export function extend(
  rules: Rules,
  store: Stored,
  number: number,
  token: string,
  leaseMs: number,
  now: number,
): { store: Stored; holds: boolean; cancelReason: string | null } {
  const job = store.jobs[number] ?? undefined
  if (!job || rules.holder(job, token) !== 'holds') return { store, holds: false, cancelReason: null }
  const extended = put(store, number, rules.extend(job, leaseMs, now))
  return { store: extended, holds: true, cancelReason: job.cancelReason }
}

export function settle(
  rules: Rules,
  store: Stored,
  settling: Settling,
  now: number,
): { store: Stored; answer: Answer } {
  const { job: number, token, verdict, onlyIfExpired } = settling
  const job = store.jobs[number] ?? undefined
  const kept = rules.keptToken(settling)
  const held = rules.holder(job, token, kept)
  const refused = (reason: string): { store: Stored; answer: Answer } => ({
    store,
    answer: { status: 'refused', reason },
  })
  if (held === 'settled') return { store, answer: { status: 'ok', state: (job as Job).state } }
  const gone = job || kept === null ? null : store.discarded[number]
  if (gone && gone.token === kept) return { store, answer: { status: 'ok', state: gone.state } }
  if (held !== 'holds') return refused(held)
  const running = job as Job
  if (onlyIfExpired && (running.leaseUntil as number) > now) return refused('not-expired')

  const ended = rules.settle(running, verdict, now, kept)
  const state = ended?.state ?? verdict.to
  const answer: Answer = { status: 'ok', state }
  if (ended) return { store: put(store, number, ended), answer }
  const discarded = store.discarded.with(number, { token: kept, state })
  return { store: { ...put(store, number, null), discarded }, answer }
}

export function change(
  rules: Rules,
  store: Stored,
  number: number,
  action: 'cancel' | 'retry',
  keepMs: number,
  now: number,
): { store: Stored; status: 'ok' | 'requested' | 'refused' } {
  const job = store.jobs[number]
  if (!job || !rules.isPossible(action, job.state)) return { store, status: 'refused' }
  if (action === 'retry') return { store: put(store, number, rules.retry(job, now)), status: 'ok' }
  if (job.state === 'running') {
    return { store: put(store, number, { ...job, cancelReason: REASON }), status: 'requested' }
  }
  return { store: put(store, number, rules.finish(job, 'cancelled', CANCEL, keepMs, now)), status: 'ok' }
}

export function hasEnded(job: Job | null | undefined): boolean {
  return !job || isFinal(job.state)
}

function put(store: Stored, number: number, job: Job | null): Stored {
  return { ...store, jobs: store.jobs.with(number, job) }
}
