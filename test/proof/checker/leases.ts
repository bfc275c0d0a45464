import type { StartRecord, Violation } from '../history.ts'
import { causesOf, type Invariant, type JobView, type LeaseView, type View, wasRescued } from './view.ts'

/** I-4: at any time at most one lease on a job is live, in the store and in the eyes of the handlers. */
export const oneLease: Invariant = function* (view) {
  for (const job of view.jobs.values()) {
    yield* inTheStore(job)
    yield* amongHandlers(view, job)
  }
}

function* inTheStore({ id, audit }: JobView): ReturnType<Invariant> {
  let last = audit[0]?.before ?? null
  for (const { before, after } of audit) {
    // What the job was according to this change, or else according to the change before it.
    const held = before?.state === 'running' ? before : last?.state === 'running' ? last : null
    last = after
    if (held === null || after?.state !== 'running' || after.token === held.token) continue
    yield overlap(id, `Token ${after.token} got the job while ${held.token} held it.`)
  }
}

/**
 * Two handlers overlap if one starts while another surely holds the lease: not before its end, the death of its
 * process, or the end of the lease as its worker reckons it.
 */
function* amongHandlers(view: View, job: JobView): ReturnType<Invariant> {
  if (job.starts.length < 2) return
  const { order, facts } = view
  const runs = job.starts
    .map((start) => ({ start, until: sureUntil(view, start) }))
    .sort((a, b) => (order.total ? a.start.n - b.start.n : a.start.at - b.start.at))
  let longest = runs[0] as (typeof runs)[number]
  for (const run of runs.slice(1)) {
    // Without one order it is not sure which of two runs came first, if one of them is over at once.
    const until = order.total ? longest.until : Math.min(longest.until, run.until)
    if (run.start.token !== longest.start.token && run.start.at + facts.slackMs < until) {
      yield overlap(
        job.id,
        `A handler in ${run.start.proc} started while one in ${longest.start.proc} was sure of its lease for another ${until - run.start.at} ms.`,
      )
    }
    if (run.until > longest.until) longest = run
  }
}

/** Until when a handler was surely alone with its job; nothing is sure about a run nobody knows the lease of. */
function sureUntil(view: View, start: StartRecord): number {
  const lease = view.leaseOf(start.id, start.token) as LeaseView
  if (view.facts.liveness && wasRescued(view, lease)) return start.at
  const claim = view.claims.get(start.token)
  const leaseMs = claim?.leaseMs ?? view.facts.leaseMs
  const claimedAt = claim?.at ?? lease.claim?.at ?? -Infinity
  const extended = lease.extends
    .filter(({ type, status }) => type === 'ok' && status === 'ok')
    .map(({ sentAt }) => sentAt)
  const ended = lease.ends.map(({ at }) => at)
  const died = view.crashes.get(start.proc) ?? Infinity
  return Math.min(Math.max(claimedAt, ...extended) + leaseMs, died, givenUpAt(view, lease), ...ended)
}

/** When its own holder let go of the lease, which a handler may do before it returns. */
function givenUpAt(view: View, lease: LeaseView): number {
  const isOwn = causesOf(view, lease).some(({ rescue }) => !rescue)
  return isOwn && lease.release ? lease.release.at : Infinity
}

function overlap(about: string, message: string): Violation {
  return { invariant: 'I-4', kind: 'lease-overlap', about, message }
}
