import type { AuditRow, LimitFact } from '../history.ts'
import type { Invariant, View } from './view.ts'

/** I-11: at every moment no more leases are live than the limit allows. */
export const limits: Invariant = function* (view) {
  for (const limit of view.facts.limits) yield* brokenBy(view, limit)
}

function* brokenBy(view: View, { name, limit, of }: LimitFact): ReturnType<Invariant> {
  const running = new Map<string, AuditRow>()
  let isBroken = false
  for (const { id, at, after } of view.audit) {
    if (after?.state === 'running' && of(after)) running.set(id, after)
    else running.delete(id)
    // A lease that is over takes no room, even if nobody has noticed yet.
    const live = running.size <= limit ? 0 : countLive(running, at + view.facts.slackMs)
    if (live > limit && !isBroken) {
      const message = `With job ${id} there were ${live} live leases; ${limit} are allowed.`
      yield { invariant: 'I-11', kind: 'limit-break', about: name, message }
    }
    isBroken = live > limit
  }
}

function countLive(running: ReadonlyMap<string, AuditRow>, at: number): number {
  let live = 0
  for (const { leaseUntil } of running.values()) if ((leaseUntil ?? 0) > at) live++
  return live
}
