import { isFinal, type Job } from '../../core/jobs/job.ts'
import {
  byKey,
  DEFAULT_LANE,
  type LaneLimit,
  NEVER,
  occupied,
  rateStartsAt,
  UNUSED,
} from '../../core/lanes/lanes.ts'
import { type LimitFields, laneLimitOf, overlaid, queueLimitsOf } from '../../core/lanes/limit-fields.ts'
import type {
  LanesCall,
  LanesReply,
  LaneView,
  LimitRecord,
  LimitTarget,
  SetLimitsCall,
} from '../../store/limits.ts'
import { Line, type SharedLimit } from './limited-queue.ts'
import type { Table } from './table.ts'

/** The limits, and the state of limited queues. */
export class Lines {
  readonly #table: Table
  readonly #records = new Map<string, { readonly space: string; readonly record: LimitRecord }>()
  /** By space, then by queue. */
  readonly #lines = new Map<string, Map<string, Line>>()
  /** When the token buckets of shared limits are full again. */
  readonly #fullAtUs = new Map<string, number>()

  constructor(table: Table) {
    this.#table = table
  }

  /** The state of a limited queue; undefined if it has no limits. */
  get(space: string, queue: string): Line | undefined {
    return this.#lines.get(space)?.get(queue)
  }

  /** The state of a queue, which becomes limited if it was not: running jobs count from now on. */
  make(space: string, queue: string, now: number): Line {
    const known = this.get(space, queue)
    if (known) return known
    const table = this.#table
    const jobs = {
      get: (id: string) => table.get(space, id),
      first: (lane: string) => table.nextReady(space, queue, lane),
    }
    const line = new Line(jobs, this.#limitsOf(space, queue), this.#laneLimits(space, queue))
    const lines = this.#lines.get(space) ?? new Map<string, Line>()
    this.#lines.set(space, lines.set(queue, line))
    for (const { lane } of table.inState(space, queue, 'running')) line.found(lane ?? DEFAULT_LANE, now)
    if (table.nextReady(space, queue, DEFAULT_LANE)) line.activate(DEFAULT_LANE, now)
    return line
  }

  /** Updates lanes after any change of a job except a claim. */
  track(before: Job | null, after: Job | null, now: number): void {
    const job = (after ?? before) as Job
    const line = job.lane === null ? this.get(job.space, job.queue) : this.make(job.space, job.queue, now)
    if (!line) return
    const lane = job.lane ?? DEFAULT_LANE
    const changed = { id: job.id, isWaiting: after !== null && !isFinal(after.state) }
    if (before?.state === 'running' && after?.state !== 'running')
      line.vacate(lane, changed, after?.state === 'ready', now)
    else if (after?.state === 'ready' || line.lane(lane)?.occupant === job.id)
      line.revisit(lane, changed, now)
  }

  /** The limit that a queue shares with others, if any. */
  sharedOf(space: string, { limits }: Line): SharedLimit | null {
    if (limits.shared === null) return null
    const name = limits.shared
    const key = keyOf(space, { shared: name })
    const limit = queueLimitsOf(this.#fields(space, { shared: name }))
    const fullAtUs = this.#fullAtUs
    const lines = [...(this.#lines.get(space)?.values() ?? [])].filter((line) => line.limits.shared === name)
    return {
      limit,
      get meter() {
        const running = lines.reduce((sum, line) => sum + line.meter.running, 0)
        return { running, fullAtUs: fullAtUs.get(key) ?? 0 }
      },
      charge: (cost, now) => {
        const meter = { ...UNUSED, fullAtUs: fullAtUs.get(key) ?? 0 }
        fullAtUs.set(key, occupied(limit, meter, cost, now).fullAtUs)
      },
    }
  }

  set({ space, limits }: SetLimitsCall, now: number): LimitRecord[] {
    return limits.map(({ target, by, fields }) => {
      const key = keyOf(space, target)
      const { declared, changed } = this.#records.get(key)?.record ?? { declared: null, changed: null }
      const record: LimitRecord = {
        target,
        declared: by === 'code' ? fields : declared,
        changed: by === 'hand' ? fields && { ...changed, ...fields } : changed,
      }
      if (record.declared === null && record.changed === null) this.#records.delete(key)
      else this.#records.set(key, { space, record })
      if ('queue' in target) {
        const line = this.make(space, target.queue, now)
        line.changed(this.#limitsOf(space, target.queue), this.#laneLimits(space, target.queue), now)
      }
      return record
    })
  }

  list(space: string, queue: string | undefined): LimitRecord[] {
    return [...this.#records]
      .filter(([, entry]) => entry.space === space)
      .filter(
        ([, { record }]) =>
          queue === undefined || ('queue' in record.target && record.target.queue === queue),
      )
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { record }]) => record)
  }

  lanes(call: LanesCall, now: number): LanesReply {
    const line = this.get(call.space, call.queue)
    if (!line) return { lanes: [], queue: null, shared: null, now }
    const shared = this.sharedOf(call.space, line)
    const chosen = call.lanes
      ? call.lanes.map((key) => line.lane(key)).filter((lane) => lane !== undefined)
      : [...line.lanes()].filter(
          ({ active, running, occupant }) => active || running > 0 || occupant !== null,
        )
    const lanes = chosen
      .sort((a, b) => byKey(a.key, b.key))
      .filter(({ key }) => call.after === undefined || byKey(key, call.after) > 0)
      .slice(0, call.limit)
      .map((lane): LaneView => {
        const byRate = rateStartsAt(line.laneLimitOf(lane.key), lane, 1)
        return {
          lane: lane.key,
          running: lane.running,
          startsAt: Math.max(lane.waitUntil, byRate),
          occupant: lane.occupant,
        }
      })
    return {
      lanes,
      queue: { running: line.meter.running, startsAt: rateStartsAt(line.limits, line.meter, 1) },
      shared: shared && {
        running: shared.meter.running,
        startsAt: rateStartsAt(shared.limit, shared.meter, 1),
      },
      now,
    }
  }

  prune(now: number): void {
    for (const lines of this.#lines.values()) for (const line of lines.values()) line.prune(now)
  }

  #limitsOf(space: string, queue: string): ReturnType<typeof queueLimitsOf> {
    return queueLimitsOf(this.#fields(space, { queue }))
  }

  #laneLimits(space: string, queue: string): (key: string) => LaneLimit {
    const { lanes } = this.#limitsOf(space, queue)
    return (lane) => laneLimitOf(lanes, this.#fields(space, { queue, lane }))
  }

  #fields(space: string, target: LimitTarget): LimitFields {
    const record = this.#records.get(keyOf(space, target))?.record
    return record ? overlaid(record.declared, record.changed) : {}
  }
}

/** The earlier of two timestamps; null: none. */
export function earlier(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.min(a, b)
}

/** A timestamp, or null if it never comes. */
export function orNull(moment: number): number | null {
  return moment >= NEVER ? null : moment
}

function keyOf(space: string, target: LimitTarget): string {
  return JSON.stringify(
    'shared' in target ? [space, 1, target.shared] : [space, 0, target.queue, target.lane ?? null],
  )
}
