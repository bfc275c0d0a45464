import { isFinal, type Job } from '../../core/job.ts'
import { listKey } from '../../core/transitions.ts'
import type { ListCall, ListReply } from '../../store.ts'
import { STATE_CODES } from './codes.ts'
import type { Param, Query } from './driver.ts'
import { HIGHEST, HIGHEST_ID, LOWEST, LOWEST_ID } from './literals.ts'
import { toJob } from './rows.ts'

/** The call of `list_jobs`, between `before` and `after`. */
export function listStatement(
  schema: string,
  call: Omit<ListCall, 'limit'>,
  limit: number,
  before: string,
  after: string,
): { text: string; params: Param[] } {
  const { space, queue, state, cursor, where = {} } = call
  const [key, id] =
    cursor === null
      ? isFinal(state)
        ? [String(HIGHEST), HIGHEST_ID]
        : [String(LOWEST), LOWEST_ID]
      : (cursor.split(':') as [string, string])
  return {
    text: `${before} ${schema}.list_jobs($1::text, $2::text, $3::smallint, $4::integer, $5::bigint,
      $6::uuid, $7::bigint, $8::bigint, $9::text)${after}`,
    params: [
      space,
      queue,
      String(STATE_CODES[state]),
      String(limit),
      key,
      id,
      String(where.after ?? LOWEST),
      String(where.before ?? HIGHEST),
      where.text ?? null,
    ],
  }
}

/** One page; one job more than that is read, to know whether it is the last. */
export async function listJobs(query: Query, schema: string, call: ListCall): Promise<ListReply> {
  const { text, params } = listStatement(schema, call, call.limit + 1, 'select * from', '')
  const found = (await query(text, params)).map(toJob)
  const jobs: Job[] = found.slice(0, call.limit)
  const last = jobs.at(-1)
  return { jobs, cursor: last && found.length > jobs.length ? `${listKey(last)}:${last.id}` : null }
}
