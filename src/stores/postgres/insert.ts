import { type NewJob, rankOf } from '../../core/job.ts'
import type { InsertCall, InsertReply, InsertResult } from '../../store.ts'
import { CONFLICT_ACTIONS, CONFLICT_CODES, SCOPE_CODES, stateOf } from './codes.ts'
import type { Param, Query } from './driver.ts'
import { arrayOf, columnOf, idArrayOf, joined } from './literals.ts'
import type { Starts } from './starts.ts'

/** [n, 0, state, due_at]: it was there before. [n, 1, id, action]: its key is held. `n` counts from 1. */
export type Odd = readonly [number, 0, number, number] | readonly [number, 1, string, number]

/** Sends one insert, see `migrations/insert-function.ts`. */
export async function insertJobs(
  query: Query,
  schema: string,
  starts: Starts,
  { jobs, again = false, now }: InsertCall,
): Promise<InsertReply> {
  if (jobs.length === 0) return { results: [] }
  const { text, params } = insertStatement(schema, jobs, again, now ?? null)
  const row = (await query(text, params))[0] as readonly unknown[]
  const t = Number(row[0])
  const odds = row[1] === null ? [] : (JSON.parse(row[1] as string) as Odd[])
  return { results: insertResults(jobs, odds, t, starts) }
}

function insertStatement(
  schema: string,
  jobs: readonly NewJob[],
  again: boolean,
  now: number | null,
): { text: string; params: Param[] } {
  const ids = jobs.map((job) => job.id)
  const texts = jobs.map((job) => job.payload)
  const payloads = joined(texts)
  const isKeyed = jobs.some((job) => job.unique !== null)
  // Which columns can be left out is decided for the whole batch, so that there are few different statements.
  const isPlain = !isKeyed && jobs.every((job) => job.headers === null && job.overrides === null)

  const params: Param[] = []
  const put = (value: Param): string => `$${params.push(value)}::text`
  const column = (type: string, of: (job: NewJob) => string | number | null): string =>
    `${put(columnOf(jobs.map(of)))}::${type}[]`
  const full = (type: string, of: (job: NewJob) => string | number | null): string =>
    `${put(arrayOf(jobs.map(of)))}::${type}[]`

  const args = [
    `${put(idArrayOf(ids))}::uuid[]`,
    payloads === null ? `${put(arrayOf(texts))}::text[]` : `string_to_array(${put(payloads)}, chr(30))`,
    column('text', (job) => job.space),
    column('text', (job) => job.queue),
    column('smallint', (job) => job.priority),
    column('bigint', (job) => job.delayMs),
    jobs.some((job) => job.runAt !== null) ? full('bigint', (job) => job.runAt) : "'{}'",
    isPlain ? "'{}'" : full('text', (job) => job.headers),
    isPlain ? "'{}'" : full('text', (job) => job.overrides),
    ...(isKeyed
      ? [
          full('text', (job) => job.unique?.key ?? null),
          full('smallint', (job) => (job.unique ? SCOPE_CODES[job.unique.scope] : null)),
          full('bigint', (job) => job.unique?.windowMs ?? null),
          full('smallint', (job) => (job.unique ? CONFLICT_CODES[job.unique.onConflict] : null)),
        ]
      : ["'{}'", "'{}'", "'{}'", "'{}'"]),
    `${put(lowestOf(ids))}::uuid`,
    String(again),
    String((isKeyed || again) && new Set(ids).size < ids.length),
    `${put(now === null ? null : String(now))}::bigint`,
  ]
  return { text: `select t, odd from ${schema}.insert_jobs(${args.join(', ')})`, params }
}

function lowestOf(ids: readonly string[]): string {
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
    if (odd?.[1] === 0) return { status: 'ok', state: stateOf(odd[2]), dueAt: odd[3] }
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
