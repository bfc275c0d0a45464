/**
 * The rules of a queue with limits: which jobs may start, and which is next.
 *
 * Each job is in a lane; those without a key are in the default lane, `''`. A lane is
 *
 *   idle      none of its jobs is known to be ready
 *   waiting   until a timestamp set by its rate, its handler ("too many requests") or a hold
 *   full      its concurrency limit is reached
 *   eligible  otherwise; only these are considered, the one with the lowest virtual time first
 *
 * Virtual time makes it fair: each start advances its lane by its {@link stride}, so lanes are served in turn
 * and in the ratio of their weights, however many jobs wait in each. The queue's clock is the virtual time of
 * the latest start. A lane that becomes eligible starts just before the clock if it was further behind: no
 * lane saves up turns, and a lane without a turn so far is next. The same happens when a job of the lane
 * becomes ready or starts; the end of a lease moves no lane that was eligible. Only claims of key ranges let
 * the clock leave an eligible lane behind. There each claim moves the default lane up to the clock, so no
 * store has to notice a job without a lane.
 *
 * A large claim takes a {@link portion} of each lane instead of one job, so that it touches few lanes.
 *
 * A strict lane runs one job at a time, in the order of arrival. Its job occupies it until it has ended for
 * good, so nothing overtakes it during retries, snoozes and lost leases.
 */
import { charged, type Rate, startsAt } from './rate.ts'

export const DEFAULT_LANE = ''

/**
 * Orders lane keys by code point, as databases do. JavaScript compares UTF-16 units, which differs for
 * characters above U+FFFF, as they are surrogate pairs.
 */
export function byKey(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return behindHalves(x) - behindHalves(y)
  }
  return a.length - b.length
}

/** Surrogates, 0xd800 to 0xdfff, are part of characters that come after all others. */
function behindHalves(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

/** Later than any timestamp: for a hold without an end. */
export const NEVER = 8_640_000_000_000_000

/** Null: no limit. */
export interface Limit {
  /** Live leases at one time. */
  readonly concurrency: number | null
  readonly rate: Rate | null
}

export interface LaneLimit extends Limit {
  /** One job at a time, in the order of arrival. */
  readonly strict: boolean
  /** Its share relative to other lanes: an integer. */
  readonly weight: number
}

/** The effective limits of a queue: declared in code, overlaid with later changes. */
export interface QueueLimits extends Limit {
  /** The name of the limit it shares with other queues of its space. */
  readonly shared: string | null
  /** The limits of each lane without its own. */
  readonly lanes: LaneLimit
}

export interface Meter {
  readonly running: number
  /** When its rate's bucket is full again, see {@link Rate}. */
  readonly fullAtUs: number
}

export interface Lane extends Meter {
  readonly key: string
  /** Its virtual time. */
  readonly turn: number
  /** False when idle. */
  readonly active: boolean
  /** Its rate or its handler delays all starts until then. */
  readonly waitUntil: number
  /** A hold delays all starts until then; 0: none. */
  readonly heldUntil: number
  /** The job that occupies a strict lane. */
  readonly occupant: string | null
  /** When that job is due again; 0: unknown. */
  readonly headAt: number
}

export const UNUSED: Meter = Object.freeze({ running: 0, fullAtUs: 0 })

export function newLane(key: string, clock: number): Lane {
  return {
    ...UNUSED,
    key,
    turn: entry(clock),
    active: false,
    waitUntil: 0,
    heldUntil: 0,
    occupant: null,
    headAt: 0,
  }
}

/** The number of leases left under a limit. */
export function roomIn(limit: Limit, meter: Meter): number {
  return limit.concurrency === null ? Infinity : Math.max(0, limit.concurrency - meter.running)
}

/** When the rate of a limit next allows a job of this cost to start; 0 without a rate. */
export function rateStartsAt(limit: Limit, meter: Meter, cost: number): number {
  return limit.rate === null ? 0 : startsAt(limit.rate, meter.fullAtUs, cost)
}

/** The meter after a job of this cost has started. */
export function occupied<M extends Meter>(limit: Limit, meter: M, cost: number, now: number): M {
  const fullAtUs = limit.rate === null ? meter.fullAtUs : charged(limit.rate, meter.fullAtUs, cost, now)
  return { ...meter, running: meter.running + 1, fullAtUs }
}

/** The limit of one lane; a strict one has concurrency 1. */
export function laneLimit(lanes: LaneLimit): Limit {
  return lanes.strict ? { ...lanes, concurrency: 1 } : lanes
}

/** When a lane may become eligible, as far as time alone decides. */
export function wakesAt(lane: Lane): number {
  return Math.max(lane.waitUntil, lane.heldUntil, lane.headAt)
}

export function isEligible(lane: Lane, limit: LaneLimit, now: number): boolean {
  return lane.active && wakesAt(lane) <= now && roomIn(laneLimit(limit), lane) > 0
}

/** A lane that may have a ready job again, or whose occupant may have changed. */
export function activated(lane: Lane): Lane {
  return { ...lane, active: true, headAt: 0 }
}

/** The virtual time of a lane that becomes eligible: before all that have had a turn, even at the clock. */
export function entry(clock: number): number {
  return clock - 1
}

/** The number of portions into which a claim is divided. */
export const PORTIONS = 64

/**
 * How many jobs a claim for `room` jobs takes from one lane before it moves to the next: one, unless the
 * claim is so large that the order inside it makes no difference.
 */
export function portion(room: number): number {
  return Math.max(1, Math.floor(room / PORTIONS))
}

/** How far a start advances its lane. An integer, so that sums do not depend on their order. */
export function stride(cost: number, weight: number): number {
  return Math.floor((cost * 1_000_000) / weight)
}

/** A lane after one of its jobs has started. It waits if its rate has no whole token left. */
export function served(
  lane: Lane,
  limit: LaneLimit,
  job: { readonly id: string; readonly cost: number },
  now: number,
): Lane {
  const after = occupied(limit, lane, job.cost, now)
  return {
    ...after,
    turn: lane.turn + stride(job.cost, limit.weight),
    waitUntil: Math.max(lane.waitUntil, rateStartsAt(limit, after, 1)),
    occupant: limit.strict ? job.id : null,
  }
}

/** A job that was changed: it has ended for good, or it waits. */
export interface ChangedJob {
  readonly id: string
  readonly isWaiting: boolean
}

/** A lane after one of its leases has ended. */
export function vacated(lane: Lane, job: ChangedJob): Lane {
  return { ...left(lane, job), running: Math.max(0, lane.running - 1) }
}

/** A lane after one of its waiting jobs was changed. */
export function revisited(lane: Lane, job: ChangedJob): Lane {
  return activated(left(lane, job))
}

function left(lane: Lane, job: ChangedJob): Lane {
  const stays = job.isWaiting || lane.occupant !== job.id // The end of another job does not free it.
  return stays ? lane : { ...lane, occupant: null }
}
