import type { AuditEntry, EnqueueRecord, Violation } from '../history.ts'
import { causesOf, type Invariant, type JobView, type LeaseView, type View } from './view.ts'

/** I-17: what a handler enqueued exists if, and only if, its success was accepted, and not a moment earlier. */
export const allOrNothing: Invariant = function* (view) {
  for (const job of view.jobs.values()) {
    const within = job.enqueues.map(({ invoke }) => invoke).filter((invoke) => invoke.within !== undefined)
    if (within.length === 0 || within.length < job.enqueues.length) continue
    const why = torn(view, job, within)
    if (why !== null) yield broken(job.id, why)
  }
}

function torn(view: View, job: JobView, within: readonly EnqueueRecord[]): string | null {
  const inserted = job.audit.find(({ before }) => before === null)
  const owners = within.map((enqueue) => ownersOf(view, enqueue))
  const successes = owners.flat().map((lease) => successOf(view, lease, 'perhaps'))
  const accepted = successes.filter((success) => success !== null)
  const tokens = within.map((enqueue) => enqueue.within).join(', ')

  if (inserted) {
    if (accepted.length === 0) return `It exists, but no success of lease ${tokens} was accepted.`
    const first = Math.min(...accepted.map(({ at }) => at))
    return inserted.at + view.facts.slackMs < first
      ? `It existed ${first - inserted.at} ms before lease ${tokens} succeeded.`
      : null
  }
  // A job with a unique key may have been a duplicate.
  if (within.some((enqueue) => enqueue.unique)) return null
  const isCertain = owners.some(
    (leases) => leases.length > 0 && leases.every((lease) => successOf(view, lease, 'certain')),
  )
  return isCertain ? `Lease ${tokens} succeeded, but the job does not exist.` : null
}

/** A token covers all jobs of one claim; the settle that carried the new job tells whose it was. */
function ownersOf(view: View, enqueue: EnqueueRecord): readonly LeaseView[] {
  const leases = view.leasesOfToken.get(enqueue.within as string) ?? []
  const named = leases.filter(({ settles }) =>
    settles.some(({ invoke }) => invoke.enqueue?.includes(enqueue.id)),
  )
  return named.length > 0 ? named : leases
}

/** The change by which a lease succeeded. A job that was removed does not tell by itself what removed it. */
function successOf(view: View, lease: LeaseView, how: 'perhaps' | 'certain'): AuditEntry | null {
  const { release } = lease
  if (release === null) return null
  if (release.after !== null) return release.after.state === 'done' ? release : null
  const causes = causesOf(view, lease)
  const isSuccess = ({ to }: { readonly to: string }): boolean => to === 'done'
  const yes = how === 'perhaps' ? causes.some(isSuccess) : causes.length > 0 && causes.every(isSuccess)
  return yes ? release : null
}

function broken(about: string, message: string): Violation {
  return { invariant: 'I-17', kind: 'not-atomic', about, message }
}
