import type { CommandRecord, Violation } from '../history.ts'
import { claimsLease, type Invariant, type JobView, releasesLease, type View, waits } from './view.ts'

/** I-14: a job does not start again after somebody was told that it is, or will be, cancelled. */
export const cancelHolds: Invariant = function* (view) {
  for (const job of view.jobs.values()) {
    const why = forgotten(job) ?? startedAnyway(view, job)
    if (why !== null) yield broken(job.id, why)
  }
}

function forgotten({ audit }: JobView): string | null {
  const entry = audit.find(
    (each) => releasesLease(each) && each.before?.cancelReason !== null && waits(each.after?.state),
  )
  return entry
    ? `It was asked to stop while it ran, and waits for another try as ${entry.after?.state}.`
    : null
}

function startedAnyway(view: View, job: JobView): string | null {
  for (const { invoke, answer } of job.commands) {
    if (invoke.action !== 'cancel' || answer?.type !== 'ok' || answer.result === 'refused') continue
    const generation = generationAt(view, job, invoke)
    const claim = job.audit.find(
      (entry) =>
        claimsLease(entry) && entry.after?.generation === generation && view.order.isBefore(answer, entry),
    )
    if (claim) return `It was claimed with token ${claim.after?.token} after its cancel had been answered.`
  }
  return null
}

/** The generation the job surely had reached when the command was given. */
function generationAt(view: View, { audit }: JobView, command: CommandRecord): number {
  let generation = 0
  for (const entry of audit) {
    if (entry.after !== null && view.order.isAfter(command, entry)) generation = entry.after.generation
  }
  return generation
}

function broken(about: string, message: string): Violation {
  return { invariant: 'I-14', kind: 'started-after-cancel', about, message }
}
