import type { LaneLimit, QueueLimits } from './lanes.ts'
import type { Rate } from './rate.ts'

/** Limits of a queue, a lane or a shared limit. Omitted: not specified; null: no limit. */
export interface LimitFields {
  readonly concurrency?: number | null
  readonly rate?: Rate | null
  /** Of a queue: the name of the limit it shares with other queues. */
  readonly shared?: string | null
  /** Of a queue: the limits of each lane without its own. */
  readonly laneConcurrency?: number | null
  readonly laneRate?: Rate | null
  /** Of a queue: each lane runs one job at a time, in the order of arrival. */
  readonly strict?: boolean
  /** Of a lane, or of a queue for each lane without its own. */
  readonly weight?: number
}

/** Declared limits overlaid with changes by operators. */
export function overlaid(declared: LimitFields | null, changed: LimitFields | null): LimitFields {
  return { ...declared, ...changed }
}

export function queueLimitsOf(fields: LimitFields): QueueLimits {
  return {
    concurrency: fields.concurrency ?? null,
    rate: fields.rate ?? null,
    shared: fields.shared ?? null,
    lanes: {
      concurrency: fields.laneConcurrency ?? null,
      rate: fields.laneRate ?? null,
      strict: fields.strict ?? false,
      weight: fields.weight ?? 1,
    },
  }
}

/** The limit of one lane: its own fields over those of its queue. */
export function laneLimitOf(lanes: LaneLimit, own: LimitFields): LaneLimit {
  return {
    concurrency: own.concurrency === undefined ? lanes.concurrency : own.concurrency,
    rate: own.rate === undefined ? lanes.rate : own.rate,
    strict: lanes.strict,
    weight: own.weight ?? lanes.weight,
  }
}

/** Whether the fields are equal, in any order. */
export function sameFields(a: LimitFields | null, b: LimitFields | null): boolean {
  return canonical(a) === canonical(b)
}

function canonical(fields: LimitFields | null): string {
  if (fields === null) return 'null'
  const { rate, laneRate, ...rest } = fields
  const flat = { ...rest, ...spread('rate', rate), ...spread('laneRate', laneRate) }
  return JSON.stringify(Object.entries(flat).sort(([x], [y]) => (x < y ? -1 : 1)))
}

function spread(name: string, rate: Rate | null | undefined): Record<string, unknown> {
  if (rate === undefined) return {}
  return { [name]: rate === null ? null : [rate.limit, rate.perMs, rate.burst] }
}
