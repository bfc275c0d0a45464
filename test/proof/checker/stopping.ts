import type { EndRecord, SettleRecord, Violation } from '../history.ts'
import { causesOf, type Invariant, type LeaseView, type View, waits } from './view.ts'

/**
 * I-22: a worker that stops keeps the lease of a handler that listens to its signal until that has ended, for the grace, and
 * saves how it ended. So whoever has the job next is alone with it.
 */
export const stopWaits: Invariant = function* (view) {
  const { graceMs } = view.facts
  if (graceMs === undefined) return
  for (const lease of view.leases) {
    const found = judge(view, lease, graceMs)
    if (found !== null) yield { invariant: 'I-22', about: lease.id, ...found }
  }
}

/**
 * I-22: a handler that fails because its signal told it of a stop costs no retry: its own worker hands the job back, and the counters stay
 * as they were.
 */
export const stopCostsNothing: Invariant = function* (view) {
  const { graceMs } = view.facts
  if (graceMs === undefined) return
  for (const lease of view.leases) {
    const { id, ends, release } = lease
    const [first] = ends.filter(({ how }) => how === 'aborted')
    const ended = ends.find(({ how }) => how !== 'aborted')
    if (first?.reason !== 'stop' || ended?.how !== 'threw' || ended.isDeaf || ended.proc !== first.proc)
      continue
    if (!view.order.follows(ended, first) || ended.at - first.at >= graceMs || release === null) continue
    const causes = causesOf(view, lease)
    if (causes.length === 0 || causes.some(({ rescue, proc }) => rescue || proc !== ended.proc)) continue
    const [was, is] = [release.before?.counters, release.after?.counters]
    if (was === undefined || is === undefined) continue
    const spent = (['errors', 'timeouts', 'lost'] as const).find((name) => is[name] > was[name])
    if (spent !== undefined)
      yield {
        invariant: 'I-22',
        kind: 'retry-spent',
        about: id,
        message: `Its handler threw because of a stop, and that was counted among its ${spent}.`,
      }
  }
}

function judge(
  view: View,
  { ends, settles }: LeaseView,
  graceMs: number,
): Pick<Violation, 'kind' | 'message'> | null {
  const aborted = ends.find(({ how, reason }) => how === 'aborted' && reason === 'stop')
  const ended = ends.find(({ how }) => how !== 'aborted')
  if (aborted === undefined || ended === undefined || ended.isDeaf || ended.proc !== aborted.proc) return null
  // One that was not done in time is not waited for, and a process that stood still may find that its time is over.
  if (ended.at - aborted.at >= graceMs) return null
  const own = settles.map(({ invoke }) => invoke).filter(({ proc, rescue }) => proc === ended.proc && !rescue)
  // It saved its success itself, and only asks whether that was committed.
  if (own.some((settle) => settle.to === 'done' && view.order.follows(ended, settle))) return null
  const [first] = own.filter((settle) => view.order.follows(settle, aborted))
  if (first === undefined) return null
  if (view.order.follows(ended, first)) {
    const message = 'It was given back before its handler, which listened to its signal, had ended.'
    return { kind: 'handed-back-alive', message }
  }
  if (isItsOutcome(ended, first)) return null
  return {
    kind: 'outcome-dropped',
    message: `Its handler ${ended.how} within the grace of a stop, and it was sent to ${first.to}.`,
  }
}

function isItsOutcome({ how }: EndRecord, { to, waitMs }: SettleRecord): boolean {
  switch (how) {
    case 'returned':
      return to === 'done'
    case 'cancelled':
      return to === 'cancelled'
    case 'buried':
      return to === 'dead'
    case 'throttled':
      return waitMs !== undefined
    default:
      return waits(to)
  }
}
