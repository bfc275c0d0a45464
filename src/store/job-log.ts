/**
 * What a store promises about notes: how far jobs are, and the lines their handlers wrote.
 *
 * They have tables of their own and are bounded for each job: the newest {@link LIMITS.noteLines} lines within
 * {@link LIMITS.notesBytes}. They go with their job, and at the latest {@link LIMITS.notesKeptMs} (and an hour) after the
 * last of them. A retry keeps them.
 */
import type { KeptLine, Note, Progress } from '../core/jobs/job-log.ts'

export interface NoteStore {
  /**
   * Writes notes of runs. Accepted only while the token is the job's current lease, or the one that settled it last:
   * whoever lost its lease to another writes nothing. It can be repeated: lines and progress have numbers.
   * Redis: for each HGET token, compare; HSET notes; RPUSH lines, LTRIM; PEXPIRE both.
   */
  note(call: NoteCall): Promise<NoteReply>

  /**
   * How far a job is, and one page of its lines, oldest first. Of a job without notes, or in another space, there is
   * nothing. Redis: HGETALL notes; LRANGE lines.
   */
  notes(call: NotesCall): Promise<NotesReply>
}

export interface NoteCall {
  readonly notes: readonly JobNote[]
  readonly now?: number
}

/** What the holder of a lease has to tell about its job. */
export interface JobNote extends Note {
  readonly space: string
  readonly id: string
  readonly token: string
}

export interface NoteReply {
  /** One for each note, in order. */
  readonly results: readonly NoteResult[]
}

export type NoteResult =
  /** It is there; it may have been there before. */
  | { readonly status: 'ok' }
  /** `gone`: there is no such job any more. `lost`: another token has it. */
  | { readonly status: 'refused'; readonly reason: 'gone' | 'lost' }

export interface NotesCall {
  readonly space: string
  readonly id: string
  /** Only lines after this place; 0 for the first page. */
  readonly after: number
  /** At most this many lines; 0 to read the progress alone. */
  readonly limit: number
}

export interface NotesReply {
  readonly progress: Progress | null
  readonly lines: readonly Omit<KeptLine, 'start'>[]
  /** The place of the last line that there is. */
  readonly last: number
  /** Lines of this job that were written and are not kept. */
  readonly dropped: number
}

/** What there is to read where there are no notes. */
export const NO_NOTES: NotesReply = Object.freeze({ progress: null, lines: [], last: 0, dropped: 0 })
