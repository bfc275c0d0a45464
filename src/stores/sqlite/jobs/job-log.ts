import type { Job } from '../../../core/jobs/job.ts'
import { LOG_LEVELS, type LogLevel, type Note, type NoteHead, takeNote } from '../../../core/jobs/job-log.ts'
import { holder } from '../../../core/jobs/transitions.ts'
import { LIMITS } from '../../../core/limits.ts'
import {
  type JobNote,
  NO_NOTES,
  type NoteReply,
  type NoteResult,
  type NotesCall,
  type NotesReply,
} from '../../../store/job-log.ts'
import type { Row } from '../connection/client.ts'
import type { Turn } from '../connection/write-batch.ts'
import { find, type Placed } from './job-row.ts'

const HEAD = 'token, line_n, progress_n, value, note, progress_at, last, bytes, dropped, until'

const PUT_HEAD = `insert or replace into skep_notes (id, space, ${HEAD}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const PUT_LINE = `insert into skep_note_lines (id, space, place, start, at, level, text, fields)
  values (?, ?, ?, ?, ?, ?, ?, ?)`

const FIND_HEAD = `select ${HEAD} from skep_notes where id = ? and space = ?`

/** The job that notes are about. */
type Owner = Pick<Job, 'id' | 'space'>

/** Writes notes of runs that hold their jobs, or settled them last. */
export function note(turn: Turn, notes: readonly JobNote[], now: number): NoteReply {
  return { results: notes.map((one) => writeNote(turn, find(turn, one.space, one.id), one.token, one, now)) }
}

export function writeNote(
  turn: Turn,
  placed: Placed | undefined,
  token: string,
  note: Note,
  now: number,
): NoteResult {
  const { db } = turn
  const held = holder(placed?.job, token)
  if (!placed) return { status: 'refused', reason: 'gone' }
  if (held !== 'holds' && held !== 'settled') return { status: 'refused', reason: 'lost' }
  const { id, space } = placed.job
  const row = db.get(FIND_HEAD, id, space)
  const { head, lines } = takeNote(row && headOf(row), token, note, now)
  for (const { place, start, at, level, text, fields } of lines) {
    const values = [id, space, place, start, at, LOG_LEVELS.indexOf(level), text, fields]
    db.run(PUT_LINE, ...values)
  }
  const { progress, lineN, progressN, last, bytes, until } = head
  const dropped = head.dropped + trim(turn, placed.job, head)
  const told = progress ? [progress.value, progress.note, progress.at] : [null, null, null]
  db.run(PUT_HEAD, id, space, token, lineN, progressN, ...told, last, bytes, dropped, until)
  return { status: 'ok' }
}

/** Removes the oldest lines that are over the bounds, and tells how many. */
function trim({ db }: Turn, { id, space }: Owner, { last, bytes }: NoteHead): number {
  if (last <= LIMITS.noteLines && bytes <= LIMITS.notesBytes) return 0
  return db.run(
    'delete from skep_note_lines where id = ? and space = ? and (place <= ? or start < ?)',
    id,
    space,
    last - LIMITS.noteLines,
    bytes - LIMITS.notesBytes,
  )
}

export function notes({ db }: Pick<Turn, 'db'>, { space, id, after, limit }: NotesCall): NotesReply {
  const row = db.get(FIND_HEAD, id, space)
  if (!row) return NO_NOTES
  const { progress, last, dropped } = headOf(row)
  const rows = db.all(
    'select place, at, level, text, fields from skep_note_lines where id = ? and space = ? and place > ? order by place limit ?',
    id,
    space,
    after,
    limit,
  )
  const lines = rows.map(([place, at, level, text, fields]) => ({
    place: place as number,
    at: at as number,
    level: LOG_LEVELS[level as number] as LogLevel,
    text: text as string,
    fields: fields as string | null,
  }))
  return { progress, lines, last, dropped }
}

/** The notes of jobs that are gone. */
export function removeNotes({ db }: Pick<Turn, 'db'>, owners: readonly Owner[]): void {
  if (owners.length === 0) return
  const list = JSON.stringify(owners.map(({ id, space }) => [id, space]))
  const theirs = '(id, space) in (select value ->> 0, value ->> 1 from json_each(?))'
  db.run(`delete from skep_notes where ${theirs}`, list)
  db.run(`delete from skep_note_lines where ${theirs}`, list)
}

/** Removes what is too old, whatever became of its job. */
export function pruneNotes(turn: Pick<Turn, 'db'>, limit: number, now: number): void {
  const sql = 'select id, space from skep_notes where until <= ? order by until limit ?'
  const over = turn.db.all(sql, now, limit)
  removeNotes(
    turn,
    over.map(([id, space]) => ({ id: id as string, space: space as string })),
  )
}

function headOf(row: Row): NoteHead {
  const [token, lineN, progressN, value, note, at, last, bytes, dropped, until] = row
  return {
    token: token as string,
    lineN: lineN as number,
    progressN: progressN as number,
    progress:
      value === null ? null : { value: value as number, note: note as string | null, at: at as number },
    last: last as number,
    bytes: bytes as number,
    dropped: dropped as number,
    until: until as number,
  }
}
