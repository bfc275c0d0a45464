import { isFinal } from '../../core/job.ts'
import type { WeighCall, WeighReply } from '../../store.ts'
import { STATE_CODES } from './codes.ts'
import type { Query } from './driver.ts'
import { HIGHEST, HIGHEST_ID, LOWEST, LOWEST_ID } from './literals.ts'

/** Where the last job of a page stands. */
type SizeCursor = [key: string, id: string, lane: string]

/** How much one page of jobs weighs. */
export async function weighJobs(query: Query, schema: string, call: WeighCall): Promise<WeighReply> {
  const { space, queue, state, limit, cursor } = call
  const first: SizeCursor = isFinal(state) ? [String(HIGHEST), HIGHEST_ID, ''] : [String(LOWEST), LOWEST_ID, '']
  const from = cursor === null ? first : (JSON.parse(cursor) as SizeCursor)
  const [row = []] = await query(
    `select * from ${schema}.weigh_jobs($1::text, $2::text, $3::smallint, $4::integer, $5::bigint, $6::uuid, $7::text)`,
    [space, queue, String(STATE_CODES[state]), String(limit), ...from],
  )
  const [jobs, bytes, ...last] = row
  const isLast = Number(jobs) < limit
  return {
    jobs: Number(jobs),
    bytes: Number(bytes),
    cursor: isLast ? null : JSON.stringify(last.map(String)),
  }
}
