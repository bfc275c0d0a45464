import { StoreError } from '../../../core/errors.ts'
import { heirsOf } from '../../../core/flows/chains.ts'
import { type NewJob, rankOf } from '../../../core/jobs/job.ts'
import type { InsertCall, InsertReply, InsertResult } from '../../../store/store.ts'
import type { Caller } from '../connection/caller.ts'
import type { Param, Query, Row } from '../connection/driver.ts'
import { arrayOf, columnOf, idArrayOf, idColumnOf, joined, joinedOrNull } from '../connection/literals.ts'
import { type EnqueuedRow, hear, sentGroup } from '../flows/flow-rows.ts'
import { CLOCK } from '../sql/plan-settings.ts'
import { CONFLICT_ACTIONS, CONFLICT_CODES, SCOPE_CODES, stateOf } from './job-row.ts'
import type { Starts } from './scan-start.ts'

/** [n, 0, state, due_at]: it was there before. [n, 1, id, action]: its key is held. `n` counts from 1. */
export type Odd = readonly [number, 0, number, number] | readonly [number, 1, string, number]

interface InsertOptions {
  /** The ids are new, which costs less. If one is not, all fails: so this is not for the transactions of others. */
  readonly strict: boolean
}

/** Sends one insert, see `migrations/insert-function.ts`. */
export async function insertJobs(
  query: Query,
  schema: string,
  starts: Starts,
  call: InsertCall,
  options: InsertOptions,
): Promise<InsertReply> {
  if (call.jobs.length === 0 && !makes(call)) return { results: [] }
  const { text, params } = statementOf(schema, call, options)
  return replyOf(call.jobs, await query(text, params), starts)
}

/** So many jobs go in one statement. */
export const PART = 5_000

/**
 * Sends very many jobs in parts of one transaction: while the server puts in one part, the next is written down, and
 * neither side needs memory for all of them at once.
 */
export async function insertInParts(
  transaction: Caller['transaction'],
  schema: string,
  starts: Starts,
  call: InsertCall,
  options: InsertOptions,
): Promise<InsertReply> {
  const parts = Array.from({ length: Math.ceil(call.jobs.length / PART) }, (_, n) =>
    call.jobs.slice(n * PART, (n + 1) * PART),
  )
  const replies = await transaction(async (query) => {
    const arrived: (readonly Row[])[] = []
    let underWay: Promise<readonly Row[]> | undefined
    for (const [n, jobs] of parts.entries()) {
      // What has to be there before the jobs goes with the first of them.
      const { groups: _groups, runs: _runs, ...rest } = call
      const { text, params } = statementOf(schema, n === 0 ? { ...call, jobs } : { ...rest, jobs }, options)
      if (underWay) arrived.push(await underWay)
      underWay = query(text, params)
    }
    if (underWay) arrived.push(await underWay)
    return arrived
  })
  // Not before the commit: a claim that goes back for jobs it cannot see yet would pass them by.
  const all = parts.map((jobs, n) => replyOf(jobs, replies[n] ?? [], starts))
  const enqueued = all.flatMap((reply) => reply.enqueued ?? [])
  const results = all.flatMap((reply) => reply.results)
  // Runs go with the first part.
  const { knownRuns } = all[0] as InsertReply
  return { results, ...(enqueued.length > 0 && { enqueued }), ...(knownRuns && { knownRuns }) }
}

function statementOf(
  schema: string,
  call: InsertCall,
  { strict }: InsertOptions,
): { text: string; params: Param[] } {
  const { jobs, again = false, fresh = false, lockWaitMs, now } = call
  const at = now === undefined ? null : String(now)
  const [only] = jobs
  const made = madeBy(call)
  const isSimple = strict && fresh && made === null && jobs.length === 1 && isReady(only)
  return isSimple
    ? singleStatement(schema, only, at)
    : insertStatement(schema, jobs, { again, fresh, strict, at, made, lockWaitMs })
}

function makes({ groups = [], runs = [] }: InsertCall): boolean {
  return groups.length > 0 || runs.length > 0
}

/** The groups and runs that come with the jobs, as `insert_members` reads them: apart, for to read JSON costs as much as to insert. */
function madeBy(call: InsertCall): Made | null {
  const { groups = [], runs = [] } = call
  if (!makes(call)) return null
  return {
    groups: groups.length > 0 ? JSON.stringify(groups.map(sentGroup)) : null,
    runs: runs.length > 0 ? JSON.stringify(runs) : null,
  }
}

interface Made {
  readonly groups: string | null
  readonly runs: string | null
}

function replyOf(jobs: readonly NewJob[], rows: readonly Row[], starts: Starts): InsertReply {
  const [t, odds, enqueued, knownRuns] = readReply(String(rows[0]?.[0]))
  const results = insertResults(jobs, odds, t, starts)
  return {
    results,
    ...(enqueued !== null && { enqueued: hear(enqueued, starts) }),
    ...(knownRuns !== null && { knownRuns }),
  }
}

/** `STORE_BUSY` if a call failed because it may not wait any longer for a lock; otherwise the error as it is. */
export function busyOr(error: unknown): unknown {
  if (!(error instanceof StoreError) || error.facts['sqlState'] !== '55P03') return error
  return new StoreError(
    'STORE_BUSY',
    'Another transaction holds a unique key, an id or another lock that these jobs need.',
    {
      cause: error,
    },
  )
}

/** Whether an insert failed because it was strict. */
export function isTwice(error: unknown): boolean {
  return error instanceof StoreError && error.facts['sqlState'] === '23505'
}

type Said = readonly [
  t: number,
  odds: readonly Odd[],
  enqueued: readonly EnqueuedRow[] | null,
  knownRuns: readonly number[] | null,
]

/** What `insert_jobs` says, or `insert_members`. */
function readReply(said: string): Said {
  if (said.startsWith('[')) {
    const [t, odds, enqueued, knownRuns] = JSON.parse(said) as [
      number,
      Odd[] | null,
      EnqueuedRow[] | null,
      number[] | null,
    ]
    return [t, odds ?? [], enqueued, knownRuns]
  }
  const space = said.indexOf(' ')
  return space < 0
    ? [Number(said), [], null, null]
    : [Number(said.slice(0, space)), JSON.parse(said.slice(space)) as Odd[], null, null]
}

/** Nothing but a job that may start at once. */
function isReady(job: NewJob | undefined): job is NewJob {
  return (
    job?.unique === null && job.delayMs === 0 && job.runAt === null && job.member === null && isUsual(job)
  )
}

function isUsual({ lane, strict, cost }: NewJob): boolean {
  return lane === null && !strict && cost === 1
}

/**
 * One fresh job, ready: what most calls are that come alone. No function and no look at anything that is there, so it
 * costs the server hardly more than the row.
 */
function singleStatement(schema: string, job: NewJob, at: Param): { text: string; params: Param[] } {
  return {
    text: `/* insert_job */ with counted as (insert into ${schema}.deltas (space, queue, ready) values ($3, $4, 1))
      insert into ${schema}.jobs (id, space, queue, state, payload, headers, priority, overrides, due_at, rank, enqueued_at)
      select $1::uuid, $3, $4, 1, $2, $5, $6::integer, $7, c.t, c.t - $6::integer * 600000::bigint, c.t
      from (select coalesce($8::bigint, ${CLOCK}) as t) c
      returning enqueued_at`,
    params: [job.id, job.payload, job.space, job.queue, job.headers, String(job.priority), job.overrides, at],
  }
}

function insertStatement(
  schema: string,
  jobs: readonly NewJob[],
  options: {
    readonly again: boolean
    readonly fresh: boolean
    readonly strict: boolean
    readonly at: Param
    readonly made: Made | null
    readonly lockWaitMs: number | undefined
  },
): { text: string; params: Param[] } {
  const { again, fresh, strict, at, made, lockWaitMs } = options
  const ids = jobs.map((job) => job.id)
  const texts = jobs.map((job) => job.payload)
  const payloads = joined(texts)
  const hasMembers = jobs.some((job) => job.member !== null)
  const isKeyed = jobs.some((job) => job.unique !== null)
  // Which columns can be left out is decided for the whole batch, so that there are few different statements.
  const isPlain = !isKeyed && jobs.every((job) => job.headers === null && job.overrides === null)

  const params: Param[] = []
  const put = (value: Param): string => `$${params.push(value)}`
  const column = (type: string, of: (job: NewJob) => string | number | null): string =>
    `${put(columnOf(jobs.map(of)))}::${type}[]`
  const full = (type: string, of: (job: NewJob) => string | number | null): string =>
    `${put(arrayOf(jobs.map(of)))}::${type}[]`

  const args = [
    `${put(idArrayOf(ids))}::uuid[]`,
    payloads === null ? `${put(arrayOf(texts))}::text[]` : `string_to_array(${put(payloads)}::text, chr(30))`,
    column('text', (job) => job.space),
    column('text', (job) => job.queue),
    column('integer', (job) => job.priority),
    column('bigint', (job) => job.delayMs),
    jobs.some((job) => job.runAt !== null) ? full('bigint', (job) => job.runAt) : "'{}'",
    isPlain ? "'{}'" : sentHeaders(jobs, put),
    isPlain ? "'{}'" : full('text', (job) => job.overrides),
    ...(isKeyed
      ? [
          full('text', (job) => job.unique?.key ?? null),
          full('smallint', (job) => (job.unique ? SCOPE_CODES[job.unique.scope] : null)),
          full('bigint', (job) => job.unique?.windowMs ?? null),
          full('smallint', (job) => (job.unique ? CONFLICT_CODES[job.unique.onConflict] : null)),
        ]
      : ["'{}'", "'{}'", "'{}'", "'{}'"]),
    ...(jobs.every(isUsual)
      ? ["'{}'", "'{}'", "'{}'"]
      : [
          column('text', (job) => job.lane),
          column('integer', (job) => (job.cost === 1 ? null : job.cost)),
          column('boolean', (job) => (job.strict ? 'true' : null)),
        ]),
    ...(hasMembers
      ? [
          `${put(idColumnOf(jobs.map((job) => job.member?.group ?? null)))}::uuid[]`,
          column('integer', (job) => job.member?.n ?? null),
        ]
      : ["'{}'", "'{}'"]),
    fresh || jobs.length === 0 ? 'null' : `${put(lowestOf(ids))}::uuid`,
    String(strict),
    String(again),
    String((isKeyed || again) && new Set(ids).size < ids.length),
    `${put(at)}::bigint`,
  ]
  // Local to the transaction, and set before the insert begins: what is selected from comes first.
  const from =
    lockWaitMs === undefined ? '' : ` from set_config('lock_timeout', ${put(String(lockWaitMs))}, true)`
  if (!hasMembers && made === null) {
    return { text: `select ${schema}.insert_jobs(${args.join(', ')})${from}`, params }
  }
  const heirs: string[] = []
  const places: number[] = []
  jobs.forEach(({ member, headers }, index) => {
    if (member === null || headers === null) return
    for (const id of heirsOf(headers)) {
      heirs.push(id)
      places.push(index + 1)
    }
  })
  const before = [
    `${put(made?.groups ?? null)}::text`,
    `${put(made?.runs ?? null)}::text`,
    `${put(idArrayOf(heirs))}::uuid[]`,
    `${put(arrayOf(places))}::integer[]`,
  ]
  return { text: `select ${schema}.insert_members(${[...before, ...args].join(', ')})${from}`, params }
}

/** Of chains they are long, and full of what an array would have to escape. */
function sentHeaders(jobs: readonly NewJob[], put: (value: Param) => string): string {
  const texts = jobs.map(({ headers }) => headers)
  const text = joinedOrNull(texts)
  return text === null ? `${put(arrayOf(texts))}::text[]` : `string_to_array(${put(text)}::text, chr(30), '')`
}

export function lowestOf(ids: readonly string[]): string {
  let lowest = ids[0] as string
  for (const id of ids) if (id < lowest) lowest = id
  return lowest
}

/** What became of each job. Those that are not odd were inserted at `t`, and the rest follows from that. */
export function insertResults(
  jobs: readonly NewJob[],
  odds: readonly Odd[],
  t: number,
  starts: Starts,
): InsertResult[] {
  const oddOf = new Map(odds.map((odd) => [odd[0], odd]))
  return jobs.map((job, index): InsertResult => {
    const dueAt = Math.max(t + job.delayMs, job.runAt ?? 0)
    const odd = oddOf.get(index + 1)
    if (odd?.[1] === 0) return { status: 'ok', state: stateOf(odd[2]), dueAt: odd[3], known: true }
    if (odd) {
      const action = CONFLICT_ACTIONS[odd[3]] ?? 'ignored'
      // The other job may have come to any place.
      if (action !== 'ignored') starts.forget(job.space, job.queue)
      return { status: 'duplicate', id: odd[2], action }
    }
    const state = dueAt > t ? 'delayed' : 'ready'
    starts.lower(job, state, rankOf(dueAt, job.priority), dueAt)
    return { status: 'ok', state, dueAt }
  })
}
