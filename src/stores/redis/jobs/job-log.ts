import { lineBytes, type Note, type Progress } from '../../../core/jobs/job-log.ts'
import { NO_NOTES, type NoteResult, type NoteStore, type NotesReply } from '../../../store/job-log.ts'
import { listOf, numberOf, textOf, textOrNull, toBytes } from '../connection/bytes.ts'
import type { Caller } from '../connection/caller.ts'

/** A note as the script wants it: what it has to compare, and the rest as text. */
export function sentNote({ progress, lines }: Note): Record<string, unknown> {
  const { n, ...rest } = progress ?? { n: 0 }
  return {
    ...(progress && { progress: { n, text: JSON.stringify(rest) } }),
    lines: lines.map(({ n: number, ...line }) => ({
      n: number,
      bytes: lineBytes(line),
      text: JSON.stringify(line),
    })),
  }
}

export function noteCalls(caller: Caller): NoteStore {
  return {
    async note({ notes, now }) {
      const sent = notes.map(({ space, id, token, ...note }) => ({ space, id, token, ...sentNote(note) }))
      const results = listOf(await caller.call('note', [JSON.stringify(sent)], now))
      return {
        results: results.map((reply): NoteResult => {
          const reason = textOf(reply)
          return reason === '' ? { status: 'ok' } : { status: 'refused', reason: reason as 'gone' | 'lost' }
        }),
      }
    },

    async notes({ space, id, after, limit }): Promise<NotesReply> {
      const args = [space, toBytes(id), String(after), String(limit)]
      const [progress, last, dropped, rows] = listOf(await caller.call('readNotes', args))
      if (last === undefined) return NO_NOTES
      const text = textOrNull(progress)
      const list = listOf(rows)
      const lines: NotesReply['lines'][number][] = []
      for (let at = 0; at < list.length; at += 2) {
        const line = JSON.parse(textOf(list[at + 1])) as Omit<NotesReply['lines'][number], 'place'>
        lines.push({ ...line, place: numberOf(list[at]) })
      }
      return {
        progress: text === null ? null : (JSON.parse(text) as Progress),
        lines,
        last: numberOf(last),
        dropped: numberOf(dropped),
      }
    },
  }
}
