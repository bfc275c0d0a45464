import { PRIORITY_STEP_MS, rankOf } from '../../../core/jobs/job.ts'
import { DEFAULT_LANE } from '../../../core/lanes/lanes.ts'
import { PROMOTE_LIMIT } from '../../../store/store.ts'
import type { Row } from '../connection/client.ts'
import type { Turn } from '../connection/write-batch.ts'
import { DEFAULT_NUMBER, type Line } from '../lanes/lane-state.ts'
import { keepAges } from './ages.ts'

/** When the next delayed job of a queue is due. */
export function firstDelayed(turn: Turn, q: number): number | null {
  const row = turn.db.get(
    'select place from skep_waiting where q = ? and state = 0 order by place limit 1',
    q,
  )
  return row === undefined ? null : (row[0] as number)
}

/** Makes delayed jobs ready whose time has come. */
export function promoteDue(turn: Turn, q: number, now: number): void {
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
    `insert into skep_waiting (q, state, place, id, n, due)
     select w.q, 1, w.place - j.priority * ${PRIORITY_STEP_MS}, w.id, w.n, case when j.priority <> 0 then w.place end
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
  keepAges(
    db,
    q,
    due.map(([dueAt, of, , priority]) => ({
      place: rankOf(dueAt as number, priority as number),
      id: of as string,
      due: priority === 0 ? null : (dueAt as number),
    })),
  )
  for (const [dueAt] of due) turn.countDelayed(q, dueAt as number, -1)
  turn.count(q, 'ready', due.length)
}

/** The same for a limited queue, where each goes into its lane. */
export function promoteLaned(turn: Turn, line: Line, now: number): void {
  const { db, lanes } = turn
  const { q } = line
  const first = firstDelayed(turn, q)
  if (first === null || first > now) return
  const due = db.all(
    `select w.place, w.id, w.n, j.priority, j.lane, j.strict
     from skep_waiting w cross join skep_jobs j on j.n = w.n
     where w.q = ? and w.state = 0 and w.place <= ? order by w.place, w.id limit ?`,
    q,
    now,
    PROMOTE_LIMIT,
  )
  const rows = due.map(([dueAt, id, n, priority, lane, strict]) => {
    const key = (lane ?? DEFAULT_LANE) as string
    lanes.activate(line, key, now)
    const place = strict === 1 ? n : rankOf(dueAt as number, priority as number)
    const isByAge = lane === null && strict === 0 && priority === 0
    return [lanes.lane(line, key).number, place, id, n, isByAge ? null : dueAt]
  })
  db.run(
    `insert into skep_waiting (q, state, place, id, n, due)
     select ?, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 from json_each(?)`,
    q,
    JSON.stringify(rows),
  )
  db.run(
    `delete from skep_later where (q, lane, place, id) in
     (select ?, value ->> 0, value ->> 1, value ->> 2 from json_each(?))`,
    q,
    JSON.stringify(due.flatMap(([at, id, , , lane]) => (lane === null ? [] : [[lane, at, id]]))),
  )
  const [place, id] = due.at(-1) as [number, string]
  db.run('delete from skep_waiting where q = ? and state = 0 and (place, id) <= (?, ?)', q, place, id)
  const inLine = rows.filter(([number]) => number === DEFAULT_NUMBER)
  keepAges(
    db,
    q,
    inLine.map(([, at, of, , dueAt]) => ({
      place: at as number,
      id: of as string,
      due: dueAt as number | null,
    })),
  )
  for (const [dueAt] of due) turn.countDelayed(q, dueAt as number, -1)
  turn.count(q, 'ready', due.length)
}
