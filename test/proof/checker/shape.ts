import type { AuditEntry, AuditRow, Violation } from '../history.ts'
import {
  claimsLease,
  commanded,
  ends,
  type Invariant,
  type JobView,
  retries,
  type View,
  waits,
} from './view.ts'

/** I-24: every row is a job that can be, every change one that can happen, and the changes are all there are. */
export const shapes: Invariant = function* (view) {
  for (const job of view.jobs.values()) {
    for (const entry of job.audit) {
      const why = (entry.after && badRow(entry.after)) ?? badMove(view, job, entry)
      if (why !== null) yield bad(job.id, why)
    }
    const why = gap(job) ?? otherEnd(view, job)
    if (why !== null) yield bad(job.id, why)
  }
}

function badRow(row: AuditRow): string | null {
  const { state, token, leaseUntil, worker, counters } = row
  const isRunning = state === 'running'
  if (isRunning && (!token || !worker || leaseUntil === null)) return 'It runs without a lease.'
  if (!isRunning && (token !== null || leaseUntil !== null)) return `It is ${state} and has a lease.`
  if (waits(state) && row.cancelReason !== null) return `It is ${state} and asked to stop.`
  if (row.result != null && state !== 'done') return `It is ${state} and has a result.`
  for (const moment of ['finishedAt', 'expiresAt'] as const) {
    if (row[moment] === undefined) continue
    if (ends(state) !== (row[moment] !== null)) return `It is ${state} and its ${moment} is ${row[moment]}.`
  }
  const wrong = Object.entries(counters ?? {}).find(([, count]) => !Number.isInteger(count) || count < 0)
  return wrong ? `Its ${wrong[0]} are ${wrong[1]}.` : null
}

function badMove(view: View, job: JobView, entry: AuditEntry): string | null {
  const { before, after } = entry
  if (after === null) return before === null ? 'A job that was not there was removed.' : null
  if (before === null) {
    return after.generation === 0 && waits(after.state)
      ? null
      : `It began as ${after.state} in generation ${after.generation}.`
  }
  const raised = after.generation - before.generation
  if (raised !== 0 && !(raised === 1 && retries(entry))) {
    return `It went from generation ${before.generation} to ${after.generation} while ${before.state}.`
  }
  if (raised === 1 && !waits(after.state)) return `It was retried and is ${after.state}.`
  return waits(before.state) && !claimsLease(entry) ? badWait(view, job, entry, after) : null
}

function badWait(view: View, job: JobView, entry: AuditEntry, after: AuditRow): string | null {
  if (after.state === 'done' || after.state === 'failed') return `It is ${after.state} without having run.`
  if (after.state !== 'cancelled' || commanded(view, job, 'cancel', entry)) return null
  if (isReplaced(view, entry, after)) return null
  return 'It was cancelled, and nobody asked for it.'
}

/** In the same moment the next job of its schedule came into being, in its place. */
function isReplaced(view: View, { at }: AuditEntry, { slot }: AuditRow): boolean {
  if (!slot) return false
  return view.audit.some(
    (entry) =>
      entry.before === null &&
      entry.at === at &&
      entry.after?.slot?.schedule === slot.schedule &&
      entry.after.slot.slot > slot.slot,
  )
}

/** Each change begins where the one before it ended. A second holder is an overlap and is told of there. */
function gap({ audit }: JobView): string | null {
  for (let index = 0; index < audit.length; index++) {
    const { before, after } = audit[index] as AuditEntry
    const last = index === 0 ? null : (audit[index - 1] as AuditEntry).after
    // Whether it may come back at all is another question.
    if (before === null && last === null) continue
    if (last?.state === 'running' && after?.state === 'running' && after.token !== last.token) continue
    if (before?.state !== last?.state || before?.generation !== last?.generation) {
      return `It was ${last?.state ?? 'absent'}, and the next change found it ${before?.state ?? 'absent'}.`
    }
  }
  return null
}

function otherEnd(view: View, { id, audit }: JobView): string | null {
  const kept = view.final.get(id)
  const last = audit.at(-1)?.after ?? null
  // One that should be there and is not is lost.
  if (!kept || (audit.length === 0 && kept)) return null
  if (last?.state === kept.state && last.generation === kept.generation) return null
  return `It is ${kept.state} in the end, but its last change left it ${last?.state ?? 'removed'}.`
}

function bad(about: string, message: string): Violation {
  return { invariant: 'I-24', kind: 'bad-shape', about, message }
}
