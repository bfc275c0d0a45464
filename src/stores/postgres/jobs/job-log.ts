import { LOG_LEVELS, type LogLevel, type Note } from '../../../core/jobs/job-log.ts'
import { LIMITS } from '../../../core/limits.ts'
import {
  type JobNote,
  NO_NOTES,
  type NoteCall,
  type NoteReply,
  type NoteResult,
  type NotesCall,
  type NotesReply,
} from '../../../store/job-log.ts'
import type { Settlement } from '../../../store/store.ts'
import type { Param, Query } from '../connection/driver.ts'

const BOUNDS: readonly Param[] = [
  String(LIMITS.noteLines),
  String(LIMITS.notesBytes),
  String(LIMITS.notesKeptMs),
]

/** Sends one note, see `migrations/notes.ts`. */
export async function noteJobs(query: Query, schema: string, call: NoteCall): Promise<NoteReply> {
  const { notes, now } = call
  if (notes.length === 0) return { results: [] }
  const rows = await query(
    `select ${schema}.note_jobs($1::text, $2::bigint, $3::bigint, $4::bigint, $5::bigint)`,
    [JSON.stringify(notes.map(toItem)), ...BOUNDS, now === undefined ? null : String(now)],
  )
  const said = JSON.parse(rows[0]?.[0] as string) as ('ok' | 'gone' | 'lost')[]
  return {
    results: said.map(
      (word): NoteResult => (word === 'ok' ? { status: 'ok' } : { status: 'refused', reason: word }),
    ),
  }
}

/**
 * The statement `call`, in one transaction with what comes before it: how long it waits for locks, and the notes of its
 * settlements. Its last parameter is the time, and is made to depend on those: otherwise nothing would say which comes first.
 */
export function settleStatement(
  schema: string,
  settlements: readonly Settlement[],
  call: string,
  params: readonly Param[],
  lockWaitMs?: number,
): { readonly text: string; readonly params: readonly Param[] } {
  const notes = settlements.flatMap(({ space, id, token, note }) =>
    note ? [{ ...note, space, id, token }] : [],
  )
  const all = [...params]
  const put = (value: Param): string => `$${all.push(value)}`
  const time = `$${params.length}::bigint`
  // An argument is known before the call begins, and nothing has to be joined for it.
  const at =
    lockWaitMs === undefined
      ? time
      : `case when set_config('lock_timeout', ${put(String(lockWaitMs))}, true) is not null then ${time} end`
  if (notes.length === 0)
    return { text: `select * from ${schema}.${call.replace(time, () => at)}`, params: all }
  const values = [JSON.stringify(notes.map(toItem)), ...BOUNDS].map(put)
  const types = ['text', 'bigint', 'bigint', 'bigint']
  const given = values.map((value, n) => `${value}::${types[n]}`).join(', ')
  const after = call.replace(time, () => `case when n.said is not null then ${time} end`)
  return {
    text: `select s.* from (select ${schema}.note_jobs(${given}, ${at}) as said) n cross join lateral ${schema}.${after} s`,
    params: all,
  }
}

/** A note as `note_jobs` reads it. */
function toItem({
  space,
  id,
  token,
  progress,
  lines,
}: Note & Pick<JobNote, 'space' | 'id' | 'token'>): unknown {
  return [
    id,
    token,
    progress && [progress.n, progress.value, progress.note, progress.at],
    lines.map(({ n, at, level, text, fields }) => [n, at, LOG_LEVELS.indexOf(level), text, fields]),
    space,
  ]
}

export async function readNotes(query: Query, schema: string, call: NotesCall): Promise<NotesReply> {
  const { space, id, after, limit } = call
  const rows = await query(
    `select h.value, h.note, h.progress_at, h.last, h.dropped, l.place, l.at, l.level, l.text, l.fields
    from ${schema}.notes h left join lateral (
      select * from ${schema}.note_lines x where x.id = h.id and x.space = h.space and x.place > $3::bigint order by x.place limit $4::bigint
    ) l on true
    where h.id = $1::uuid and h.space = $2::text order by l.place`,
    [id, space, String(after), String(limit)],
  )
  const [first] = rows
  if (!first) return NO_NOTES
  const [value, note, progressAt, last, dropped] = first
  return {
    progress:
      value === null ? null : { value: Number(value), note: note as string | null, at: Number(progressAt) },
    lines: rows
      .filter((row) => row[5] !== null)
      .map(([, , , , , place, at, level, text, fields]) => ({
        place: Number(place),
        at: Number(at),
        level: LOG_LEVELS[Number(level)] as LogLevel,
        text: text as string,
        fields: fields as string | null,
      })),
    last: Number(last),
    dropped: Number(dropped),
  }
}
