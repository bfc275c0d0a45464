import { isFinal, type JobState } from '../../core/job.ts'
import type { CountCall, CountReply, Where } from '../../store.ts'
import { STATE_CODES } from './codes.ts'
import type { Param, Query } from './driver.ts'
import { inQueue } from './migrations/queue-hash.ts'

/** How many jobs a selection has: read, not estimated. Payloads are looked at only for a text. */
export async function countSelection(query: Query, schema: string, call: CountCall): Promise<CountReply> {
  const { space, queue, state, where = {}, limit, look } = call
  const params: Param[] = []
  const put = (value: string): string => `$${params.push(value)}`
  // The state is written out, so that its index is found.
  const [inSpace, ofQueue] = [`${put(space)}::text`, `${put(queue)}::text`]
  const of = isFinal(state) ? `x.space = ${inSpace} and x.queue = ${ofQueue}` : inQueue('x', inSpace, ofQueue)
  const listed = `${of} and x.state = ${STATE_CODES[state]}`
  const fits = conditionsOf(state, where, put).join(' and ') || 'true'
  const table = `${schema}.${isFinal(state) ? 'archive' : 'jobs'} x`
  if (look !== undefined) {
    const most = `${put(String(look))}::bigint`
    const parts = partsOf(state).map(
      ({ part, order }) =>
        `(select coalesce(${fits}, false) as fits from ${table} where ${listed}${part} order by ${order} limit ${most})`,
    )
    const [row] = await query(
      `select count(*), count(*) filter (where fits)
       from (select fits from (${parts.join(' union all ')}) as every limit ${most}) as first`,
      params,
    )
    return { count: Math.min(Number(row?.[1]), limit ?? Infinity), looked: Number(row?.[0]) }
  }
  const selected = `from ${table} where ${listed} and ${fits}`
  const [row] = await query(
    limit === undefined
      ? `select count(*) ${selected}`
      : `select count(*) from (select ${selected} limit ${put(String(limit))}::bigint) as counted`,
    params,
  )
  return { count: Number(row?.[0]) }
}

/** What is asked of each job. */
function conditionsOf(state: JobState, where: Where, put: (value: string) => string): string[] {
  const { after, before, lane, text } = where
  const time = timeOf(state)
  const conditions: string[] = []
  if (after !== undefined) conditions.push(`x.${time} >= ${put(String(after))}::bigint`)
  if (before !== undefined) conditions.push(`x.${time} < ${put(String(before))}::bigint`)
  if (lane === '') conditions.push('x.lane is null')
  else if (lane !== undefined) conditions.push(`x.lane = ${put(lane)}::text`)
  if (text !== undefined) {
    const words = `${put(text)}::text`
    conditions.push(`(strpos(x.payload, ${words}) > 0 or strpos(x.failure, ${words}) > 0)`)
  }
  return conditions
}

/** The jobs of a state in the order of the list: ready ones are in two indexes. */
function partsOf(state: JobState): { readonly part: string; readonly order: string }[] {
  if (state === 'ready') {
    return [
      { part: ' and x.lane is null', order: 'x.rank, x.id' },
      { part: ' and x.lane is not null', order: 'x.lane, x.rank, x.id' },
    ]
  }
  const direction = isFinal(state) ? ' desc' : ''
  return [{ part: '', order: `x.${timeOf(state)}${direction}, x.id${direction}` }]
}

/** The moment a selection is about. */
function timeOf(state: JobState): string {
  if (state === 'running') return 'started_at'
  return isFinal(state) ? 'finished_at' : 'due_at'
}
