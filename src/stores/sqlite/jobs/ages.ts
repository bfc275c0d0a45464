/**
 * How the oldest ready job of a queue is found at once, although most jobs are in no index by age.
 *
 * Without a lane jobs stand in line by rank. That is the age of plain jobs; those with a priority stand further ahead, any number
 * of them, and are in an index by due time (`due` of skep_waiting). What holds after every transaction:
 *
 *   A plain job that is not in that index is the first in line, or the job in front of it is at least as old.
 *
 * So the oldest of all is the first of the index or the first in line. Any operation that could put a younger job in front of a plain one puts
 * the plain one into the index too: a job with a priority that comes before it, a plain one that comes back with its old due time,
 * and one that is taken out from between. New plain jobs come last and claims take what is in front, so neither asks for anything.
 */
import type { Handle } from '../connection/connection.ts'
import { DEFAULT_NUMBER } from '../lanes/lane-state.ts'

/** A ready job without a lane that came or left. */
export interface Standing {
  readonly place: number
  readonly id: string
  /** Null: its place is its due time. */
  readonly due: number | null
}

const LINE = `from skep_waiting where q = ? and state = ${DEFAULT_NUMBER}`
const BEFORE = `select due ${LINE} and (place, id) < (?, ?) order by place desc, id desc limit 1`
const AFTER = `select place, id, due ${LINE} and (place, id) > (?, ?) order by place, id limit 1`
const PUT_INTO_INDEX = `update skep_waiting set due = place where q = ? and state = ${DEFAULT_NUMBER} and place = ? and id = ?`

/** Whether a queue has any job in the index by age. Where it has none no job is younger than the one behind it. */
export function hasAges(db: Handle, q: number): boolean {
  return db.get('select 1 from skep_waiting where q = ? and due is not null limit 1', q) !== undefined
}

/** After jobs were put in line. */
export function keepAges(db: Handle, q: number, came: readonly Standing[]): void {
  if (!hasAges(db, q)) return
  for (const { place, id, due } of came) {
    if (due === null) showAge(db, q, { place, id, due })
    else showAge(db, q, behind(db, q, place, id))
  }
}

/** After jobs were taken out of the line from behind others. */
export function closeGaps(db: Handle, q: number, left: readonly Pick<Standing, 'place' | 'id'>[]): void {
  if (!hasAges(db, q)) return
  for (const { place, id } of left) showAge(db, q, behind(db, q, place, id))
}

/** After the intake has put in many with a priority: those of one place together, whose number is that of one call. */
export function keepAgesBehind(db: Handle, q: number, place: number): void {
  db.run(
    `update skep_waiting set due = place where q = ? and state = ${DEFAULT_NUMBER} and place = ? and due is null`,
    q,
    place,
  )
  const [next, id, due] =
    db.get(`select place, id, due ${LINE} and place > ? order by place, id limit 1`, q, place) ?? []
  if (due === null) db.run(PUT_INTO_INDEX, q, next as number, id as string)
}

function behind(db: Handle, q: number, place: number, id: string): Standing | null {
  const row = db.get(AFTER, q, place, id)
  return row === undefined
    ? null
    : { place: row[0] as number, id: row[1] as string, due: row[2] as number | null }
}

/** Puts a plain job into the index if the job in front of it is younger. */
function showAge(db: Handle, q: number, job: Standing | null): void {
  if (job === null || job.due !== null) return
  const [due] = db.get(BEFORE, q, job.place, job.id) ?? []
  if (typeof due === 'number' && due > job.place) db.run(PUT_INTO_INDEX, q, job.place, job.id)
}
