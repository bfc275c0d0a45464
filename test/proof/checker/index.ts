/**
 * Judges a history: were the promises of docs/guarantees.md kept? Every invariant is a small function over one
 * indexed view. A new feature adds a file beside this one and a line in the list.
 */
import type { Counts, History, Report, Violation } from '../history.ts'
import { allOrNothing } from './atomicity.ts'
import { attempts } from './attempts.ts'
import { cancelHolds } from './cancel.ts'
import { countsAgree, countsGoByTheClock } from './counts.ts'
import { drains, leasesEnd, nothingLeaks } from './drain.ts'
import { fencing, oneEnd } from './fencing.ts'
import { endIsFinal } from './finality.ts'
import { groupsFireOnce } from './flows/groups.ts'
import { undoneStaysUndone } from './flows/retries.ts'
import { runsFollowTheirShape } from './flows/runs.ts'
import { holdsHold } from './holds.ts'
import { joinsFireOnce } from './joins.ts'
import { lanesInOrder } from './lanes.ts'
import { oneLease } from './leases.ts'
import { limits } from './limits.ts'
import { noLoss, noPhantom, rightJob } from './loss.ts'
import { lanesWait, rates } from './rates.ts'
import { holdsRecall, throttlesReachAll, throttlesRecall } from './recalls.ts'
import { rightPayload, rightResult } from './results.ts'
import { keptLongEnough } from './retention.ts'
import { retriesInOrder } from './retries.ts'
import { oneJobPerSlot } from './schedules.ts'
import { shapes } from './shape.ts'
import { stopIsStop } from './shutdown.ts'
import { stopCostsNothing, stopWaits } from './stopping.ts'
import { notEarly } from './time.ts'
import { unhandledIsTrue } from './unhandled.ts'
import { uniqueKeys } from './unique.ts'
import { fateOf, type Invariant, type View, viewOf } from './view.ts'

const INVARIANTS: readonly Invariant[] = [
  noLoss, // I-1
  rightJob, // I-1, I-2
  noPhantom, // I-2
  uniqueKeys, // I-3
  oneLease, // I-4
  fencing, // I-5
  oneEnd, // I-5
  endIsFinal, // I-6, I-7
  attempts, // I-8
  notEarly, // I-9
  lanesInOrder, // I-10
  retriesInOrder, // I-10
  limits, // I-11
  rates, // I-12
  lanesWait, // I-12
  throttlesRecall, // I-12
  throttlesReachAll, // I-12
  holdsHold, // I-13
  holdsRecall, // I-13
  cancelHolds, // I-14
  oneJobPerSlot, // I-15
  joinsFireOnce, // I-16
  groupsFireOnce, // I-16
  runsFollowTheirShape, // I-16
  undoneStaysUndone, // I-16
  allOrNothing, // I-17
  rightResult, // I-18
  rightPayload, // I-19
  stopIsStop, // I-22
  stopWaits, // I-22
  stopCostsNothing, // I-22
  keptLongEnough, // I-23
  shapes, // I-24
  countsAgree, // I-25
  countsGoByTheClock, // I-25
  unhandledIsTrue, // I-25
  drains, // L-1, L-3
  leasesEnd, // L-2
  nothingLeaks, // L-6
]

/** Everything in the history that breaks a promise, and the numbers people ask for. */
export function check(history: History): Report {
  const view = viewOf(history)
  const violations: Violation[] = []
  for (const invariant of INVARIANTS) for (const violation of invariant(view)) violations.push(violation)
  return { violations, counts: countsOf(view, violations) }
}

function countsOf(view: View, violations: readonly Violation[]): Counts {
  const about = (kind: Violation['kind']): number =>
    new Set(violations.filter((violation) => violation.kind === kind).map((violation) => violation.about))
      .size
  const counts = { enqueued: 0, duplicated: 0, recovered: 0, starts: 0 }
  for (const job of view.jobs.values()) {
    counts.enqueued += job.enqueues.filter(({ answer }) => answer?.type === 'ok').length
    counts.starts += job.starts.length
    if (job.starts.length > 1) counts.duplicated++
    const isUnknown =
      fateOf(job) === 'info' &&
      job.enqueues.some(({ invoke }) => invoke.within === undefined && invoke.by === undefined)
    if (isUnknown && job.audit.length > 0) counts.recovered++
  }
  return {
    ...counts,
    lost: about('lost'),
    unexpected: about('unexpected'),
    staleSettles: violations.filter(({ kind }) => kind === 'stale-settle-accepted').length,
  }
}

/** For people: the counts in one line, then the first violations, one line each. */
export function describeReport({ violations, counts }: Report): string {
  const numbers = Object.entries(counts).map(([name, count]) => `${name} ${count}`)
  const lines = violations
    .slice(0, SHOWN)
    .map(({ invariant, kind, about, message }) => `${invariant} ${kind} ${about}: ${message}`)
  const more = violations.length > SHOWN ? [`and ${violations.length - SHOWN} more`] : []
  return [`${numbers.join(', ')}, violations ${violations.length}`, ...lines, ...more].join('\n')
}

const SHOWN = 20
