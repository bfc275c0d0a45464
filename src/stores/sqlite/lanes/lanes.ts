import { sliceOf } from '../../../core/lanes/key-range.ts'
import {
  activated,
  type ChangedJob,
  DEFAULT_LANE,
  entry,
  type Lane,
  NEVER,
  newLane,
  occupied,
  revisited,
  served,
  vacated,
} from '../../../core/lanes/lanes.ts'
import type { LimitFields } from '../../../core/lanes/limit-fields.ts'
import type { Handle } from '../connection/connection.ts'
import {
  DEFAULT_NUMBER,
  type KnownLane,
  LANE_COLUMNS,
  type Line,
  laneOf,
  limitsIn,
  ownLimit,
  type Shared,
  STANDING,
  standingOf,
  writeLanes,
} from './lane-state.ts'
import { NO_LIMITS, SharedLimits } from './limits.ts'
import type { QueueIds } from './queue-ids.ts'
import type { Rules } from './rules.ts'

/** So many lanes are woken by one claim at most, as with delayed jobs. */
const WAKE_LIMIT = 1_000

/**
 * The limited queues and lanes that a transaction looks at. What changes is kept here and written once: at the end, or
 * before a statement that searches among lanes.
 *
 * A lane is active as long as one of its jobs may be ready. Whoever takes the last of them sees that there is no other
 * and makes it idle, so that nobody comes back for nothing.
 */
export class Lanes {
  readonly #db: Handle
  readonly #rules: Rules
  readonly #queues: QueueIds
  readonly #lines = new Map<number, Line>()
  readonly #shared: SharedLimits
  #isChecked = false
  #hasNew = false

  constructor(db: Handle, rules: Rules, queues: QueueIds) {
    this.#db = db
    this.#rules = rules
    this.#queues = queues
    this.#shared = new SharedLimits(db)
  }

  /** When the holds on a queue end together; 0 if none stands. */
  heldUntil(space: string, queue: string, now: number): number {
    return this.#checked().heldUntil(this.#db, space, queue, now)
  }

  /** What holds whole queues has changed. */
  holdsChanged(): void {
    this.#checked().changed(this.#db)
  }

  /** A queue's line, if it is limited. */
  line(q: number): Line | null {
    const known = this.#lines.get(q)
    if (known) return known
    return this.#checked().isLimited(this.#db, q) ? this.#read(q) : null
  }

  /** A queue's line. If it has none yet it is limited from now on, and what runs and waits is counted. */
  limited(q: number, now: number): Line {
    const known = this.line(q)
    if (known) return known
    const db = this.#db
    db.run(
      `insert into skep_lines (q, limits, clock, running, full_at, last_lane) values (?, ?, 0, 0, 0, ?)`,
      q,
      NO_LIMITS,
      DEFAULT_NUMBER,
    )
    this.#rules.changed(db)
    const line = this.#read(q)
    // No job of it has a lane yet, so all are in the default one.
    const [running] = db.get('select count(*) from skep_leases where q = ?', q) as [number]
    line.meter = { ...line.meter, running }
    line.isChanged = true
    const isReady = db.get('select 1 from skep_waiting where q = ? and state = 1 limit 1', q) !== undefined
    const lane = this.lane(line, DEFAULT_LANE)
    if (running > 0 || isReady) this.put(line, lane, { ...lane.lane, running, active: isReady }, now)
    return line
  }

  /** A lane of a line. One that is not known is new, and stays so until it is put. */
  lane(line: Line, key: string): KnownLane {
    const known = line.lanes.get(key)
    if (known) return known
    const row = this.#db.get(`select ${LANE_COLUMNS} from skep_lanes where q = ? and key = ?`, line.q, key)
    const lane = row ? laneOf(row, line.limits) : this.#newLane(line, key)
    line.lanes.set(key, lane)
    return lane
  }

  /** Reads lanes that will be asked for, all at once. */
  load(line: Line, keys: Iterable<string>): void {
    const unknown = [...new Set(keys)].filter((key) => !line.lanes.has(key))
    if (unknown.length < 2) return
    const sql = `select ${LANE_COLUMNS} from skep_lanes where q = ? and key in (select value from json_each(?))`
    for (const row of this.#db.all(sql, line.q, JSON.stringify(unknown))) this.#known(line, row)
    for (const key of unknown) if (!line.lanes.has(key)) line.lanes.set(key, this.#newLane(line, key))
  }

  /** The same lane in another state. If it is eligible it does not stand behind the clock: nobody saves up turns. */
  put(line: Line, known: KnownLane, lane: Lane, now: number): void {
    this.#put(line, known, lane, false, now)
  }

  /** `stays`: if it was eligible it keeps its turn. */
  #put(line: Line, known: KnownLane, lane: Lane, stays: boolean, now: number): void {
    const standing = standingOf(lane, known.limit, now)
    const keeps = stays && known.standing === STANDING.eligible
    const isBehind = standing === STANDING.eligible && lane.turn < entry(line.clock) && !keeps
    if (known.isStored && !isBehind && lane === known.lane && standing === known.standing) return
    known.lane = isBehind ? { ...lane, turn: entry(line.clock) } : lane
    known.standing = standing
    known.isChanged = true
    if (!known.isStored) this.#hasNew = true
  }

  /** A job of this lane is ready. */
  activate(line: Line, key: string, now: number): void {
    const known = this.lane(line, key)
    const { active, headAt } = known.lane
    this.put(line, known, active && headAt === 0 ? known.lane : activated(known.lane), now)
  }

  /** A job of this lane was changed that does not run now. */
  revisit(line: Line, key: string, job: ChangedJob, now: number): void {
    const known = this.lane(line, key)
    if (known.lane.occupant === job.id) this.put(line, known, revisited(known.lane, job), now)
    else this.activate(line, key, now)
  }

  /** A job of this lane starts. */
  start(
    line: Line,
    known: KnownLane,
    job: { readonly id: string; readonly cost: number },
    now: number,
  ): void {
    const { shared } = line
    line.meter = occupied(line.limits, line.meter, job.cost, now)
    line.isChanged = true
    if (shared) {
      shared.meter = occupied(shared.limit, shared.meter, job.cost, now)
      shared.isChanged = true
    }
    this.put(line, known, served(known.lane, known.limit, job, now), now)
  }

  /** A lease of this lane has ended. A job that is ready again activates it by itself. */
  vacate(line: Line, key: string, job: ChangedJob, now: number): void {
    const known = this.lane(line, key)
    this.#put(line, known, { ...vacated(known.lane, job), headAt: 0 }, true, now)
    this.#count(line, -1)
  }

  /** Many leases of a line have ended for good. */
  vacateAll(line: Line, jobs: Iterable<readonly [id: string, key: string]>, now: number): void {
    const lanes = new Map<string, string[]>()
    for (const [id, key] of jobs) {
      const ids = lanes.get(key)
      if (ids) ids.push(id)
      else lanes.set(key, [id])
    }
    this.load(line, lanes.keys())
    for (const [key, ids] of lanes) {
      // The last of them as the others would do, and those that are left only count.
      const known = this.lane(line, key)
      const { occupant, running } = known.lane
      const id = occupant !== null && ids.includes(occupant) ? occupant : (ids[0] as string)
      const lane = { ...known.lane, running: running - ids.length + 1 }
      this.#put(line, known, { ...vacated(lane, { id, isWaiting: false }), headAt: 0 }, true, now)
      this.#count(line, -ids.length)
    }
  }

  /** Nothing of this lane starts before a moment. */
  wait(line: Line, key: string, until: number, now: number): void {
    const known = this.lane(line, key)
    this.put(line, known, { ...known.lane, waitUntil: Math.max(known.lane.waitUntil, until) }, now)
  }

  /** Holds on this lane end at a moment; 0: there is none. */
  hold(line: Line, key: string, until: number, now: number): void {
    const known = this.lane(line, key)
    this.put(line, known, { ...known.lane, heldUntil: until }, now)
  }

  /** Gives a line other limits; what it runs counts there from now on. */
  setLimits(line: Line, fields: LimitFields, now: number): void {
    this.write()
    line.text = JSON.stringify(fields)
    line.limits = limitsIn(line.text)
    line.isChanged = true
    const shared = this.#sharedOf(line)
    if (shared !== line.shared) {
      const { running } = line.meter
      this.#count(line, -running)
      line.shared = shared
      this.#count(line, running)
    }
    for (const known of line.lanes.values()) known.limit = ownLimit(line.limits, known.own)
    // Where nothing runs there is room, before and after. The others are found however many there are.
    const sql = `select ${LANE_COLUMNS} from skep_lanes where q = ? and (running > 0 or standing = 3)`
    for (const row of this.#db.all(sql, line.q)) {
      const known = this.#known(line, row)
      this.#put(line, known, known.lane, true, now)
    }
  }

  /** Gives a lane limits of its own; null takes them away. */
  setOwnLimits(line: Line, key: string, own: LimitFields | null, now: number): void {
    const known = this.lane(line, key)
    known.own = own && JSON.stringify(own)
    known.limit = ownLimit(line.limits, known.own)
    this.#put(line, known, { ...known.lane }, true, now)
  }

  setSharedLimits(space: string, name: string, fields: LimitFields): void {
    this.#shared.set(space, name, fields)
  }

  /** Makes lanes eligible whose time has come. */
  wake(line: Line, now: number): void {
    this.write()
    const sql = `select ${LANE_COLUMNS} from skep_lanes where q = ? and standing = ${STANDING.waiting}
      and wake_at <= ? order by wake_at limit ${WAKE_LIMIT}`
    for (const row of this.#db.all(sql, line.q, now)) {
      const known = this.#known(line, row)
      this.put(line, known, known.lane, now)
    }
    this.write()
  }

  /** The next lanes that may start something, in the order of their turns, from behind a place on; of one slice, or of all. */
  eligible(
    line: Line,
    slice: number | null,
    after: { readonly turn: number; readonly key: string },
    limit: number,
  ): KnownLane[] {
    const sql = `select ${LANE_COLUMNS} from skep_lanes where q = ? and standing = ${STANDING.eligible}
      ${slice === null ? '' : 'and slice = ?'} and (turn, key) > (?, ?) order by turn, key limit ?`
    const places = slice === null ? [line.q] : [line.q, slice]
    return this.#db.all(sql, ...places, after.turn, after.key, limit).map((row) => this.#known(line, row))
  }

  /** Brings the default lane up to the clock. */
  bringUp(line: Line, now: number): void {
    const known = this.lane(line, DEFAULT_LANE)
    if (!known.isStored) return
    this.put(line, known, known.lane, now)
    this.write()
  }

  /** Has the lanes of a line written with the slices of their keys from now on, so that a range of them can be served. */
  slice(line: Line): void {
    if (line.isSliced) return
    this.write()
    const lanes = this.#db.all('select key from skep_lanes where q = ?', line.q).map(([key]) => key as string)
    this.#db.run(
      `update skep_lanes as l set slice = given.value ->> 1 from json_each(?) given
       where l.q = ? and l.key = given.value ->> 0`,
      JSON.stringify(lanes.map((key) => [key, sliceOf(key)])),
      line.q,
    )
    line.isSliced = true
    line.isChanged = true
  }

  /** When the next lane that waits is to be looked at; null if that is not a question of time. */
  nextWake(line: Line): number | null {
    this.write()
    const row = this.#db.get(
      `select wake_at from skep_lanes where q = ? and standing = ${STANDING.waiting} order by wake_at limit 1`,
      line.q,
    )
    return row === undefined || row[0] === NEVER ? null : (row[0] as number)
  }

  /** Sees to it that new lanes have their numbers in the table. */
  writeNew(): void {
    if (this.#hasNew) this.write()
  }

  /** Writes what has changed. */
  write(): void {
    const db = this.#db
    this.#hasNew = false
    for (const line of this.#lines.values()) {
      const changed: KnownLane[] = []
      for (const known of line.lanes.values()) if (known.isChanged) changed.push(known)
      if (changed.length > 0) writeLanes(db, line, changed)
      if (!line.isChanged) continue
      line.isChanged = false
      db.run(
        'update skep_lines set limits = ?, clock = ?, running = ?, full_at = ?, last_lane = ?, is_sliced = ? where q = ?',
        line.text,
        line.clock,
        line.meter.running,
        line.meter.fullAtUs,
        line.lastLane,
        line.isSliced ? 1 : 0,
        line.q,
      )
    }
    this.#shared.write()
  }

  /** Others than this have changed lanes: they are read anew. All is written. */
  forget(): void {
    this.#lines.clear()
    this.#shared.forget()
  }

  #count(line: Line, by: number): void {
    const { shared } = line
    if (by !== 0) line.isChanged = true
    line.meter = { ...line.meter, running: line.meter.running + by }
    if (!shared || by === 0) return
    shared.meter = { ...shared.meter, running: shared.meter.running + by }
    shared.isChanged = true
  }

  #read(q: number): Line {
    const row = this.#db.get(
      'select limits, clock, running, full_at, last_lane, is_sliced from skep_lines where q = ?',
      q,
    )
    const [text, clock, running, fullAtUs, lastLane, isSliced] = row as [
      string,
      number,
      number,
      number,
      number,
      0 | 1,
    ]
    const line: Line = {
      q,
      space: this.#queues.name(this.#db, q).space,
      text,
      limits: limitsIn(text),
      meter: { running, fullAtUs },
      clock,
      lastLane,
      isSliced: isSliced === 1,
      shared: null,
      isChanged: false,
      lanes: new Map(),
    }
    line.shared = this.#sharedOf(line)
    this.#lines.set(q, line)
    return line
  }

  #sharedOf({ space, limits }: Line): Shared | null {
    return limits.shared === null ? null : this.#shared.get(space, limits.shared)
  }

  #newLane(line: Line, key: string): KnownLane {
    const isDefault = key === DEFAULT_LANE
    if (!isDefault) {
      line.lastLane++
      line.isChanged = true
    }
    return {
      lane: newLane(key, line.clock),
      number: isDefault ? DEFAULT_NUMBER : line.lastLane,
      own: null,
      limit: line.limits.lanes,
      standing: STANDING.idle,
      isStored: false,
      isChanged: false,
    }
  }

  /** What was read, unless it is here already: then it may have changed since. */
  #known(line: Line, row: readonly (string | number | null | Uint8Array)[]): KnownLane {
    const key = row[0] as string
    const known = line.lanes.get(key) ?? laneOf(row, line.limits)
    line.lanes.set(key, known)
    return known
  }

  #checked(): Rules {
    if (!this.#isChecked) this.#rules.check(this.#db)
    this.#isChecked = true
    return this.#rules
  }
}
