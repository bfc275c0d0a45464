import type { Job } from '../../core/jobs/job.ts'
import { isKept, type KeptLine, type Note, type NoteHead, takeNote } from '../../core/jobs/job-log.ts'
import { holder } from '../../core/jobs/transitions.ts'
import { NO_NOTES, type NoteResult, type NotesCall, type NotesReply } from '../../store/job-log.ts'
import { keyOf } from './table.ts'

interface Notes {
  readonly head: NoteHead
  readonly lines: readonly KeptLine[]
}

/** The logs of all jobs: the rules of `core/jobs/job-log.ts` over a map. */
export class NoteBook {
  readonly #notes = new Map<string, Notes>()

  /** Writes a note about `job`, if the token is its current or last one. */
  write(job: Job | undefined, token: string, note: Note, now: number): NoteResult {
    const held = holder(job, token)
    if (job === undefined) return { status: 'refused', reason: 'gone' }
    if (held !== 'holds' && held !== 'settled') return { status: 'refused', reason: 'lost' }
    const before = this.#notes.get(keyOf(job))
    const { head, lines } = takeNote(before?.head, token, note, now)
    const all = [...(before?.lines ?? []), ...lines]
    const kept = all.filter((line) => isKept(line, head))
    const dropped = head.dropped + all.length - kept.length
    this.#notes.set(keyOf(job), { head: { ...head, dropped }, lines: kept })
    return { status: 'ok' }
  }

  read({ space, id, after, limit }: NotesCall): NotesReply {
    const notes = this.#notes.get(keyOf({ space, id }))
    if (notes === undefined) return NO_NOTES
    const { progress, last, dropped } = notes.head
    const lines = notes.lines.filter(({ place }) => place > after).slice(0, limit)
    return { progress, lines: lines.map(({ start: _start, ...line }) => line), last, dropped }
  }

  /** Removes the log of a removed job. */
  remove(job: Pick<Job, 'space' | 'id'>): void {
    this.#notes.delete(keyOf(job))
  }

  /** Removes expired logs, whether or not their jobs exist. */
  prune(now: number): void {
    for (const [key, { head }] of this.#notes) if (head.until <= now) this.#notes.delete(key)
  }
}
