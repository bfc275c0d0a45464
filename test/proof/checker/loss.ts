import type { AuditEntry, AuditRow, EnqueueRecord, Violation } from '../history.ts'
import { type Asked, commanded, ends, type Invariant, type JobView, type View } from './view.ts'

/** I-1: what was promised, or was ever in the store, is there in the end or has left it properly. */
export const noLoss: Invariant = function* (view) {
  const lost = new Set<string>()
  for (const job of view.jobs.values()) {
    for (const id of promises(job)) {
      if (!lost.has(id) && wasNeverThere(view, id)) {
        lost.add(id)
        yield violation(id, 'Its enqueue was acknowledged, but it never was in the store.')
      }
    }
    const why = view.final.has(job.id) ? null : vanished(view, job)
    if (why !== null) yield violation(job.id, why)
  }
}

/** I-1: an enqueue that made a job made it in its queue and its space, with its payload; one that was refused made and changed nothing. */
export const rightJob: Invariant = function* (view) {
  for (const job of view.jobs.values()) {
    const made = job.audit.filter(({ before, after }) => before === null && after !== null)
    for (const asked of job.enqueues) {
      const why = notMade(view, asked, made)
      if (why !== null) yield violation(job.id, why)
    }
    const refused = made.length > 0 ? takenOver(job) : null
    if (refused !== null) yield { invariant: 'I-2', kind: 'unexpected', about: job.id, message: refused }
  }
}

function notMade(
  view: View,
  { invoke, answer }: Asked<EnqueueRecord>,
  made: readonly AuditEntry[],
): string | null {
  if (answer?.type !== 'ok' || answer.duplicateOf !== undefined || made.length === 0) return null
  const isOwn = (entry: AuditEntry): boolean => {
    const { queue, payload } = entry.after as AuditRow
    if (queue !== invoke.queue || view.order.isBefore(answer, entry)) return false
    return (
      answer.known === true ||
      answer.known === undefined ||
      payload === undefined ||
      payload === invoke.payload
    )
  }
  if (made.some(isOwn)) return null
  const [first] = made as readonly [AuditEntry, ...AuditEntry[]]
  const { queue, payload } = first.after as AuditRow
  const said = answer.known ? 'said to be there already' : 'acknowledged'
  return `Its enqueue to ${invoke.queue} with ${invoke.payload} was ${said}, but the job is in ${queue} with ${payload}.`
}

/** What a job has of an enqueue that was refused. Another job with the same unique key may give it its payload. */
function takenOver({ audit, enqueues }: JobView): string | null {
  if (!enqueues.some(({ invoke, answer }) => invoke.call !== undefined && answer?.type === 'fail'))
    return null
  const isAllowed = ({ queue, payload }: AuditRow): boolean =>
    enqueues.some(
      ({ invoke, answer }) =>
        answer?.type !== 'fail' &&
        invoke.queue === queue &&
        (payload === undefined || payload === invoke.payload),
    )
  const bad = audit.find(({ after }) => after !== null && !isAllowed(after))?.after
  return bad ? `It is in ${bad.queue} with ${bad.payload}, and that enqueue was refused.` : null
}

/** I-2: nothing runs or exists that nobody enqueued, or that was said not to exist. */
export const noPhantom: Invariant = function* (view) {
  for (const job of view.jobs.values()) {
    const why = unexpected(view, job)
    if (why !== null) yield { invariant: 'I-2', kind: 'unexpected', about: job.id, message: why }
  }
  for (const id of view.final.keys()) {
    if (!view.jobs.has(id)) {
      const message = 'It is in the store, but nobody ever mentioned it.'
      yield { invariant: 'I-2', kind: 'unexpected', about: id, message }
    }
  }
}

/** The jobs whose enqueues were acknowledged under this id: itself, or those it was a duplicate of. */
export function promises(job: JobView): string[] {
  return job.enqueues.flatMap(({ answer }) =>
    answer?.type === 'ok' ? [answer.duplicateOf ?? answer.id] : [],
  )
}

function wasNeverThere(view: View, id: string): boolean {
  return (view.jobs.get(id)?.audit.length ?? 0) === 0 && !view.final.has(id)
}

function vanished(view: View, job: JobView): string | null {
  const last = job.audit.at(-1)
  if (!last) return null
  if (last.after !== null) return `It was ${last.after.state}, and is gone without a trace.`
  return improperRemoval(view, job, last)
}

function improperRemoval(view: View, job: JobView, entry: AuditEntry): string | null {
  const before = entry.before as AuditRow
  if (before.state === 'running') return improperDiscard(view, job, before)
  // Whether a finished job was kept long enough is judged by retention.
  if (ends(before.state) || commanded(view, job, 'remove', entry)) return null
  return `It was removed while ${before.state}, and nobody asked for it.`
}

function improperDiscard(view: View, job: JobView, before: AuditRow): string | null {
  const facts = view.facts.queues[before.queue]
  const settles = view.leaseOf(job.id, before.token ?? '')?.settles ?? []
  const mayLeave = settles.some(
    ({ invoke }) =>
      facts === undefined ||
      (invoke.to === 'done' && facts.discards) ||
      (invoke.to === 'failed' && facts.discardsFailures === true),
  )
  return mayLeave ? null : 'It was removed while it ran, and its queue does not discard what ended so.'
}

function unexpected(view: View, job: JobView): string | null {
  const [first] = job.audit
  const exists = first !== undefined || view.final.has(job.id)
  const origin = first?.after ?? view.final.get(job.id)
  // Schedules and joins make their jobs themselves.
  const isMade = origin?.slot != null || origin?.join != null
  const seen = exists || job.starts.length > 0

  if (seen && job.enqueues.length === 0 && !isMade) return 'Nobody enqueued it.'
  if (seen && job.enqueues.length > 0 && job.enqueues.every(({ answer }) => answer?.type === 'fail')) {
    return 'Its enqueue failed for certain, but it is there.'
  }
  if (
    first &&
    job.enqueues.length > 0 &&
    job.enqueues.every(({ invoke }) => view.order.isAfter(invoke, first))
  ) {
    return 'It was in the store before anybody enqueued it.'
  }
  for (const lease of job.leases) {
    if (lease.claim === null && lease.starts.length > 0) {
      return `A handler ran under token ${lease.token}, which never had a lease.`
    }
    if (lease.claim === null && lease.toldOf !== null) {
      return `Worker ${lease.toldOf.workerId} was given a lease ${lease.token} that the store does not know.`
    }
  }
  return null
}

function violation(about: string, message: string): Violation {
  return { invariant: 'I-1', kind: 'lost', about, message }
}
