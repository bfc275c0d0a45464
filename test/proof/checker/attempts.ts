import type { Counters } from '../../../src/core/jobs/job.ts'
import type { AuditEntry, AuditRow, QueueFacts, Violation } from '../history.ts'
import {
  claimsLease,
  commanded,
  ends,
  type Invariant,
  type JobView,
  type LeaseView,
  releasesLease,
  retries,
  type View,
  waits,
  wasRescued,
} from './view.ts'

/** I-8: every start and every failure is counted once, and the budgets decide, exactly, when a job has failed. */
export const attempts: Invariant = function* (view) {
  for (const job of view.jobs.values()) {
    for (const entry of job.audit) {
      const why = wrongCount(view, job, entry) ?? wrongEnd(view, job, entry)
      if (why !== null) yield wrong(job.id, why)
    }
    for (const lease of job.leases) {
      const why = wrongAttempt(lease)
      if (why !== null) yield wrong(job.id, why)
    }
  }
}

const FAILURES = ['errors', 'timeouts', 'lost'] as const
const NAMES = ['starts', ...FAILURES, 'snoozes'] as const satisfies readonly (keyof Counters)[]
const NONE: Counters = { starts: 0, errors: 0, timeouts: 0, lost: 0, snoozes: 0 }

function wrongCount(view: View, job: JobView, entry: AuditEntry): string | null {
  const { before, after } = entry
  const is = after?.counters
  if (is === undefined) return null
  if (before === null || retries(entry)) {
    return same(is, NONE) ? null : `It began with counters ${text(is)}.`
  }
  const was = before.counters
  if (was === undefined) return null
  const moved = `Its counters went from ${text(was)} to ${text(is)}`

  // One lease took the place of another: that is wrong enough.
  if (releasesLease(entry) && claimsLease(entry)) return null
  if (releasesLease(entry)) return wrongRelease(view, job, entry, was, is, moved)
  // An enqueue with its key may have given it another payload, and with it a new budget.
  const mayBeReplaced = (before.unique ?? null) !== null && waits(before.state) && waits(after?.state)
  if (mayBeReplaced && same(is, { ...NONE, starts: was.starts })) return null
  const should = claimsLease(entry) ? { ...was, starts: was.starts + 1 } : was
  return same(is, should) ? null : `${moved} as it went from ${before.state} to ${after?.state}.`
}

function wrongRelease(
  view: View,
  job: JobView,
  { before, after }: AuditEntry,
  was: Counters,
  is: Counters,
  moved: string,
): string | null {
  const lease = view.leaseOf(job.id, before?.token ?? '')
  const started = (lease?.starts.length ?? 0) > 0
  const refunds = was.starts - is.starts
  const counted = NAMES.slice(1).map((name) => is[name] - was[name])
  const total = counted.reduce((sum, step) => sum + step, 0)
  if (counted.some((step) => step < 0 || step > 1) || total > 1 || refunds < 0 || refunds > 1) {
    return `${moved} when its lease ended.`
  }
  if (refunds + total > 1) return `${moved}: a job that goes back unrun counts nothing.`
  if (after?.state === 'done' && refunds + total > 0) return `${moved} although it succeeded.`
  const wasThrottled = lease?.ends.some(({ how }) => how === 'throttled') ?? false
  if (refunds === 1 && started && !wasThrottled) return `${moved} although its handler had started.`
  // Nobody writes down the starts of jobs that move runs on.
  const isControl = after?.queue.startsWith('flow') ?? false
  if (refunds + total === 0 && waits(after?.state) && !started && !isControl) {
    return `${moved}: it went back unrun, and its start still counts.`
  }
  if (lease && wasRescued(view, lease) && is.lost === was.lost) return `${moved} although it was rescued.`
  return null
}

function wrongEnd(view: View, job: JobView, entry: AuditEntry): string | null {
  const { before, after } = entry
  if (before === null || after === null || ends(before.state)) return null
  const hasFailed = after.state === 'dead' || after.state === 'failed'
  if (!releasesLease(entry)) {
    if (!hasFailed || waits(before.state) === false) return null
    return commanded(view, job, 'bury', entry) ? null : `It is ${after.state}, but nobody buried it.`
  }

  const facts = view.facts.queues[after.queue]
  const spent = facts ? budgetOf(facts, before, after) : null
  if (spent === null) return null
  if (spent === 'nothing') {
    return hasFailed && !wasBuried(view, job, before)
      ? `It is ${after.state}, but no failure was counted and its handler did not give up.`
      : null
  }
  if (spent.isOver && waits(after.state)) return `It waits for another try, but ${spent.text}.`
  if (!spent.isOver && hasFailed) return `It is ${after.state}, but ${spent.text}.`
  return null
}

/** Which budget the end of a lease drew on, and whether that is used up. Null: the counters are not known. */
function budgetOf(
  facts: QueueFacts,
  before: AuditRow,
  after: AuditRow,
): null | 'nothing' | { isOver: boolean; text: string } {
  const [was, is] = [before.counters, after.counters]
  if (was === undefined || is === undefined) return null
  const name = FAILURES.find((failure) => is[failure] > was[failure])
  if (name === undefined) return 'nothing'
  const budget = facts.retries[name]
  const text = `its ${name} are ${is[name]} and ${budget ?? 'any number of'} retries are allowed`
  return { isOver: budget !== null && is[name] > budget, text }
}

function wasBuried(view: View, job: JobView, before: AuditRow): boolean {
  const lease = view.leaseOf(job.id, before.token ?? '')
  return lease?.ends.some(({ how }) => how === 'buried') ?? false
}

function wrongAttempt({ token, claim, starts, toldOf }: LeaseView): string | null {
  const counted = claim?.after?.counters?.starts
  if (counted === undefined) return null
  const seen = starts.find(({ attempt }) => attempt !== counted)
  if (seen) return `Its handler saw attempt ${seen.attempt} under token ${token}; it was ${counted}.`
  const told = toldOf?.jobs?.find(({ id, starts: count }) => id === claim?.id && count !== counted)
  return told ? `Its worker was told of ${told.starts} starts under token ${token}; it was ${counted}.` : null
}

function same(a: Counters, b: Counters): boolean {
  return NAMES.every((name) => a[name] === b[name])
}

function text(counters: Counters): string {
  return NAMES.map((name) => counters[name]).join('/')
}

function wrong(about: string, message: string): Violation {
  return { invariant: 'I-8', kind: 'attempts-wrong', about, message }
}
