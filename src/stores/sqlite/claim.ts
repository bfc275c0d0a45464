import { type ClaimedJob, PRIORITY_STEP_MS, type UniqueScope } from '../../core/job.ts'
import { byRank, claimable, claim as claimed, claimedPart } from '../../core/transitions.ts'
import { type ClaimCall, type ClaimReply, PROMOTE_LIMIT, type Source } from '../../store.ts'
import type { Row } from './client.ts'
import { find, HOT_COLUMNS, hotJob, type Placed, replace } from './record.ts'
import type { Turn } from './turn.ts'
import { releaseKey } from './uniques.ts'

/** Leases jobs, source by source. */
export function claim(turn: Turn, call: Omit<ClaimCall, 'now'>, now: number): ClaimReply {
  const taken: ClaimedJob[] = []
  for (const source of call.sources) {
    const room = Math.min(source.limit, call.limit - taken.length)
    if (call.again) takeAgain(turn, call, source, now, taken)
    else if (call.ids) takeNamed(turn, call, call.ids, source, room, now, taken)
    else {
      const q = turn.queues.find(turn.db, source.space, source.queue)
      if (q === undefined) continue
      promoteDue(turn, q, now)
      if (room > 0) takeNext(turn, call, source, q, room, now, taken)
    }
  }
  return { jobs: taken, nextDueAt: taken.length < call.limit ? nextDue(turn, call.sources) : null, now }
}

/** When the next delayed job of these sources is due. */
function nextDue(turn: Turn, sources: readonly Source[]): number | null {
  let next: number | null = null
  for (const { space, queue } of sources) {
    const q = turn.queues.find(turn.db, space, queue)
    const due = q === undefined ? null : firstDelayed(turn, q)
    if (due !== null && (next === null || due < next)) next = due
  }
  return next
}

function firstDelayed(turn: Turn, q: number): number | null {
  const row = turn.db.get(
    'select place from skep_waiting where q = ? and state = 0 order by place limit 1',
    q,
  )
  return row === undefined ? null : (row[0] as number)
}

/** Makes delayed jobs ready whose time has come. */
function promoteDue(turn: Turn, q: number, now: number): void {
  const { db } = turn
  const first = firstDelayed(turn, q)
  if (first === null || first > now) return
  const due = db.all(
    `select w.place, w.id, w.n, j.priority from skep_waiting w cross join skep_jobs j on j.n = w.n
     where w.q = ? and w.state = 0 and w.place <= ? order by w.place, w.id limit ?`,
    q,
    now,
    PROMOTE_LIMIT,
  )
  const [place, id] = due.at(-1) as Row
  db.run(
    `insert into skep_waiting (q, state, place, id, n)
     select w.q, 1, w.place - j.priority * ${PRIORITY_STEP_MS}, w.id, w.n
     from skep_waiting w cross join skep_jobs j on j.n = w.n
     where w.q = ? and w.state = 0 and (w.place, w.id) <= (?, ?)`,
    q,
    place as number,
    id as string,
  )
  db.run(
    'delete from skep_waiting where q = ? and state = 0 and (place, id) <= (?, ?)',
    q,
    place as number,
    id as string,
  )
  turn.count(q, 'delayed', -due.length)
  turn.count(q, 'ready', due.length)
}

// Of most jobs only the payload is worth reading; the rest comes as one text, and only if there is something in it.
// A long payload is read by itself, so that the texts of a claim cannot grow beyond what a string can hold.
const READY = `
  select w.n, w.id, w.place, case when length(j.payload) <= 4096 then j.payload else '' end as payload,
    case when j.priority = 0 and j.enqueued_at = j.due_at and j.generation = 0
      and j.starts = 0 and j.errors = 0 and j.timeouts = 0 and j.lost = 0 and j.snoozes = 0
      and j.headers is null and j.overrides is null and j.unique_key is null
    then '' else json_array(
      j.headers, j.priority, j.overrides, j.due_at, j.enqueued_at, j.generation,
      j.starts, j.errors, j.timeouts, j.lost, j.snoozes, j.unique_key, j.unique_scope) end as rest
  from skep_waiting w cross join skep_jobs j on j.n = w.n
  where w.q = ? and w.state = 1 order by w.place, w.id limit ?`

// Handing over a value costs more than reading it does, so each column comes as one text. The separator cannot occur in
// JSON, where control characters are escaped.
const SEPARATOR = '\u001f'
const READ_READY = `
  select group_concat(n), group_concat(id), group_concat(place),
    group_concat(payload, char(31)), group_concat(rest, char(31)) from (${READY})`

type Rest = [
  headers: string | null,
  priority: number,
  overrides: string | null,
  dueAt: number,
  enqueuedAt: number,
  generation: number,
  starts: number,
  errors: number,
  timeouts: number,
  lost: number,
  snoozes: number,
  uniqueKey: string | null,
  uniqueScope: UniqueScope | null,
]

/** Takes the lowest ranks. All that is in front of the last one goes with it, so whole ranges are moved. */
function takeNext(
  turn: Turn,
  call: Omit<ClaimCall, 'now'>,
  { space, queue }: Source,
  q: number,
  room: number,
  now: number,
  taken: ClaimedJob[],
): void {
  const { db } = turn
  // Workers look at many empty queues, and the large statement is dear even for nothing.
  if (db.get('select 1 from skep_waiting where q = ? and state = 1 limit 1', q) === undefined) return
  const columns = db.get(READ_READY, q, room) as string[]
  const [numbers, ids, places] = columns.slice(0, 3).map((text) => text.split(',')) as [
    string[],
    string[],
    string[],
  ]
  const [payloads, rests] = columns.slice(3).map((text) => text.split(SEPARATOR)) as [string[], string[]]
  const last = [q, Number(places.at(-1)), ids.at(-1) as string] as const
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
  turn.count(q, 'ready', -ids.length)
  turn.count(q, 'running', ids.length)

  const held = new Map<string, number>()
  const isWhole = payloads.length === ids.length
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i] as string
    const n = Number(numbers[i])
    const text = rests[i] as string
    const payload = (isWhole && payloads[i]) || payloadOf(turn, n)
    const rest = text === '' ? plainRest(Number(places[i])) : (JSON.parse(text) as Rest)
    const uniqueKey = rest[11]
    if (uniqueKey === null) held.set(id, n)
    else releaseKey(turn, q, { id, uniqueKey, uniqueScope: rest[12] }, 'claim')
    taken.push(claimedOf(call.token, space, queue, id, payload, rest))
  }
  turn.held.claimed({ token: call.token, q, numbers: held })
}

function payloadOf(turn: Turn, n: number): string {
  return turn.db.get('select payload from skep_jobs where n = ?', n)?.[0] as string
}

function plainRest(dueAt: number): Rest {
  return [null, 0, null, dueAt, dueAt, 0, 0, 0, 0, 0, 0, null, null]
}

function claimedOf(
  token: string,
  space: string,
  queue: string,
  id: string,
  payload: string,
  rest: Rest,
): ClaimedJob {
  return {
    id,
    space,
    queue,
    payload,
    headers: rest[0],
    priority: rest[1],
    overrides: rest[2],
    dueAt: rest[3],
    enqueuedAt: rest[4],
    generation: rest[5],
    starts: rest[6] + 1,
    errors: rest[7],
    timeouts: rest[8],
    lost: rest[9],
    snoozes: rest[10],
    token,
  }
}

const HELD = `select ${HOT_COLUMNS} from skep_leases l cross join skep_jobs j on j.n = l.n where l.q = ? and l.token = ?`

/** What the token of an earlier claim holds, with leases that begin anew. */
function takeAgain(
  turn: Turn,
  call: Omit<ClaimCall, 'now'>,
  { space, queue }: Source,
  now: number,
  taken: ClaimedJob[],
): void {
  const q = turn.queues.find(turn.db, space, queue)
  if (q === undefined) return
  const held = turn.db.all(HELD, q, call.token).map((row) => hotJob(turn, row).job)
  turn.db.run('update skep_leases set until = ? where q = ? and token = ?', now + call.leaseMs, q, call.token)
  taken.push(...held.sort(byRank).map(claimedPart))
}

/** Takes named jobs of one source, if nothing stands against it. */
function takeNamed(
  turn: Turn,
  call: Omit<ClaimCall, 'now'>,
  ids: readonly string[],
  { space, queue }: Source,
  room: number,
  now: number,
  taken: ClaimedJob[],
): void {
  const lease = { workerId: call.workerId, token: call.token, leaseMs: call.leaseMs }
  const named = [...new Set(ids)]
    .map((id) => find(turn, id))
    .filter((found): found is Placed => found?.job.space === space && found.job.queue === queue)
    .filter(({ job }) => claimable(job, now))
  for (const placed of named.slice(0, room)) {
    const leased = claimed(placed.job, lease, now)
    releaseKey(turn, placed.q, placed.job, 'claim')
    replace(turn, placed, leased)
    taken.push(claimedPart(leased))
  }
}
