import { type Lane, rateStartsAt } from '../../../core/lanes/lanes.ts'
import { type LimitFields, overlaid, sameFields } from '../../../core/lanes/limit-fields.ts'
import type {
  LanesCall,
  LanesReply,
  LaneView,
  LimitRecord,
  LimitTarget,
  SetLimitsCall,
} from '../../../store/limits.ts'
import type { Row, SqlValue } from '../connection/client.ts'
import type { Handle } from '../connection/connection.ts'
import type { Turn } from '../connection/write-batch.ts'
import { type KnownLane, LANE_COLUMNS, type Line, laneOf, limitsIn, type Shared } from './lane-state.ts'

const KIND = { queue: 0, lane: 1, shared: 2 } as const

/** Says what limits are. */
export function setLimits(
  turn: Turn,
  { space, limits }: SetLimitsCall,
  now: number,
): { readonly limits: readonly LimitRecord[] } {
  return { limits: limits.map((limit) => setOne(turn, space, limit, now)) }
}

function setOne(
  turn: Turn,
  space: string,
  { target, by, fields }: SetLimitsCall['limits'][number],
  now: number,
): LimitRecord {
  const { declared, changed } = recordOf(turn, space, target)
  const record: LimitRecord = {
    target,
    declared: by === 'code' ? fields : declared,
    changed: by === 'hand' ? fields && { ...changed, ...fields } : changed,
  }
  // Every producer and worker says at its start what it has always said.
  const isSaid = sameFields(declared, record.declared) && sameFields(changed, record.changed)
  if (!isSaid) write(turn, space, record)
  if ('shared' in target) {
    if (!isSaid) turn.lanes.setSharedLimits(space, target.shared, overlaid(record.declared, record.changed))
    return record
  }
  const line = turn.lanes.limited(turn.queues.make(turn.db, space, target.queue), now)
  if (!isSaid) apply(turn, line, target, record, now)
  return record
}

function write(turn: Turn, space: string, { target, declared, changed }: LimitRecord): void {
  const key = keyOf(space, target)
  if (declared === null && changed === null) {
    turn.db.run('delete from skep_limits where space = ? and kind = ? and name = ? and lane = ?', ...key)
    return
  }
  turn.db.run(
    `insert or replace into skep_limits (space, kind, name, lane, declared, changed) values (?, ?, ?, ?, ?, ?)`,
    ...key,
    declared && JSON.stringify(declared),
    changed && JSON.stringify(changed),
  )
}

/** Lets claims keep to what was said of a queue or a lane. */
function apply(
  turn: Turn,
  line: Line,
  { lane }: { readonly lane?: string },
  { declared, changed }: LimitRecord,
  now: number,
): void {
  const fields = overlaid(declared, changed)
  const isNone = declared === null && changed === null
  if (lane === undefined) turn.lanes.setLimits(line, fields, now)
  else turn.lanes.setOwnLimits(line, lane, isNone ? null : fields, now)
}

function keyOf(space: string, target: LimitTarget): [string, number, string, string] {
  if ('shared' in target) return [space, KIND.shared, target.shared, '']
  if (target.lane === undefined) return [space, KIND.queue, target.queue, '']
  return [space, KIND.lane, target.queue, target.lane]
}

const RECORD_COLUMNS = 'kind, name, lane, declared, changed'

function recordOf(turn: Turn, space: string, target: LimitTarget): Omit<LimitRecord, 'target'> {
  const row = turn.db.get(
    `select ${RECORD_COLUMNS} from skep_limits where space = ? and kind = ? and name = ? and lane = ?`,
    ...keyOf(space, target),
  )
  return row ? readRecord(row) : { declared: null, changed: null }
}

function readRecord([kind, name, lane, declared, changed]: Row): LimitRecord {
  const targets = [
    { queue: name as string },
    { queue: name as string, lane: lane as string },
    { shared: name as string },
  ] as const
  return {
    target: targets[kind as 0 | 1 | 2],
    declared: fieldsIn(declared as string | null),
    changed: fieldsIn(changed as string | null),
  }
}

function fieldsIn(text: string | null): LimitFields | null {
  return text === null ? null : (JSON.parse(text) as LimitFields)
}

/** The limits of a space, or of one queue with its lanes. */
export function limits(
  turn: Pick<Turn, 'db'>,
  { space, queue }: { readonly space: string; readonly queue?: string },
): { readonly limits: readonly LimitRecord[] } {
  const [where, values] = queue === undefined ? ['', []] : [`and kind in (0, 1) and name = ?`, [queue]]
  const rows = turn.db.all(
    `select ${RECORD_COLUMNS} from skep_limits where space = ? ${where} order by kind = 2, name, kind = 0, lane`,
    space,
    ...values,
  )
  return { limits: rows.map(readRecord) }
}

/** What the lanes of a queue are doing. */
export function lanes(turn: Pick<Turn, 'db' | 'queues' | 'lanes'>, call: LanesCall, now: number): LanesReply {
  const q = turn.queues.find(turn.db, call.space, call.queue)
  const line = q === undefined ? null : turn.lanes.line(q)
  if (!line) return { lanes: [], queue: null, shared: null, now }
  const { limits: queueLimits, meter, shared } = line
  const [where, named]: [string, SqlValue[]] = call.lanes
    ? ['key in (select value from json_each(?))', [JSON.stringify(call.lanes)]]
    : ['(standing <> 0 or running > 0 or occupant is not null)', []]
  const [behind, last] = call.after === undefined ? ['', []] : ['and key > ?', [call.after]]
  const rows = turn.db.all(
    `select ${LANE_COLUMNS} from skep_lanes where q = ? and ${where} ${behind} order by key limit ?`,
    line.q,
    ...named,
    ...last,
    call.limit,
  )
  return {
    lanes: rows.map((row) => viewOf(laneOf(row, queueLimits))),
    queue: { running: meter.running, startsAt: rateStartsAt(queueLimits, meter, 1) },
    shared: shared && {
      running: shared.meter.running,
      startsAt: rateStartsAt(shared.limit, shared.meter, 1),
    },
    now,
  }
}

function viewOf({ lane, limit }: Pick<KnownLane, 'limit'> & { readonly lane: Lane }): LaneView {
  return {
    lane: lane.key,
    running: lane.running,
    startsAt: Math.max(lane.waitUntil, rateStartsAt(limit, lane, 1)),
    occupant: lane.occupant,
  }
}

/** What nobody has said anything about, in JSON. */
export const NO_LIMITS = '{}'

/** The limits that several queues share, as far as a transaction looks at them. */
export class SharedLimits {
  readonly #db: Handle
  readonly #known = new Map<string, Shared>()

  constructor(db: Handle) {
    this.#db = db
  }

  get(space: string, name: string): Shared {
    const key = JSON.stringify([space, name])
    const known = this.#known.get(key)
    if (known) return known
    const row = this.#db.get(
      'select limits, running, full_at from skep_shared where space = ? and name = ?',
      space,
      name,
    )
    const [text, running, fullAtUs] = (row ?? [NO_LIMITS, 0, 0]) as [string, number, number]
    const meter = { running, fullAtUs }
    const shared: Shared = { space, name, text, limit: limitsIn(text), meter, isChanged: false }
    this.#known.set(key, shared)
    return shared
  }

  set(space: string, name: string, fields: LimitFields): void {
    const shared = this.get(space, name)
    shared.text = JSON.stringify(fields)
    shared.limit = limitsIn(shared.text)
    shared.isChanged = true
  }

  /** Writes what has changed. */
  write(): void {
    for (const shared of this.#known.values()) {
      if (!shared.isChanged) continue
      shared.isChanged = false
      this.#db.run(
        `insert into skep_shared (space, name, limits, running, full_at) values (?, ?, ?, ?, ?)
         on conflict (space, name) do update set limits = excluded.limits, running = excluded.running,
           full_at = excluded.full_at`,
        shared.space,
        shared.name,
        shared.text,
        shared.meter.running,
        shared.meter.fullAtUs,
      )
    }
  }

  forget(): void {
    this.#known.clear()
  }
}
