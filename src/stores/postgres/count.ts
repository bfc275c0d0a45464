import { isFinal, type JobState } from '../../core/job.ts'
import type { CountCall } from '../../store.ts'
import { STATE_CODES } from './codes.ts'
import type { Param, Query } from './driver.ts'

/** How many jobs a selection has: read, not estimated. Payloads are looked at only for a text. */
export async function countSelection(
  query: Query,
  schema: string,
  { space, queue, state, where = {}, limit }: CountCall,
): Promise<{ readonly count: number }> {
  const params: Param[] = []
  const put = (value: string): string => `$${params.push(value)}`
  const time = timeOf(state)
  const conditions = [
    `x.space = ${put(space)}::text and x.queue = ${put(queue)}::text`,
    // Written out, so that the index of the state is found.
    `x.state = ${STATE_CODES[state]}`,
  ]
  if (where.after !== undefined) conditions.push(`x.${time} >= ${put(String(where.after))}::bigint`)
  if (where.before !== undefined) conditions.push(`x.${time} < ${put(String(where.before))}::bigint`)
  if (where.lane === '') conditions.push('x.lane is null')
  else if (where.lane !== undefined) conditions.push(`x.lane = ${put(where.lane)}::text`)
  if (where.text !== undefined) {
    const words = `${put(where.text)}::text`
    conditions.push(`(strpos(x.payload, ${words}) > 0 or strpos(x.failure, ${words}) > 0)`)
  }
  const table = isFinal(state) ? 'archive' : 'jobs'
  const selected = `from ${schema}.${table} x where ${conditions.join(' and ')}`
  const rows = await query(
    limit === undefined
      ? `select count(*) ${selected}`
      : `select count(*) from (select ${selected} limit ${put(String(limit))}::bigint) as counted`,
    params,
  )
  return { count: Number(rows[0]?.[0]) }
}

/** The moment a selection is about. */
function timeOf(state: JobState): string {
  if (state === 'running') return 'started_at'
  return isFinal(state) ? 'finished_at' : 'due_at'
}
