import type { Membership } from '../../../core/flows/groups.ts'
import type { ClaimedJob } from '../../../core/jobs/job.ts'
import { byRank, claimable, claim as claimed, claimedPart } from '../../../core/jobs/transitions.ts'
import { isInRange } from '../../../core/lanes/key-range.ts'
import { DEFAULT_LANE, NEVER } from '../../../core/lanes/lanes.ts'
import type { ClaimCall, ClaimReply, Source } from '../../../store/store.ts'
import type { Turn } from '../connection/write-batch.ts'
import { Serving, startNamed } from '../lanes/claim.ts'
import { DEFAULT_NUMBER, type Line } from '../lanes/lane-state.ts'
import { closeGaps } from './ages.ts'
import { find, HOT_COLUMNS, hotJob, type Placed, replace } from './job-row.ts'
import { firstDelayed, promoteDue, promoteLaned } from './promote.ts'
import { claimedOf, type ReadyJob, readNamed, readReady } from './read-ready.ts'
import { releaseKey } from './unique-keys.ts'

/** Leases jobs, source by source. */
export function claim(turn: Turn, call: Omit<ClaimCall, 'now'>, now: number): ClaimReply {
  const taken: ClaimedJob[] = []
  const limited: number[] = []
  let next = NEVER
  for (const [index, source] of call.sources.entries()) {
    const q = turn.queues.find(turn.db, source.space, source.queue)
    if (q !== undefined && turn.lanes.line(q)) limited.push(index)
    const heldUntil = call.again ? 0 : turn.lanes.heldUntil(source.space, source.queue, now)
    const at =
      heldUntil > 0 ? heldUntil : q === undefined ? null : claimFrom(turn, call, source, q, now, taken)
    next = Math.min(next, at ?? NEVER)
  }
  return {
    jobs: taken,
    nextDueAt: taken.length < call.limit && next < NEVER ? next : null,
    ...(limited.length > 0 ? { limited } : {}),
    now,
  }
}

/** Claims from one source. Returns when it is worth looking again, as far as that is a question of time. */
function claimFrom(
  turn: Turn,
  call: Omit<ClaimCall, 'now'>,
  source: Source,
  q: number,
  now: number,
  taken: ClaimedJob[],
): number | null {
  if (call.again) {
    takeAgain(turn, call, q, now, taken)
    return firstDelayed(turn, q)
  }
  const room = Math.max(0, Math.min(source.limit, call.limit - taken.length))
  const line = turn.lanes.line(q)
  if (call.ids) takeNamed(turn, call, call.ids, source, room, now, taken)
  else if (line) return serve(turn, call, source, line, room, now, taken)
  else {
    promoteDue(turn, q, now)
    const isIn = source.keys === undefined || isInRange(source.keys, DEFAULT_LANE)
    if (room > 0 && isIn) {
      const ahead = call.first?.length ? takeAhead(turn, call, source, q, room, now, taken) : 0
      if (ahead < room) takeNext(turn, call, source, q, room - ahead, now, taken)
    }
  }
  const due = firstDelayed(turn, q)
  return line ? earlier(due, turn.lanes.nextWake(line)) : due
}

/** Claims from a limited queue. */
function serve(
  turn: Turn,
  call: Omit<ClaimCall, 'now'>,
  source: Source,
  line: Line,
  room: number,
  now: number,
  taken: ClaimedJob[],
): number | null {
  promoteLaned(turn, line, now)
  const serving = new Serving(turn, line, room, source.keys ?? null, now)
  const startsAt = serving.choose()
  serving.lease(call, source, taken)
  // With all the room used up nobody asks when to look again.
  if (taken.length >= call.limit) return null
  return earlier(startsAt, earlier(firstDelayed(turn, line.q), turn.lanes.nextWake(line)))
}

/** The earlier of two moments; null stands for none. */
function earlier(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.min(a, b)
}

/** Takes the lowest ranks. All that is in front of the last one goes with it, so whole ranges are moved. */
function takeNext(
  turn: Turn,
  call: Omit<ClaimCall, 'now'>,
  source: Source,
  q: number,
  room: number,
  now: number,
  taken: ClaimedJob[],
): void {
  const { db } = turn
  // Workers look at many empty queues, and the large statement is dear even for nothing.
  if (db.get('select 1 from skep_waiting where q = ? and state = 1 limit 1', q) === undefined) return
  const jobs = readReady(turn, q, DEFAULT_NUMBER, room)
  const { place, id: lastId } = jobs.at(-1) as ReadyJob
  const last = [q, place, lastId] as const
  db.run(
    `insert into skep_leases (n, q, token, worker, started_at, until)
     select n, q, ?, ?, ?, ? from skep_waiting where q = ? and state = 1 and (place, id) <= (?, ?)`,
    call.token,
    call.workerId,
    now,
    now + call.leaseMs,
    ...last,
  )
  db.run('delete from skep_waiting where q = ? and state = 1 and (place, id) <= (?, ?)', ...last)
  tellOf(turn, call, source, q, jobs, taken)
}

/** Takes those that go before all others, wherever they stand. Returns how many they are. */
function takeAhead(
  turn: Turn,
  call: Omit<ClaimCall, 'now'>,
  source: Source,
  q: number,
  room: number,
  now: number,
  taken: ClaimedJob[],
): number {
  const { db } = turn
  const jobs = readNamed(turn, q, new Set(call.first), room)
  if (jobs.length === 0) return 0
  db.run(
    `insert into skep_leases (n, q, token, worker, started_at, until) select value, ?, ?, ?, ?, ? from json_each(?)`,
    q,
    call.token,
    call.workerId,
    now,
    now + call.leaseMs,
    `[${jobs.map(({ n }) => n).join()}]`,
  )
  db.run(
    `delete from skep_waiting where q = ? and state = 1
       and (place, id) in (select value ->> 0, value ->> 1 from json_each(?))`,
    q,
    JSON.stringify(jobs.map(({ place, id }) => [place, id])),
  )
  closeGaps(db, q, jobs)
  tellOf(turn, call, source, q, jobs, taken)
  return jobs.length
}

/** Keeps account of jobs that were leased, and hands them over. */
function tellOf(
  turn: Turn,
  call: Omit<ClaimCall, 'now'>,
  { space, queue }: Source,
  q: number,
  jobs: readonly ReadyJob[],
  taken: ClaimedJob[],
): void {
  turn.count(q, 'ready', -jobs.length)
  turn.count(q, 'running', jobs.length)

  const held = new Map<string, number>()
  const members = new Map<string, Membership>()
  const from = { space, queue, lane: null, token: call.token }
  for (const job of jobs) {
    const { id, n, rest } = job
    if (rest[11] === null) held.set(id, n)
    else releaseKey(turn, q, { id, uniqueKey: rest[11], uniqueScope: rest[12] }, 'claim')
    if (rest[14] !== null) members.set(id, { group: rest[14], n: rest[15] as number })
    taken.push(claimedOf(job, from))
  }
  turn.held.claimed({ token: call.token, space, q, numbers: held, lanes: NO_LANES, members })
}

const NO_LANES: ReadonlyMap<string, string> = new Map()

const HELD = `select ${HOT_COLUMNS} from skep_leases l cross join skep_jobs j on j.n = l.n where l.q = ? and l.token = ?`

/** What the token of an earlier claim holds, with leases that begin anew. */
function takeAgain(
  turn: Turn,
  call: Omit<ClaimCall, 'now'>,
  q: number,
  now: number,
  taken: ClaimedJob[],
): void {
  const held = turn.db.all(HELD, q, call.token).map((row) => hotJob(turn, row).job)
  turn.db.run('update skep_leases set until = ? where q = ? and token = ?', now + call.leaseMs, q, call.token)
  taken.push(...held.sort(byRank).map(claimedPart))
}

/** Takes named jobs of one source, if nothing stands against it. */
function takeNamed(
  turn: Turn,
  call: Omit<ClaimCall, 'now'>,
  ids: readonly string[],
  { space, queue, keys }: Source,
  room: number,
  now: number,
  taken: ClaimedJob[],
): void {
  const lease = { workerId: call.workerId, token: call.token, leaseMs: call.leaseMs }
  const named = [...new Set(ids)]
    .map((id) => find(turn, space, id))
    .filter((found): found is Placed => found?.job.queue === queue)
    .filter(({ job }) => claimable(job, now))
    .filter(({ job }) => keys === undefined || isInRange(keys, job.lane))
  const line = named[0] ? turn.lanes.line(named[0].q) : null
  let left = room
  for (const placed of named) {
    if (left === 0 || (line && !startNamed(turn, line, placed, now))) continue
    left--
    const leased = claimed(placed.job, lease, now)
    releaseKey(turn, placed.q, placed.job, 'claim')
    replace(turn, placed, leased, now)
    taken.push(claimedPart(leased))
  }
}
