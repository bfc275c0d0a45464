import { isFinal, type Job } from '../../core/job.ts'
import { listKey } from '../../core/transitions.ts'
import type { ListCall, ListReply } from '../../store.ts'
import { STATE_CODES } from './codes.ts'
import type { Param, Query, Row } from './driver.ts'
import { HIGHEST, HIGHEST_ID, LOWEST, LOWEST_ID } from './literals.ts'
import { RANK, toJob } from './rows.ts'

/** Where the last job of a page stands. */
type Cursor = [key: string, id: string, lane: string]

/** The call of `list_jobs`, between `before` and `after`. */
export function listStatement(
  schema: string,
  call: Omit<ListCall, 'limit'>,
  limit: number,
  before: string,
  after: string,
): { text: string; params: Param[] } {
  const { space, queue, state, cursor, oldestFirst = false, where = {} } = call
  const [key, id, lane] =
    cursor === null
      ? isFinal(state) && !oldestFirst
        ? [String(HIGHEST), HIGHEST_ID, '']
        : [String(LOWEST), LOWEST_ID, '']
      : (JSON.parse(cursor) as Cursor)
  return {
    text: `${before} ${schema}.list_jobs($1::text, $2::text, $3::smallint, $4::integer, $5::bigint,
      $6::uuid, $7::bigint, $8::bigint, $9::text, $10::text, $11::text, $12::boolean)${after}`,
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
      lane,
      where.lane ?? null,
      String(oldestFirst),
    ],
  }
}

/** One page; one job more than that is read, to know whether it is the last. */
export async function listJobs(query: Query, schema: string, call: ListCall): Promise<ListReply> {
  const { text, params } = listStatement(schema, call, call.limit + 1, 'select * from', '')
  const rows = await query(text, params)
  const jobs: Job[] = rows.slice(0, call.limit).map(toJob)
  const last = jobs.at(-1)
  return { jobs, cursor: last && rows.length > jobs.length ? cursorOf(last, rows[jobs.length - 1]) : null }
}

function cursorOf(job: Job, row: Row | undefined): string {
  const place: Cursor =
    job.state === 'ready' ? [String(row?.[RANK]), job.id, job.lane ?? ''] : [String(listKey(job)), job.id, '']
  return JSON.stringify(place)
}
