import assert from 'node:assert/strict'
import type { NewLine, Note } from '../../core/jobs/job-log.ts'
import type { JobNote, NoteResult, NotesReply } from '../../store/job-log.ts'
import { SPACE, START } from './samples.ts'
import type { Held, Scene } from './scene.ts'

/** Line number `n` of a run, with what differs. */
export function line(n: number, difference: Partial<NewLine> = {}): NewLine {
  return { n, at: START + n, level: 'info', text: `line ${n}`, fields: null, ...difference }
}

/** Lines number `from` to `to`. */
export function lines(from: number, to: number, difference: Partial<NewLine> = {}): NewLine[] {
  return Array.from({ length: to - from + 1 }, (_, i) => line(from + i, difference))
}

/** A note with these lines, and what differs. */
export function note(written: readonly NewLine[], difference: Partial<Note> = {}): Note {
  return { progress: null, lines: written, ...difference }
}

/** Progress number `n` of a run. */
export function progress(n: number, value: number, text: string | null = null): Partial<Note> {
  return { progress: { n, value, note: text, at: START + n } }
}

export async function sendAll(scene: Scene, notes: readonly JobNote[]): Promise<readonly NoteResult[]> {
  return (await scene.store.note({ notes, now: scene.now })).results
}

/** Sends the note of one run. */
export async function send(
  scene: Scene,
  { space = SPACE, id, token }: Held,
  written: Note,
): Promise<NoteResult> {
  const [result] = await sendAll(scene, [{ space, id, token, ...written }])
  assert.ok(result)
  return result
}

/** All that is kept of a job's notes. */
export function read(scene: Scene, id: string, space: string = SPACE): Promise<NotesReply> {
  return scene.store.notes({ space, id, after: 0, limit: 5_000 })
}

/** The texts of all lines that are kept. */
export async function texts(scene: Scene, id: string): Promise<string[]> {
  return (await read(scene, id)).lines.map(({ text }) => text)
}
