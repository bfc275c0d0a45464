/** What the records say about times in which the store was away. */
import type { HistoryRecord } from '../proof/history.ts'
import { SLACK_MS } from './evidence.ts'

export interface Outage {
  readonly from: number
  readonly to: number
}

/** How long after it a job had ended and the store had answered every process; null: it never came to that. */
export function recoveryMs(
  records: readonly HistoryRecord[],
  procs: readonly string[],
  { to }: Outage,
): number | null {
  const waitedFor = new Set([...procs, 'a job'])
  for (const record of records) {
    if (record.at < to || record.type !== 'ok' || !['claim', 'settle', 'enqueue'].includes(record.f)) continue
    waitedFor.delete(record.proc)
    if (record.f === 'settle' && record.status === 'ok') waitedFor.delete('a job')
    if (waitedFor.size === 0) return record.at - to
  }
  return null
}

/** How long a store may take to go away. */
const GOING_MS = 3_000

/** Whether jobs ended in the middle of it: then it was none. */
export function wasServed(records: readonly HistoryRecord[], { from, to }: Outage): boolean {
  return records.some(
    ({ f, type, at }) => f === 'settle' && type === 'ok' && at > from + GOING_MS && at < to - SLACK_MS,
  )
}
