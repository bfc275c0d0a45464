import type { Outcome } from '../../../core/flows/groups.ts'
import type {
  AddMembersCall,
  AddMembersReply,
  AuditCall,
  AuditReply,
  FlowStore,
  ListRunsCall,
  MoveResult,
  MoveRunsCall,
  MoveRunsReply,
  OpenMember,
  OpenMembersCall,
  OutcomesCall,
  TellCall,
  TellReply,
} from '../../../store/flows.ts'
import type { Param, Query, Row } from '../connection/driver.ts'
import { idArrayOf, LOWEST_ID } from '../connection/literals.ts'
import { STATE_CODES } from '../jobs/job-row.ts'
import type { Starts } from '../jobs/scan-start.ts'
import { countRuns } from './count-runs.ts'
import {
  addOutcomes,
  type EnqueuedRow,
  GROUP_SELECT,
  hear,
  RUN_SELECT,
  sentJob,
  sentMove,
  toGroup,
  toRun,
} from './flow-rows.ts'

/** No id is above it. */
const HIGHEST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const at = (now: number | undefined): Param => (now === undefined ? null : String(now))

/** Sends the calls about groups and runs, see `migrations/group-functions.ts`. `wrote` is told when jobs were made. */
export function postgresFlows(query: Query, schema: string, starts: Starts, wrote: () => void): FlowStore {
  return {
    async moveRuns(call) {
      const reply = await moveRuns(query, schema, starts, call)
      wrote()
      return reply
    },

    async getRuns({ space, ids }) {
      return { runs: await byId(query, `${schema}.runs`, RUN_SELECT, toRun, space, ids) }
    },

    listRuns: (call) => listRuns(query, schema, call),

    countRuns: (call) => countRuns(query, schema, call),

    async getGroups({ space, ids }) {
      return { groups: await byId(query, `${schema}.groups`, GROUP_SELECT, toGroup, space, ids) }
    },

    outcomes: (call) => outcomes(query, schema, call),
    openMembers: (call) => openMembers(query, schema, call),

    async tell(call) {
      const reply = await tell(query, schema, starts, call)
      wrote()
      return reply
    },

    async addMembers(call) {
      const reply = await addMembers(query, schema, starts, call)
      wrote()
      return reply
    },

    auditGroups: (call) => auditGroups(query, schema, starts, call),
  }
}

async function moveRuns(
  query: Query,
  schema: string,
  starts: Starts,
  { moves, now }: MoveRunsCall,
): Promise<MoveRunsReply> {
  if (moves.length === 0) return { results: [], enqueued: [] }
  const [row] = await query(`select ${schema}.move_runs($1::text, $2::bigint)`, [
    JSON.stringify(moves.map(sentMove)),
    at(now),
  ])
  const [said, enqueued] = JSON.parse(row?.[0] as string) as [
    ('ok' | 'unknown' | 'moved' | 'over')[],
    EnqueuedRow[] | null,
  ]
  return {
    results: said.map(
      (word): MoveResult => (word === 'ok' ? { status: 'ok' } : { status: 'refused', reason: word }),
    ),
    enqueued: hear(enqueued, starts),
  }
}

/** Those of a space, in the order of the ids; null where there is none. A group that nobody made has no space. */
async function byId<Item extends { readonly id: string }>(
  query: Query,
  table: string,
  columns: string,
  toItem: (row: Row) => Item,
  space: string,
  ids: readonly string[],
): Promise<(Item | null)[]> {
  if (ids.length === 0) return []
  const rows = await query(
    `select ${columns} from ${table} r where r.id = any($1::uuid[]) and r.space = $2::text`,
    [idArrayOf(ids), space],
  )
  const found = new Map(rows.map((row) => [row[0] as string, toItem(row)]))
  return ids.map((id) => found.get(id) ?? null)
}

/** A column of runs, and the value that it has to have. */
type Equal = readonly [column: string, value: string]

/** One page, newest first; one run more than that is read, to know whether it is the last. */
async function listRuns(
  query: Query,
  schema: string,
  call: ListRunsCall,
): Promise<{ runs: ReturnType<typeof toRun>[]; cursor: string | null }> {
  const { space, flow, status, attribute, root, branches = false, limit, cursor } = call
  const params: Param[] = []
  const put = (value: string): string => `$${params.push(value)}`
  const inSpace = `${put(space)}::text`
  const wanted = [branches ? 'true' : 'r.group_id is null']
  const ofFlow: Equal[] = flow === undefined ? [] : [['r.flow', `${put(flow)}::text`]]
  // As a number in the text: there is an index of those that run, branches included.
  const ofStatus: Equal[] = status === undefined ? [] : [['r.status', `${STATE_CODES[status]}::smallint`]]
  const ofRoot: Equal[] = root === undefined ? [] : [['r.root', `${put(root)}::uuid`]]
  const ofSpace: Equal[] = [['r.space', inSpace]]
  const all = [...ofSpace, ...ofFlow, ...ofStatus, ...ofRoot]
  let text: string
  if (attribute === undefined) {
    const prefix = root !== undefined ? ofRoot : branches ? ofSpace : [...ofSpace, ...ofFlow, ...ofStatus]
    for (const one of all) if (!prefix.includes(one)) wanted.push(one.join(' = '))
    text = `select ${RUN_SELECT} from ${schema}.runs r
        where ${wanted.join(' and ')} and ${page(prefix, cursor === null ? null : put(cursor))}`
  } else {
    // By its attribute a run is found at once; the rest is looked at one by one, in the order of the page.
    for (const one of all) wanted.push(one.join(' = '))
    const beyond = cursor === null ? '' : ` and a.run_id < ${put(cursor)}::uuid`
    text = `select ${RUN_SELECT} from ${schema}.run_attributes a
          cross join lateral (select * from ${schema}.runs x where x.id = a.run_id and x.space = a.space limit 1) r
        where a.space = ${inSpace} and a.attribute = ${put(attribute)}::text and ${wanted.join(' and ')}${beyond}
        order by a.run_id desc`
  }
  const rows = await query(`${text} limit ${put(String(limit + 1))}::integer`, params)
  const runs = rows.slice(0, limit).map(toRun)
  return { runs, cursor: rows.length > limit ? (runs.at(-1)?.id ?? null) : null }
}

/**
 * What is below the cursor in the index that begins with these columns, in its order. They are compared as rows: by equality
 * alone the order would be that of the ids, and Postgres might walk through the ids of everybody instead.
 */
function page(prefix: readonly Equal[], cursor: string | null): string {
  const columns = [...prefix.map(([column]) => column), 'r.id']
  const row = (id: string): string => `(${[...prefix.map(([, value]) => value), `${id}::uuid`].join(', ')})`
  const end = cursor === null ? `<= ${row(`'${HIGHEST_ID}'`)}` : `< ${row(cursor)}`
  const below = `(${columns.join(', ')}) ${end}`
  const above = `(${columns.join(', ')}) >= ${row(`'${LOWEST_ID}'`)}`
  return `${above} and ${below} order by ${columns.map((column) => `${column} desc`).join(', ')}`
}

async function outcomes(
  query: Query,
  schema: string,
  { space, groups, from, limit }: OutcomesCall,
): Promise<{ outcomes: Outcome[][] }> {
  if (groups.length === 0) return { outcomes: [] }
  const rows = await query(
    `select * from ${schema}.outcomes_of($1::text, $2::uuid[], $3::integer, $4::integer)`,
    [space, idArrayOf(groups), String(from), String(limit)],
  )
  const byGroup = new Map<string, Outcome[]>(groups.map((group) => [group, []]))
  for (const row of rows) addOutcomes(byGroup.get(row[0] as string) ?? [], row)
  return {
    outcomes: groups.map((group) =>
      (byGroup.get(group) ?? [])
        .filter(({ n }) => n >= from)
        .sort((a, b) => a.n - b.n)
        .slice(0, limit),
    ),
  }
}

async function openMembers(
  query: Query,
  schema: string,
  { space, group, from, limit }: OpenMembersCall,
): Promise<{ members: OpenMember[] }> {
  const rows = await query(
    `select * from ${schema}.open_members($1::text, $2::uuid, $3::integer, $4::integer)`,
    [space, group, String(from), String(limit)],
  )
  return {
    members: rows.map(([n, id, kind]) => ({
      n: Number(n),
      id: id as string,
      kind: kind as OpenMember['kind'],
    })),
  }
}

async function tell(query: Query, schema: string, starts: Starts, call: TellCall): Promise<TellReply> {
  const { space, group, n, result, now } = call
  const [row] = await query(
    `select ${schema}.tell_member($1::text, $2::uuid, $3::integer, $4::text, $5::bigint)`,
    [space, group, String(n), result, at(now)],
  )
  const [status, enqueued] = JSON.parse(row?.[0] as string) as ['ok' | 'told', EnqueuedRow[] | null]
  return { status, enqueued: hear(enqueued, starts) }
}

export async function addMembers(
  query: Query,
  schema: string,
  starts: Starts,
  { space, group, jobs, seal, again = false, now }: AddMembersCall,
): Promise<AddMembersReply> {
  const [row] = await query(
    `select ${schema}.add_members($1::text, $2::uuid, $3::text, $4::boolean, $5::boolean, $6::bigint)`,
    [space, group, JSON.stringify(jobs.map(sentJob)), String(seal), String(again), at(now)],
  )
  const [status, size, enqueued] = JSON.parse(row?.[0] as string) as [
    AddMembersReply['status'],
    number,
    EnqueuedRow[] | null,
  ]
  return { status, size, enqueued: hear(enqueued, starts) }
}

async function auditGroups(
  query: Query,
  schema: string,
  starts: Starts,
  { limit, cursor, now }: AuditCall,
): Promise<AuditReply> {
  const [row] = await query(`select ${schema}.audit_groups($1::integer, $2::uuid, $3::bigint)`, [
    String(limit),
    cursor ?? LOWEST_ID,
    at(now),
  ])
  const [mended, enqueued, last] = JSON.parse(row?.[0] as string) as [
    (readonly [string, string, string])[] | null,
    EnqueuedRow[] | null,
    string | null,
  ]
  return {
    mended: (mended ?? []).map(([space, group, what]) => ({ space, group, what })),
    enqueued: hear(enqueued, starts),
    cursor: last,
  }
}
