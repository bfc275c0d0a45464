/** What the processes of a run left behind, and the judgement on it. */
import { closeSync, openSync, readdirSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import type { HistoryRecord } from '../proof/history.ts'

/**
 * A change is timed when its trigger fires, the store's own `now` is when its call began, and records are written a
 * little before or after. On a busy machine a quarter of a second may lie between them.
 */
export const SLACK_MS = 250

/** Keeps records in a file. When it returns, the death of this process can no longer lose the record. */
export function fileSink(path: string): (record: HistoryRecord) => void {
  const file = openSync(path, 'a')
  return (record) => void writeSync(file, `${JSON.stringify(record)}\n`)
}

/** All records of all processes, by time. A last line that was cut off is one nobody acted on. */
export function readRecords(folder: string): HistoryRecord[] {
  const records: HistoryRecord[] = []
  for (const name of readdirSync(folder)) {
    if (name.endsWith('.jsonl')) for (const record of recordsIn(join(folder, name))) records.push(record)
  }
  // Stable, so the records of one process stay in their order.
  return records.sort((a, b) => a.at - b.at)
}

/** The records of one process. */
export function* recordsIn(path: string): Generator<HistoryRecord> {
  for (const line of linesOf(path)) yield withoutGuess(JSON.parse(line) as HistoryRecord)
}

/** Whoever rescued a job hears of its end, but never held it. */
function withoutGuess(record: HistoryRecord): HistoryRecord {
  return record.f === 'told' && record.token === 'unknown' ? { ...record, token: null } : record
}

/** The complete lines of a file that may be larger than a string can be. */
function* linesOf(path: string): Generator<string> {
  const file = openSync(path, 'r')
  try {
    const buffer = Buffer.allocUnsafe(1 << 20)
    const decoder = new StringDecoder('utf8')
    let rest = ''
    for (;;) {
      const bytes = readSync(file, buffer)
      if (bytes === 0) return
      const lines = (rest + decoder.write(buffer.subarray(0, bytes))).split('\n')
      rest = lines.pop() as string
      yield* lines
    }
  } finally {
    closeSync(file)
  }
}
