import type { AuditEntry, AuditRow, RateFact, Violation } from '../history.ts'
import { causesOf, claimsLease, type Invariant, releasesLease, type View } from './view.ts'

/**
 * I-12: in any span of time, however long, no more jobs start than the rate lets. Time is the store's, as the audit
 * has it. When that clock goes back, what started "later" still counts, unless the fact says that it may be forgotten.
 */
export const rates: Invariant = function* (view) {
  for (const fact of view.facts.rates ?? []) yield* exceededBy(view, fact)
}

// Whoever is late by a part of the wait for one token has not lost it, so half of one may be ahead of its time.
const AHEAD = 0.5

function* exceededBy(view: View, fact: RateFact): ReturnType<Invariant> {
  const { name, limit, perMs, burst } = fact
  const jumps = fact.forgets ? clockBackIn(view) : null
  /** What has started, in cost, less what came back by then. The lowest it was says how much a span can hold. */
  let started = 0
  let lowest = Infinity
  for (const entry of view.audit) {
    if (jumps?.passed(entry)) lowest = Infinity
    if (!claimsLease(entry) || !fact.of(entry.after as AuditRow)) continue
    const cost = entry.after?.cost ?? 1
    const cameBack = (limit * entry.at) / perMs
    lowest = Math.min(lowest, started - cameBack)
    started += cost
    const inSpan = started - cameBack - lowest
    // One that costs more than a full bucket starts when it is full.
    const most = burst + AHEAD + Math.max(0, cost - burst)
    if (inSpan > most + TINY) {
      const over = (inSpan - burst).toFixed(2)
      yield tooSoon(name, `With job ${entry.id} it was ahead of its rate and its burst by ${over}.`)
      lowest = Infinity
    }
  }
}

/** Sums of fractions are not exact. */
const TINY = 1e-6

/** I-12: when a handler was told "too many requests", its lane starts nothing until then. */
export const lanesWait: Invariant = function* (view) {
  const waits = new Map<string, number>()
  const jumps = clockBackIn(view)
  for (const entry of view.audit) {
    // A wait that was over is forgotten, and over it stays.
    if (jumps.passed(entry)) waits.clear()
    if (releasesLease(entry)) {
      const lane = laneOf(entry.before as AuditRow)
      waits.set(lane, Math.max(waits.get(lane) ?? 0, waitUntil(view, entry)))
    }
    if (!claimsLease(entry)) continue
    const early = (waits.get(laneOf(entry.after as AuditRow)) ?? 0) - entry.at
    if (early > view.facts.slackMs) {
      yield tooSoon(entry.id, `It started ${early} ms before the time its lane was told to wait for.`)
    }
  }
}

/** Until when the lane surely has to wait because of how this lease ended. */
function waitUntil(view: View, { id, at, before }: AuditEntry): number {
  const lease = view.leaseOf(id, before?.token ?? '')
  const causes = lease ? causesOf(view, lease) : []
  return causes.length === 0 ? 0 : at + Math.min(...causes.map(({ waitMs = 0 }) => waitMs))
}

function laneOf({ queue, lane }: AuditRow): string {
  return `${queue}/${lane ?? ''}`
}

/** Tells, change by change, whether the store's clock went back since the last one. */
function clockBackIn(view: View): { passed(entry: AuditEntry): boolean } {
  let next = 0
  return {
    passed(entry) {
      const from = next
      while (next < view.clocks.length && !view.order.isAfter(view.clocks[next] as never, entry)) next++
      return next > from
    },
  }
}

function tooSoon(about: string, message: string): Violation {
  return { invariant: 'I-12', kind: 'rate-break', about, message }
}
