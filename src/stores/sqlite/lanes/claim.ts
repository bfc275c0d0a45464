import type { Membership } from '../../../core/flows/groups.ts'
import { type ClaimedJob, rankOf } from '../../../core/jobs/job.ts'
import { type KeyRange, slicesOf } from '../../../core/lanes/key-range.ts'
import {
  byKey,
  DEFAULT_LANE,
  isEligible,
  type Lane,
  laneLimit,
  portion,
  rateStartsAt,
  roomIn,
} from '../../../core/lanes/lanes.ts'
import { Heap } from '../../../runtime/heap.ts'
import type { ClaimCall, Source } from '../../../store/store.ts'
import type { Turn } from '../connection/write-batch.ts'
import { closeGaps } from '../jobs/ages.ts'
import { find, type Placed } from '../jobs/job-row.ts'
import { claimedOf, type ReadyJob, readBehind, readEach, readReady, restOf } from '../jobs/read-ready.ts'
import { releaseKey } from '../jobs/unique-keys.ts'
import { DEFAULT_NUMBER, type KnownLane, type Line } from './lane-state.ts'

/** Lanes are read by the page: at least so many, and no more than this. */
const LEAST_LANES = 8
const MOST_LANES = 500

/** Of so many lanes the places are given up together. */
const MANY_LANES = 16

/** A lane that is being served, with those of its jobs that were read. */
interface Served {
  readonly known: KnownLane
  /** In order, from `next` on not taken yet. */
  jobs: readonly ReadyJob[]
  next: number
  /** How many the last read asked for; it got fewer if there are no more. */
  asked: number
  /** The last that was taken in order; all in front of it were taken too. */
  last: ReadyJob | null
}

/** Lanes in the order of their turns: those of a slice, or all. */
interface Stream {
  readonly slice: number | null
  /** Lanes up to here were read. */
  read: Pick<Lane, 'turn' | 'key'>
  isMore: boolean
  /** How many lanes are worth reading next: few if they have enough, and more each time they had not. */
  page: number
}

interface Taken {
  readonly job: ReadyJob
  /** The key and the number of its lane. */
  readonly key: string
  readonly number: number
}

/** Takes jobs of a limited queue, each portion from the lane whose turn it is. */
export class Serving {
  readonly #turn: Turn
  readonly #line: Line
  readonly #now: number
  readonly #heap = new Heap<Served>((a, b) => order(a.known.lane, b.known.lane))
  readonly #lanes: Served[] = []
  readonly #streams: readonly Stream[]
  #room: number
  readonly #portion: number
  /** The lane that is being served, and how much of its portion is left. */
  #from: Served | null = null
  #left = 0
  readonly #taken: Taken[] = []
  /** Jobs that were taken out of order, because they occupy their lanes. */
  readonly #singles: Taken[] = []

  constructor(turn: Turn, line: Line, room: number, keys: KeyRange | null, now: number) {
    this.#turn = turn
    this.#line = line
    this.#now = now
    const { limits, meter, shared } = line
    if (keys) turn.lanes.slice(line)
    this.#portion = portion(room)
    this.#streams = streamsOf(keys, Math.ceil(room / this.#portion) + 1)
    this.#room = Math.min(room, roomIn(limits, meter), shared ? roomIn(shared.limit, shared.meter) : Infinity)
  }

  /** Chooses jobs. Returns when a rate of the whole queue lets the next one start, if that is why it stopped. */
  choose(): number | null {
    const now = this.#now
    // Also without room: a lane that has slept long enough must not go on telling when to look again.
    this.#turn.lanes.wake(this.#line, now)
    if (this.#line.isSliced) this.#turn.lanes.bringUp(this.#line, now)
    for (; this.#room > 0; this.#room--) {
      const chosen = this.#next()
      if (!chosen) return null
      const at = startsAt(this.#line, chosen.job.rest[13])
      if (at > now) return at
      this.#take(chosen.from, chosen.job)
    }
    return null
  }

  /** Leases what was chosen. */
  lease(call: Omit<ClaimCall, 'now'>, { space, queue }: Source, taken: ClaimedJob[]): void {
    const { db } = this.#turn
    const { q } = this.#line
    if (this.#taken.length === 0) return
    db.run(
      `insert into skep_leases (n, q, token, worker, started_at, until)
       select value, ?, ?, ?, ?, ? from json_each(?)`,
      q,
      call.token,
      call.workerId,
      this.#now,
      this.#now + call.leaseMs,
      `[${this.#taken.map(({ job }) => job.n).join()}]`,
    )
    this.#leaveLine()
    this.#turn.count(q, 'ready', -this.#taken.length)
    this.#turn.count(q, 'running', this.#taken.length)

    const numbers = new Map<string, number>()
    const lanes = new Map<string, string>()
    const members = new Map<string, Membership>()
    for (const { job, key } of this.#taken) {
      const { id, n, rest } = job
      if (rest[11] === null) numbers.set(id, n)
      else releaseKey(this.#turn, q, { id, uniqueKey: rest[11], uniqueScope: rest[12] }, 'claim')
      if (key !== DEFAULT_LANE) lanes.set(id, key)
      if (rest[14] !== null) members.set(id, { group: rest[14], n: rest[15] as number })
      const lane = key === DEFAULT_LANE ? null : key
      taken.push(claimedOf(job, { space, queue, lane, token: call.token }))
    }
    this.#turn.held.claimed({ token: call.token, space, q, numbers, lanes, members })
  }

  /** Takes what was chosen out of line. */
  #leaveLine(): void {
    const { db } = this.#turn
    const { q } = this.#line
    const lanes = this.#lanes.filter(({ last }) => last !== null)
    if (lanes.length + this.#singles.length >= MANY_LANES) {
      const places = this.#taken.map(({ number, job }) => [number, job.place, job.id])
      const sql = `delete from skep_waiting where (q, state, place, id) in
        (select ?, value ->> 0, value ->> 1, value ->> 2 from json_each(?))`
      db.run(sql, q, JSON.stringify(places))
      return
    }
    for (const { known, last } of lanes) {
      const { place, id } = last as ReadyJob
      const sql = 'delete from skep_waiting where q = ? and state = ? and (place, id) <= (?, ?)'
      db.run(sql, q, known.number, place, id)
    }
    for (const { number, job } of this.#singles) {
      const sql = 'delete from skep_waiting where q = ? and state = ? and place = ? and id = ?'
      db.run(sql, q, number, job.place, job.id)
    }
    const inLine = this.#singles.filter(({ number }) => number === DEFAULT_NUMBER)
    if (inLine.length > 0)
      closeGaps(
        db,
        q,
        inLine.map(({ job }) => job),
      )
  }

  #take(from: Served, job: ReadyJob): void {
    const { lanes } = this.#turn
    const { known } = from
    if (from !== this.#from) {
      this.#line.clock = Math.max(this.#line.clock, known.lane.turn)
      this.#left = this.#portion
    }
    lanes.start(this.#line, known, { id: job.id, cost: job.rest[13] }, this.#now)
    const taken = { job, key: known.lane.key, number: known.number }
    this.#taken.push(taken)
    if (job === from.jobs[from.next]) {
      from.next++
      from.last = job
      if (from.next === from.jobs.length && from.jobs.length < from.asked)
        lanes.put(this.#line, known, { ...known.lane, active: false }, this.#now)
    } else this.#singles.push(taken)
    this.#left--
    this.#from = null
    if (!isEligible(known.lane, known.limit, this.#now)) return
    if (this.#left > 0) this.#from = from
    else this.#heap.push(from)
  }

  /** The job that is next, with its lane. Lanes that can start nothing now are put aside on the way. */
  #next(): { readonly from: Served; readonly job: ReadyJob } | null {
    for (let from = this.#from ?? this.#nextLane(); from; from = this.#nextLane()) {
      const job = this.#head(from)
      if (job) return { from, job }
    }
    return null
  }

  #nextLane(): Served | undefined {
    for (;;) {
      const first = this.#heap.peek()
      const behind = this.#furthestBehind()
      if (!behind || (first && order(first.known.lane, behind.read) <= 0)) return this.#heap.pop()
      this.#readLanes(behind)
    }
  }

  /** Of the streams that have more, the one of which the least was read: any lane beyond that may come from it. */
  #furthestBehind(): Stream | undefined {
    let behind: Stream | undefined
    for (const stream of this.#streams) {
      if (stream.isMore && (!behind || order(stream.read, behind.read) < 0)) behind = stream
    }
    return behind
  }

  #readLanes(stream: Stream): void {
    const limit = Math.min(MOST_LANES, Math.max(LEAST_LANES, Math.min(this.#room, stream.page)))
    stream.page *= 4
    const page = this.#turn.lanes.eligible(this.#line, stream.slice, stream.read, limit)
    stream.isMore = page.length === limit
    const lanes: Served[] = []
    for (const known of page) {
      const { turn, key } = known.lane
      stream.read = { turn, key }
      if (isEligible(known.lane, known.limit, this.#now)) {
        lanes.push({ known, jobs: [], next: 0, asked: 0, last: null })
      } else this.#turn.lanes.put(this.#line, known, known.lane, this.#now) // The limit or the clock went down.
    }
    if (lanes.length > 1 && !this.#isRated) this.#readHeads(lanes)
    for (const served of lanes) this.#heap.push(served)
    this.#lanes.push(...lanes)
  }

  /** Reads the first jobs of all these lanes at once: a statement for each costs more than the jobs. */
  #readHeads(lanes: readonly Served[]): void {
    const numbers = lanes.map(({ known }) => known.number)
    const asked = Math.max(this.#portion, Math.ceil(this.#room / lanes.length)) + 1
    const heads = readEach(this.#turn, this.#line.q, numbers, asked)
    for (const [i, served] of lanes.entries()) {
      served.asked = asked
      served.jobs = heads[i] as ReadyJob[]
    }
  }

  /** The job that a lane would start now. If it has none, or none yet, the lane is put aside. */
  #head(from: Served): ReadyJob | null {
    const { lanes } = this.#turn
    const { known } = from
    const job = occupantOf(this.#turn, this.#line, known, this.#now) ?? this.#first(from)
    if (job === 'waits') return null
    if (job === null) {
      lanes.put(this.#line, known, { ...known.lane, active: false }, this.#now)
      return null
    }
    const at = rateStartsAt(known.limit, known.lane, job.rest[13])
    if (at <= this.#now) return job
    lanes.wait(this.#line, known.lane.key, at, this.#now)
    return null
  }

  get #isRated(): boolean {
    const { limits, shared } = this.#line
    return (
      limits.rate !== null || limits.lanes.rate !== null || (shared !== null && shared.limit.rate !== null)
    )
  }

  /** The first job of a lane that was not taken. As many are read as will be its share if all have enough. */
  #first(from: Served): ReadyJob | null {
    const known = from.jobs[from.next]
    if (known) return known
    if (from.jobs.length < from.asked) return null
    const { limit, lane, number } = from.known
    const share = Math.ceil(this.#room / (this.#heap.size + 1))
    const most = Math.min(Math.max(share, this.#portion), roomIn(laneLimit(limit), lane)) + 1
    // Nobody knows how many a rate lets through before it has been asked for each.
    from.asked = this.#isRated || limit.rate !== null ? Math.min(most, 2 * Math.max(1, from.asked)) : most
    from.jobs = from.last
      ? readBehind(this.#turn, this.#line.q, number, from.last, from.asked)
      : readReady(this.#turn, this.#line.q, number, from.asked)
    from.next = 0
    return from.jobs[0] ?? null
  }
}

/** From when on the rates of the whole queue let a job of this cost start. */
export function startsAt({ limits, meter, shared }: Line, cost: number): number {
  const own = rateStartsAt(limits, meter, cost)
  return shared ? Math.max(own, rateStartsAt(shared.limit, shared.meter, cost)) : own
}

/** Lets a named job start, if nothing stands against it. */
export function startNamed(turn: Turn, line: Line, { job, n }: Placed, now: number): boolean {
  const { lanes } = turn
  const { id, cost } = job
  const { limits, meter, shared } = line
  lanes.wake(line, now)
  const key = job.lane ?? DEFAULT_LANE
  lanes.activate(line, key, now)
  const known = lanes.lane(line, key)
  if (roomIn(limits, meter) === 0 || (shared && roomIn(shared.limit, shared.meter) === 0)) return false
  if (!isEligible(known.lane, known.limit, now)) return false
  if (rateStartsAt(known.limit, known.lane, cost) > now) return false
  if (known.limit.strict) {
    const head = occupantOf(turn, line, known, now) ?? readReady(turn, line.q, known.number, 1)[0]
    if (head === undefined || head === 'waits' || head.n !== n) return false
  }
  if (startsAt(line, cost) > now) return false
  lanes.start(line, known, { id, cost }, now)
  return true
}

/** The job that occupies a strict lane, if it does; `waits` if it is not ready, and the lane then waits for it. */
export function occupantOf(turn: Turn, line: Line, known: KnownLane, now: number): ReadyJob | 'waits' | null {
  const { lane, limit } = known
  if (lane.occupant === null || !limit.strict) return null
  const occupant = find(turn, turn.queues.name(turn.db, line.q).space, lane.occupant)
  if (occupant?.job.state === 'delayed') {
    turn.lanes.put(line, known, { ...lane, headAt: occupant.job.dueAt }, now)
    return 'waits'
  }
  if (occupant?.job.state === 'ready') {
    const { n, job } = occupant
    const place = job.strict ? n : rankOf(job.dueAt, job.priority)
    return { n, id: job.id, place, payload: job.payload, rest: restOf(job) }
  }
  turn.lanes.put(line, known, { ...lane, occupant: null }, now)
  return null
}

/** `page`: so many lanes of all of them are worth reading first. */
function streamsOf(keys: KeyRange | null, page: number): Stream[] {
  const start = { read: { turn: Number.MIN_SAFE_INTEGER, key: '' }, isMore: true }
  if (keys === null) return [{ slice: null, ...start, page }]
  const { first, end } = slicesOf(keys)
  const each = Math.ceil(page / (end - first))
  return Array.from({ length: end - first }, (_, n) => ({ slice: first + n, ...start, page: each }))
}

function order(a: Pick<Lane, 'turn' | 'key'>, b: Pick<Lane, 'turn' | 'key'>): number {
  return a.turn - b.turn || byKey(a.key, b.key)
}
