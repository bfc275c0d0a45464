import type { AuditRow, HistoryRecord, Violation } from '../history.ts'
import { fitsPattern } from './holds.ts'
import type { Confirmed, Invariant, LeaseView, View } from './view.ts'

/**
 * I-13: what was claimed before a hold was answered does not start once its recall is done: in the process that put the hold, or in
 * all of them when it waited for that. A release changes nothing about it: what was prefetched has gone back, and is claimed anew.
 */
export const holdsRecall: Invariant = function* (view) {
  for (const confirm of view.confirms) {
    for (const lease of view.leases) {
      if (!isMeant(confirm, lease) || !wasPrefetched(view, lease, confirm.held)) continue
      const start = lease.starts.find(
        (one) =>
          (confirm.everywhere || one.proc === confirm.answer.proc) && view.order.follows(one, confirm.answer),
      )
      if (start !== undefined)
        yield broken(
          'I-13',
          'hold-break',
          lease,
          `It was prefetched by ${start.proc} before a hold, and started after the recall.`,
        )
    }
  }
}

/** I-12: when it is saved that a lane waits, what the worker whose handler said so had prefetched of the lane does not start. */
export const throttlesRecall: Invariant = function* (view) {
  for (const throttled of view.leases) {
    const saved = throttleSaved(throttled)
    const row = throttled.claim?.after
    if (!saved || !row) continue
    for (const lease of view.leases) {
      const other = lease.claim?.after
      if (!other || other.queue !== row.queue || (other.lane ?? '') !== (row.lane ?? '')) continue
      if (throttled.release === null || (lease.claim?.seq ?? Infinity) > throttled.release.seq) continue
      if (lease.starts.some((start) => start.proc === saved.proc && view.order.follows(start, saved)))
        yield broken(
          'I-12',
          'rate-break',
          lease,
          'It was prefetched of a lane that waits, and started after that was saved.',
        )
    }
  }
}

/** The answer that said so: that the lane of this job waits is saved. */
function throttleSaved({ settles }: LeaseView): HistoryRecord | undefined {
  const saved = settles.find(
    ({ invoke, answer }) =>
      (invoke.waitMs ?? 0) > 0 && !invoke.rescue && answer?.type === 'ok' && answer.status === 'ok',
  )
  return saved?.answer ?? undefined
}

/**
 * I-12: a worker that no hint reaches starts of a lane that waits only what it took shortly before: what waits longer for a slot goes
 * back. One that stood still in between is excused.
 */
export const throttlesReachAll: Invariant = function* (view) {
  const { prefetchMs } = view.facts
  if (prefetchMs === undefined) return
  for (const throttled of view.leases) {
    const saved = throttleSaved(throttled)
    const row = throttled.claim?.after
    if (saved === undefined || !row) continue
    for (const lease of view.leases) {
      const other = lease.claim?.after
      if (!other || other.queue !== row.queue || (other.lane ?? '') !== (row.lane ?? '')) continue
      if (throttled.release === null || (lease.claim?.seq ?? Infinity) > throttled.release.seq) continue
      const told = lease.toldOf
      const late = lease.starts.find(
        (start) =>
          told !== null &&
          view.order.follows(start, saved) &&
          start.at - told.at > prefetchMs &&
          !view.stalls.some(
            ({ proc, at }) => start.proc.startsWith(proc) && at <= start.at && at >= told.at - STILL_MS,
          ),
      )
      if (late !== undefined)
        yield broken(
          'I-12',
          'rate-break',
          lease,
          `${late.proc} had prefetched it long before its lane was told to wait, and started it after that was saved.`,
        )
    }
  }
}

/** Longer than a process stands still. */
const STILL_MS = 60_000

/** The claim that brought it was surely committed before the store answered the hold. */
function wasPrefetched(view: View, { claim }: LeaseView, held: HistoryRecord): boolean {
  return claim !== null && view.order.isAfter(held, claim)
}

function isMeant({ queue, lane, held }: Confirmed, { claim }: LeaseView): boolean {
  if (!claim) return false
  const row = claim.after as AuditRow
  if (held.space !== null && held.space !== (row.space ?? held.space)) return false
  if (lane !== null) return queue === row.queue && lane === (row.lane ?? '')
  return queue === null || fitsPattern(queue, row.queue)
}

function broken(invariant: string, kind: Violation['kind'], { id }: LeaseView, message: string): Violation {
  return { invariant, kind, about: id, message }
}
