import type { StopRecord, Violation } from '../history.ts'
import { entryOf, type Invariant, type LeaseView, type View } from './view.ts'

/** I-22: a worker that has stopped runs nothing, starts nothing and holds nothing. */
export const stopIsStop: Invariant = function* (view) {
  const stopped = view.stops.filter(({ type }) => type === 'ok')
  if (stopped.length === 0) return
  const leases = leasesByWorker(view)
  const grants = new Set(view.grants.map(({ token }) => token))
  for (const stop of stopped) {
    for (const lease of leases.get(stop.workerId) ?? []) {
      const why = goesOn(view, stop, lease, grants)
      if (why !== null) yield broken(stop.workerId, why)
    }
  }
}

function leasesByWorker(view: View): Map<string, LeaseView[]> {
  const byWorker = new Map<string, LeaseView[]>()
  for (const lease of view.leases) {
    const worker = lease.claim?.after?.worker ?? view.claims.get(lease.token)?.workerId
    if (worker) entryOf(byWorker, worker, () => []).push(lease)
  }
  return byWorker
}

function goesOn(view: View, stop: StopRecord, lease: LeaseView, grants: ReadonlySet<string>): string | null {
  const { id, starts, ends } = lease
  const own = starts.filter(({ proc }) => proc === stop.proc)
  if (own.some((start) => view.order.follows(start, stop)))
    return `It started job ${id} after it had stopped.`
  if (own.length > 0 && ends.every((end) => view.order.follows(end, stop))) {
    return `The handler of job ${id} still ran when it had stopped.`
  }
  return isHeld(view, stop, lease) && !wasCutOff(view, stop, grants)
    ? `It still held job ${id} when it had stopped.`
    : null
}

/** A lease it knew of, and that it neither settled nor tried to. One whose claim was never answered it cannot give back. */
function isHeld(view: View, stop: StopRecord, { claim, release, toldOf, settles }: LeaseView): boolean {
  if (claim === null || toldOf === null || toldOf.proc !== stop.proc) return false
  if (view.order.follows(toldOf, stop)) return false
  if (settles.some(({ invoke }) => invoke.proc === stop.proc)) return false
  return release === null || view.order.isBefore(stop, release)
}

/** Its store did not answer, so it could not give back what it held: a stop does not wait for ever. */
function wasCutOff(view: View, { proc, workerId, n }: StopRecord, grants: ReadonlySet<string>): boolean {
  for (const claim of view.claims.values()) {
    if (claim.workerId === workerId && !grants.has(claim.token)) return true
  }
  return view.leases.some(({ settles }) =>
    settles.some(
      ({ invoke, answer }) =>
        invoke.proc === proc && invoke.n < n && (answer === null || answer.type !== 'ok' || answer.n > n),
    ),
  )
}

function broken(about: string, message: string): Violation {
  return { invariant: 'I-22', kind: 'ran-after-stop', about, message }
}
