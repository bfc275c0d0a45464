import type { RunStatus } from '../../../core/flows/runs.ts'
import type { CountRunsCall, CountRunsReply, FlowOutline } from '../../../store/flows.ts'
import type { Param, Query, Row } from '../connection/driver.ts'
import { arrayOf } from '../connection/literals.ts'
import { isTrue, STATE_CODES, stateOf } from '../jobs/job-row.ts'

/** Keeps how flows look. All of it sees the table as it was before, so what is replaced is told as it was. */
export async function putFlows(
  query: Query,
  schema: string,
  space: string,
  flows: readonly FlowOutline[],
): Promise<{ changed: FlowOutline[] }> {
  if (flows.length === 0) return { changed: [] }
  const rows = await query(
    `with given as (
      select * from unnest($2::text[], $3::integer[], $4::text[]) g (name, version, outline)
    ), put as (
      insert into ${schema}.flows as f (space, name, version, outline)
      select $1::text, name, version, outline from given order by name collate "C", version
      on conflict (space, name, version) do update set outline = excluded.outline
      where f.outline <> excluded.outline
    )
    select f.name, f.version, f.outline from ${schema}.flows f join given g using (name, version)
    where f.space = $1::text and f.outline <> g.outline
    order by f.name, f.version`,
    [
      space,
      arrayOf(flows.map(({ name }) => name)),
      arrayOf(flows.map(({ version }) => version)),
      arrayOf(flows.map(({ outline }) => outline)),
    ],
  )
  return { changed: rows.map(toOutline) }
}

export async function getFlows(
  query: Query,
  schema: string,
  space: string,
  name: string | undefined,
): Promise<{ flows: FlowOutline[] }> {
  const rows = await query(
    `select name, version, outline from ${schema}.flows
    where space = $1::text ${name === undefined ? '' : 'and name = $2::text '}order by name, version`,
    name === undefined ? [space] : [space, name],
  )
  return { flows: rows.map(toOutline) }
}

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

function toOutline([name, version, outline]: Row): FlowOutline {
  return { name: name as string, version: Number(version), outline: outline as string }
}
