/**
 * The rules of a queue with limits: who may start, and who is next.
 *
 * Each job is in a lane; those without a key are in the default lane, `''`. A lane is
 *
 *   idle      nothing of it is known to be ready
 *   waiting   until a moment: its rate, its handler ("too many requests") or a hold says so
 *   full      as many of its jobs run as may
 *   eligible  otherwise; and only these are looked at, the one with the lowest virtual time first
 *
 * Virtual time makes it fair: each start moves its lane on by its {@link stride}, so lanes are served in turn and in the
 * ratio of their weights, however much waits in each. The queue's clock is the virtual time of the latest start. A lane
 * that becomes eligible begins just before it if it was further behind: nobody saves up turns, and whoever had none is
 * next. So does one in which a job becomes ready or starts; the end of a lease moves no lane that was eligible. Only where
 * ranges of keys are claimed does the clock ever leave an eligible lane behind. There each claim brings the default lane up to
 * it: no store need notice a job without a lane.
 *
 * A large claim takes a {@link portion} of each lane instead of one job of each, so that it has to do with few lanes.
 *
 * A strict lane runs one job at a time, in the order of arrival. Its job occupies it until it has ended for good, so
 * through retries, snoozes and lost leases nothing overtakes it.
 */
import { charged, type Rate, startsAt } from './rate.ts'

/** The key of the lane for jobs that have none. */
export const DEFAULT_LANE = ''

/**
 * Orders the keys of lanes by code point, as databases do. JavaScript's own order is another where a key has characters
 * beyond the first 65,536, which it keeps as two halves.
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

/** The halves of a pair, 0xd800 to 0xdfff, stand for characters that come after all others. */
function behindHalves(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

/** Later than any moment: of a hold without an end. */
export const NEVER = 8_640_000_000_000_000

/** What a limit says. Null: no limit. */
export interface Limit {
  /** Live leases at one time. */
  readonly concurrency: number | null
  readonly rate: Rate | null
}

export interface LaneLimit extends Limit {
  /** One at a time, in the order of arrival. */
  readonly strict: boolean
  /** Its share beside other lanes: a whole number. */
  readonly weight: number
}

/** What a queue's limits come to, with what was said in code and what was changed since. */
export interface QueueLimits extends Limit {
  /** The limit it shares with other queues of its space, by name. */
  readonly shared: string | null
  /** What holds for each of its lanes, unless that lane has its own. */
  readonly lanes: LaneLimit
}

/** What of a limit is in use. */
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
  /** Its rate or its handler lets nothing start before this. */
  readonly waitUntil: number
  /** A hold on it lets nothing start before this; 0 when there is none. */
  readonly heldUntil: number
  /** The job that occupies a strict lane. */
  readonly occupant: string | null
  /** When that job is due again; 0 when it is not known. */
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

/** How many more leases a limit has room for. */
export function roomIn(limit: Limit, meter: Meter): number {
  return limit.concurrency === null ? Infinity : Math.max(0, limit.concurrency - meter.running)
}

/** From when on a limit's rate lets a job of this cost start; 0 when it has none. */
export function rateStartsAt(limit: Limit, meter: Meter, cost: number): number {
  return limit.rate === null ? 0 : startsAt(limit.rate, meter.fullAtUs, cost)
}

/** A job of this cost has started. */
export function occupied<M extends Meter>(limit: Limit, meter: M, cost: number, now: number): M {
  const fullAtUs = limit.rate === null ? meter.fullAtUs : charged(limit.rate, meter.fullAtUs, cost, now)
  return { ...meter, running: meter.running + 1, fullAtUs }
}

/** The same limit for one lane; a strict one has room for one. */
export function laneLimit(lanes: LaneLimit): Limit {
  return lanes.strict ? { ...lanes, concurrency: 1 } : lanes
}

/** When a lane may be looked at again, as far as time alone decides. */
export function wakesAt(lane: Lane): number {
  return Math.max(lane.waitUntil, lane.heldUntil, lane.headAt)
}

export function isEligible(lane: Lane, limit: LaneLimit, now: number): boolean {
  return lane.active && wakesAt(lane) <= now && roomIn(laneLimit(limit), lane) > 0
}

/** A lane of which something may be ready again, or whose occupant may have changed. */
export function activated(lane: Lane): Lane {
  return { ...lane, active: true, headAt: 0 }
}

/** The virtual time of a lane that comes in: before all that have had a turn, also before those at the clock itself. */
export function entry(clock: number): number {
  return clock - 1
}

/** One claim divides what it takes into so many portions. */
export const PORTIONS = 64

/**
 * How many jobs a claim for `room` jobs takes of a lane before it looks for the next lane. One, unless the claim is large: then nobody would see in which order its jobs were found.
 */
export function portion(room: number): number {
  return Math.max(1, Math.floor(room / PORTIONS))
}

/** How far a start moves its lane on. A whole number, so that sums are the same in whatever order they are made. */
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

/** A lane after a lease of it has ended. */
export function vacated(lane: Lane, job: ChangedJob): Lane {
  return { ...left(lane, job), running: Math.max(0, lane.running - 1) }
}

/** A lane after one of its jobs was changed that did not run. */
export function revisited(lane: Lane, job: ChangedJob): Lane {
  return activated(left(lane, job))
}

function left(lane: Lane, job: ChangedJob): Lane {
  const stays = job.isWaiting || lane.occupant !== job.id // Another job's end does not free it.
  return stays ? lane : { ...lane, occupant: null }
}
