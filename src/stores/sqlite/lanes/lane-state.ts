import { sliceOf } from '../../../core/lanes/key-range.ts'
import {
  type Lane,
  type LaneLimit,
  type Limit,
  laneLimit,
  type Meter,
  type QueueLimits,
  roomIn,
  wakesAt,
} from '../../../core/lanes/lanes.ts'
import { type LimitFields, laneLimitOf, queueLimitsOf } from '../../../core/lanes/limit-fields.ts'
import type { Row, SqlValue } from '../connection/client.ts'
import type { Handle } from '../connection/connection.ts'

/** A limited queue as one transaction sees it. */
export interface Line {
  readonly q: number
  readonly space: string
  /** The limits in JSON, as they are stored. */
  text: string
  limits: QueueLimits
  meter: Meter
  /** The virtual time of the latest start. */
  clock: number
  /** The greatest number a lane has. */
  lastLane: number
  /** Somebody has claimed from a range of its keys: its lanes are written with their slices. */
  isSliced: boolean
  shared: Shared | null
  isChanged: boolean
  /** Those that were looked at. */
  readonly lanes: Map<string, KnownLane>
}

/** A limit that several queues share. */
export interface Shared {
  readonly space: string
  readonly name: string
  text: string
  limit: Limit
  meter: Meter
  isChanged: boolean
}

/** A lane with where its ready jobs are and what its limits come to. */
export interface KnownLane {
  lane: Lane
  /** The state of its ready jobs in `waiting`. */
  readonly number: number
  /** Its own limits in JSON; null when it has none. */
  own: string | null
  limit: LaneLimit
  /** Where it stands in its line, see {@link STANDING}. */
  standing: number
  isStored: boolean
  isChanged: boolean
}

/** The number of the default lane: that of ready jobs in queues without limits, so that none has to be moved. */
export const DEFAULT_NUMBER = 1

export const STANDING = { idle: 0, eligible: 1, waiting: 2, full: 3 } as const

/** Where a lane stands when it is put. Time goes on, so a claim asks the lane itself. */
export function standingOf(lane: Lane, limit: LaneLimit, now: number): number {
  if (!lane.active) return STANDING.idle
  if (roomIn(laneLimit(limit), lane) === 0) return STANDING.full
  return wakesAt(lane) <= now ? STANDING.eligible : STANDING.waiting
}

export const LANE_COLUMNS =
  'key, number, standing, turn, running, full_at, wait_until, held_until, head_at, occupant, own'

/** Reads a row of {@link LANE_COLUMNS}. */
export function laneOf(row: Row, limits: QueueLimits): KnownLane {
  const own = row[10] as string | null
  return {
    lane: {
      key: row[0] as string,
      active: row[2] !== STANDING.idle,
      turn: row[3] as number,
      running: row[4] as number,
      fullAtUs: row[5] as number,
      waitUntil: row[6] as number,
      heldUntil: row[7] as number,
      headAt: row[8] as number,
      occupant: row[9] as string | null,
    },
    number: row[1] as number,
    own,
    limit: ownLimit(limits, own),
    standing: row[2] as number,
    isStored: true,
    isChanged: false,
  }
}

export function ownLimit(limits: QueueLimits, own: string | null): LaneLimit {
  return own === null ? limits.lanes : laneLimitOf(limits.lanes, JSON.parse(own) as LimitFields)
}

/** So many texts of limits are remembered read; what they mean never changes. */
const MOST_READ = 1_000
const read = new Map<string, QueueLimits>()

export function limitsIn(text: string): QueueLimits {
  const known = read.get(text)
  if (known) return known
  if (read.size >= MOST_READ) read.clear()
  const limits = queueLimitsOf(JSON.parse(text) as LimitFields)
  read.set(text, limits)
  return limits
}

const CHUNKS = [100, 10, 1] as const
const COLUMNS =
  'q key number standing turn running full_at wait_until held_until head_at wake_at occupant own slice'.split(
    ' ',
  )
const UPDATED = COLUMNS.slice(3).map((name) => `${name} = excluded.${name}`)
const WRITE_LANES = CHUNKS.map((count) => {
  const row = `(${COLUMNS.map(() => '?').join(', ')})`
  return `insert into skep_lanes (${COLUMNS.join(', ')}) values ${Array(count).fill(row).join(', ')}
    on conflict (q, key) do update set ${UPDATED.join(', ')}`
})

export function writeLanes(db: Handle, { q, isSliced }: Line, lanes: readonly KnownLane[]): void {
  for (let from = 0; from < lanes.length; ) {
    const chunk = CHUNKS.findIndex((count) => count <= lanes.length - from)
    const to = from + (CHUNKS[chunk] as number)
    const values: SqlValue[] = []
    for (const known of lanes.slice(from, to)) {
      const { lane, number, own, standing } = known
      values.push(q, lane.key, number, standing, lane.turn, lane.running, lane.fullAtUs)
      values.push(lane.waitUntil, lane.heldUntil, lane.headAt, wakesAt(lane), lane.occupant, own)
      values.push(isSliced ? sliceOf(lane.key) : null)
      known.isStored = true
      known.isChanged = false
    }
    db.run(WRITE_LANES[chunk] as string, ...values)
    from = to
  }
}
