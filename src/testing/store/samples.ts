import type { NewJob, Unique } from '../../core/jobs/job.ts'
import type { Verdict } from '../../core/policies/policy.ts'

/** The names the suite uses. Nothing else is ever inserted. */
export const SPACE = 'acme'
export const OTHER_SPACE = 'globex'
export const QUEUE = 'mail'
export const OTHER_QUEUE = 'report'

/** When the virtual time of every test begins. */
export const START = 1_800_000_000_000

export const MINUTE = 60_000
export const HOUR = 3_600_000
export const DAY = 86_400_000

const serial = (n: number): string => n.toString(16).padStart(12, '0')

/** The id of sample number `n`. A higher number gives a higher id. */
export function idOf(n: number): string {
  return `01a31c50-0000-7000-8000-${serial(n)}`
}

/** A token no other claim has. Tokens are UUIDs, as the worker makes them. */
export function tokenOf(n: number): string {
  return `01a31c50-0000-7000-9000-${serial(n)}`
}

/** Sample number `n`, due at once, with what differs. */
export function sample(n: number, difference: Partial<NewJob> = {}): NewJob {
  return {
    id: idOf(n),
    space: SPACE,
    queue: QUEUE,
    payload: `{"n":${n}}`,
    headers: null,
    priority: 0,
    delayMs: 0,
    runAt: null,
    unique: null,
    overrides: null,
    lane: null,
    strict: false,
    cost: 1,
    member: null,
    ...difference,
  }
}

/** Samples number `from` to `from + count - 1`. */
export function samples(count: number, difference: Partial<NewJob> = {}, from = 1): NewJob[] {
  return Array.from({ length: count }, (_, i) => sample(from + i, difference))
}

/** A unique key held until the job ends, with what differs. */
export function unique(key: string, difference: Partial<Unique> = {}): Unique {
  return { key, scope: 'active', windowMs: 0, onConflict: 'ignore', ...difference }
}

/** A verdict with nothing in it but `to`, keeping finished jobs for a day, and what differs. */
export function verdict(to: Verdict['to'], difference: Partial<Verdict> = {}): Verdict {
  return {
    to,
    keepMs: DAY,
    delayMs: to === 'delayed' ? MINUTE : 0,
    count: null,
    refund: false,
    keepPlace: false,
    keepCancelledMs: DAY,
    result: null,
    failure: null,
    ...difference,
  }
}

/** The JSON text of a stored failure. */
export function failure(message: string): string {
  return JSON.stringify({ kind: 'error', message })
}

export function idsOf(jobs: readonly { readonly id: string }[]): string[] {
  return jobs.map(({ id }) => id)
}
