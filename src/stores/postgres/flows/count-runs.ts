import type { RunStatus } from '../../../core/flows/runs.ts'
import type { CountRunsCall, CountRunsReply } from '../../../store/flows.ts'
import type { Param, Query } from '../connection/driver.ts'
import { isTrue, STATE_CODES, stateOf } from '../jobs/job-row.ts'

/** Reads so many runs from the newest on, and one more to know whether there are others. */
export async function countRuns(
  query: Query,
  schema: string,
  { space, flow, status, limit }: CountRunsCall,
): Promise<CountRunsReply> {
  const params: Param[] = [space, String(limit)]
  const put = (value: string): string => `$${params.push(value)}`
  const wanted = ['space = $1::text', 'group_id is null']
  if (flow !== undefined) wanted.push(`flow = ${put(flow)}::text`)
  if (status !== undefined) wanted.push(`status = ${put(String(STATE_CODES[status]))}::smallint`)
  const newest = `select id, flow, version, status from ${schema}.runs where ${wanted.join(' and ')} order by id desc`
  const rows = await query(
    `select flow, version, status, count(*), exists (${newest} limit 1 offset $2::integer)
    from (${newest} limit $2::integer) newest group by 1, 2, 3 order by 1, 2, 3`,
    params,
  )
  return {
    counts: rows.map(([of, version, code, runs]) => ({
      flow: of as string,
      version: Number(version),
      status: stateOf(code) as RunStatus,
      runs: Number(runs),
    })),
    isAll: !(rows[0] && isTrue(rows[0][4])),
  }
}
