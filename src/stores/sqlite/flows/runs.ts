import {
  createRun,
  mayMove,
  mayRejoin,
  moved,
  type NewRun,
  outcomeState,
  RUN_STATUSES,
  type Run,
  type RunMove,
  type RunStatus,
  revives,
} from '../../../core/flows/runs.ts'
import type {
  CountRunsCall,
  CountRunsReply,
  ListRunsCall,
  MoveResult,
  RunCount,
} from '../../../store/flows.ts'
import type { Row, SqlValue } from '../connection/client.ts'
import type { Turn } from '../connection/write-batch.ts'
import { insertJobs } from '../jobs/insert.ts'
import { findGroup, makeGroup } from './groups.ts'

/** In the order in which they are read and written. */
const COLUMNS = [
  'id',
  'space',
  'flow',
  'version',
  'root',
  'group_id',
  'member',
  'status',
  'revision',
  'started_at',
  'changed_at',
  'ended_at',
  'expires_at',
  'attributes',
  'position',
  'state',
  'result',
  'failure',
] as const

const columns = COLUMNS.map((name) => `r.${name}`).join(', ')
const FIND = `select ${columns} from skep_runs r where id = ? and space = ?`
const MAKE = `insert or ignore into skep_runs (${COLUMNS.join(', ')}) values (${COLUMNS.map(() => '?').join(', ')})`
const MOVE = `update skep_runs set status = ?, revision = ?, changed_at = ?, ended_at = ?, expires_at = ?,
  position = ?, state = ?, result = ?, failure = ? where id = ? and space = ?`

const RUNNING = RUN_STATUSES.indexOf('running')

type Reader = Pick<Turn, 'db'>

/** Makes a run that is not there yet: whether it did. */
export function makeRun({ db }: Turn, made: NewRun, now: number): boolean {
  const run = createRun(made, now)
  const isNew =
    db.run(
      MAKE,
      run.id,
      run.space,
      run.flow,
      run.version,
      run.root,
      run.member?.group ?? null,
      run.member?.n ?? null,
      RUN_STATUSES.indexOf(run.status),
      run.revision,
      now,
      now,
      null,
      null,
      JSON.stringify(run.attributes),
      run.position,
      run.state,
      null,
      null,
    ) > 0
  if (!isNew) return false
  for (const attribute of run.attributes)
    db.run(
      'insert or ignore into skep_run_attributes (space, attribute, id) values (?, ?, ?)',
      run.space,
      attribute,
      run.id,
    )
  return true
}

export function moveRun(turn: Turn, move: RunMove, now: number): MoveResult {
  const run = getRun(turn, move.space, move.id)
  if (run === null) return { status: 'refused', reason: 'unknown' }
  if (!mayMove(run, move) || (revives(run, move) && !mayRejoinGroup(turn, run.member.group)))
    return { status: 'refused', reason: run.revision === move.revision ? 'over' : 'moved' }
  const after = moved(run, move, now)
  write(turn, after)
  for (const made of move.runs) makeRun(turn, made, now)
  for (const group of move.groups) makeGroup(turn, group, now)
  turn.members.enqueued(move.jobs, insertJobs(turn, move, now))
  if (run.member) {
    const { id, result, failure } = after
    const [was, state] = [outcomeState(run.status), outcomeState(after.status)]
    if (state) turn.members.end({ member: run.member, outcome: { id, state, result, failure } }, now)
    else if (was) turn.members.reopen(run.member)
  }
  return { status: 'ok' }
}

/** Whether a member of this group may run again. */
export function mayRejoinGroup(turn: Reader, group: string): boolean {
  return mayRejoin(group, {
    groupOf: (id) => findGroup(turn, id) ?? undefined,
    runOf: (space, id) => findRun(turn, space, id) ?? undefined,
  })
}

function findRun({ db }: Reader, space: string, id: string): Run | null {
  const row = db.get(FIND, id, space)
  return row ? toRun(row) : null
}

export function getRun(turn: Reader, space: string, id: string): Run | null {
  return findRun(turn, space, id)
}

/** One page of runs, newest first. */
export function listRuns(
  turn: Reader,
  call: ListRunsCall,
): { readonly runs: readonly Run[]; readonly cursor: string | null } {
  const { sql, values } = listQuery(call)
  const runs = turn.db.all(sql, ...values, call.limit + 1).map(toRun)
  const page = runs.slice(0, call.limit)
  return { runs: page, cursor: runs.length > call.limit ? (page.at(-1)?.id ?? null) : null }
}

/** How many there are among the newest. */
export function countRuns(turn: Reader, call: CountRunsCall): CountRunsReply {
  const newest = listQuery({ ...call, cursor: null }, 'r.flow, r.version, r.status')
  const rows = turn.db.all(
    `select flow, version, status, count(*) from (${newest.sql}) group by 1, 2, 3 order by 1, 2, 3`,
    ...newest.values,
    call.limit,
  )
  const counts = rows.map(
    ([flow, version, status, runs]): RunCount => ({
      flow: flow as string,
      version: version as number,
      status: RUN_STATUSES[status as number] as RunStatus,
      runs: runs as number,
    }),
  )
  const counted = counts.reduce((sum, { runs }) => sum + runs, 0)
  return { counts, isAll: counted < call.limit || !isBeyond(turn, newest, call.limit) }
}

function isBeyond({ db }: Reader, { sql, values }: ReturnType<typeof listQuery>, limit: number): boolean {
  return db.get(`${sql} offset ?`, ...values, 1, limit) !== undefined
}

/** Every answer begins at the newest that fits and reads an index downwards: of the attribute, the tree, the flow. */
export function listQuery(
  call: ListRunsCall,
  selected: string = columns,
): {
  readonly sql: string
  readonly values: readonly SqlValue[]
} {
  const { space, flow, status, attribute, root, branches = false, cursor } = call
  const conditions: string[] = []
  const values: SqlValue[] = []
  const add = (condition: string, ...bound: SqlValue[]): void => {
    conditions.push(condition)
    values.push(...bound)
  }
  const at = attribute === undefined ? 'r' : 'a'
  if (attribute !== undefined) add('a.space = ? and a.attribute = ?', space, attribute)
  add('r.space = ?', space)
  if (cursor !== null) add(`${at}.id < ?`, cursor)
  if (flow !== undefined) add('r.flow = ?', flow)
  // As a number of its own in the text: there is an index of those that run, branches included.
  if (status === 'running') add(`r.status = ${RUNNING}`)
  else if (status !== undefined) add('r.status = ?', RUN_STATUSES.indexOf(status))
  if (root !== undefined) add('r.root = ?', root)
  if (!branches) conditions.push('r.group_id is null')
  const from =
    attribute === undefined
      ? 'skep_runs r'
      : 'skep_run_attributes a cross join skep_runs r on r.id = a.id and r.space = a.space'
  const sql = `select ${selected} from ${from} where ${conditions.join(' and ')} order by ${at}.id desc limit ?`
  return { sql, values }
}

function write({ db }: Turn, run: Run): void {
  db.run(
    MOVE,
    RUN_STATUSES.indexOf(run.status),
    run.revision,
    run.changedAt,
    run.endedAt,
    run.expiresAt,
    run.position,
    run.state,
    run.result,
    run.failure,
    run.id,
    run.space,
  )
}

function toRun(row: Row): Run {
  return {
    id: row[0] as string,
    space: row[1] as string,
    flow: row[2] as string,
    version: row[3] as number,
    root: row[4] as string,
    member: row[5] === null ? null : { group: row[5] as string, n: row[6] as number },
    status: RUN_STATUSES[row[7] as number] as RunStatus,
    revision: row[8] as number,
    startedAt: row[9] as number,
    changedAt: row[10] as number,
    endedAt: row[11] as number | null,
    expiresAt: row[12] as number | null,
    attributes: JSON.parse(row[13] as string) as string[],
    position: row[14] as string,
    state: row[15] as string,
    result: row[16] as string | null,
    failure: row[17] as string | null,
  }
}
