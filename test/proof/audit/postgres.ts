/**
 * The audit of a Postgres store: triggers, for tests only, that write every change of every job down in the transaction
 * that makes it.
 *
 * They fire once for each statement and see all its rows, so they cost little. A place in the order (`seq`) is taken
 * while the rows are locked, which they are until the commit: the places of one job are in the order of its commits.
 *
 * A job that moves between `jobs` and `archive` is deleted here and inserted there by one transaction; reading puts the
 * two together again.
 */
import type pg from 'pg'
import { scopeOf, stateOf } from '../../../src/stores/postgres/jobs/job-row.ts'
import type { AuditEntry, AuditRow } from '../history.ts'
import { slotIn } from '../slot.ts'

export interface PostgresAuditOptions {
  /** The schema of the store. @default 'skep' */
  readonly schema?: string
}

type Client = Pick<pg.ClientBase, 'query'>

/** What is kept of a row, in the order in which `toRow` reads it. `x` is the row. */
const shared = `x.queue, x.state, x.generation, x.due_at, x.token, x.worker, x.cancel_reason, x.starts, x.errors,
    x.timeouts, x.lost, x.snoozes, x.unique_key, x.unique_scope, x.result, x.lane, x.cost, x.headers`
const JOB = `${shared}, x.lease_until, null, null`
const ARCHIVED = `${shared}, null, x.finished_at, x.expires_at`

const milliseconds = (time: string): string => `floor(extract(epoch from ${time}) * 1000)::bigint`
const NOW = milliseconds('clock_timestamp()')
const ASKED = milliseconds('statement_timestamp()')

/** A text array and not JSON: it costs a third. */
const kept = (columns: string, alias: string): string =>
  `array[${columns
    .split(',')
    .map((column) => `${column.trim().replace('x.', `${alias}.`)}::text`)
    .join(', ')}]`

/** Installs the audit in a database whose schema is up to date. From here on it is complete. */
export async function installPostgresAudit(
  client: Client,
  { schema = 'skep' }: PostgresAuditOptions = {},
): Promise<void> {
  const jobs = (alias: string): string => kept(JOB, alias)
  const archived = (alias: string): string => kept(ARCHIVED, alias)
  // One that is written as leased was ready before that: two changes in one.
  const waiting = ['token', 'worker', 'lease_until'].reduce(
    (row, name) => row.replace(`n.${name}::text`, `case when n.state <> 2 then n.${name}::text end`),
    jobs('n')
      .replace('n.state::text', 'least(n.state, 1)::text')
      .replace('n.starts::text', '(n.starts - (n.state = 2)::integer)::text'),
  )
  const insertInto = `insert into ${schema}_audit.changes (tx, at, place, id, before, after)
    select pg_current_xact_id()::text::bigint`
  const trigger = (
    table: string,
    operation: 'insert' | 'update' | 'delete',
    select: string,
    at = NOW,
  ): string => `
create function ${schema}_audit.${table}_${operation}() returns trigger language plpgsql as $$
begin
    ${insertInto}, ${at}, '${table}', ${select};
    return null;
end $$;
create trigger audit_${operation} after ${operation} on ${schema}.${table}
    referencing ${operation === 'insert' ? '' : 'old table as o'} ${operation === 'delete' ? '' : 'new table as n'}
    for each statement execute function ${schema}_audit.${table}_${operation}();`

  await client.query(`
create schema ${schema}_audit;
create table ${schema}_audit.changes (
    seq bigint generated always as identity (cache 1),
    tx bigint not null,
    at bigint not null,
    id uuid not null,
    place text not null,
    before text[],
    after text[]
) with (autovacuum_enabled = off);
${trigger(
  'jobs',
  'insert',
  `n.id, null, ${waiting} from n;
    ${insertInto}, ${NOW}, 'jobs', n.id, ${waiting}, ${jobs('n')} from n where n.state = 2`,
)}
${trigger(
  'jobs',
  'update',
  `n.id, ${jobs('o')}, ${jobs('n')} from n join o on o.id = n.id`,
  // The wait before the next try is counted from the beginning of the call, which may then have waited for a lock.
  `case when o.state = 2 and n.state < 2 then ${ASKED} else ${NOW} end`,
)}
${trigger('jobs', 'delete', `o.id, ${jobs('o')}, null from o`)}
${trigger('archive', 'insert', `n.id, null, ${archived('n')} from n`)}
${trigger('archive', 'update', `n.id, ${archived('o')}, ${archived('n')} from n join o on o.id = n.id`)}
${trigger('archive', 'delete', `o.id, ${archived('o')}, null from o`)}
`)
}

/** Reads the audit, in the order of `seq`, a page at a time, and hands over each change. */
export async function readPostgresAudit(
  client: Client,
  onEntry: (entry: AuditEntry) => void,
  { schema = 'skep' }: PostgresAuditOptions = {},
): Promise<void> {
  const table = `${schema}_audit.changes`
  await client.query(`create index if not exists changes_seq on ${table} (seq)`)
  const joiner = new Joiner(onEntry)
  for (let after = '0'; ; ) {
    const { rows } = await client.query<Raw>({
      text: `select seq, tx, at, id, place, before, after from ${table} where seq > $1 order by seq limit 20000`,
      values: [after],
      rowMode: 'array',
    } as never)
    for (const row of rows) joiner.take(row)
    const last = rows.at(-1)
    if (!last) break
    after = last[0]
  }
  joiner.end()
}

/** What is in the store now, by job id. */
export async function dumpPostgres(
  client: Client,
  { schema = 'skep' }: PostgresAuditOptions = {},
): Promise<Map<string, AuditRow>> {
  const columns = `${shared}, x.lease_until, x.finished_at, x.expires_at`
  const { rows } = await client.query<[string, Row]>({
    text: `select x.id, ${kept(columns, 'x')} from ${schema}.every_job x`,
    rowMode: 'array',
  } as never)
  return new Map(rows.map(([id, row]) => [id, toRow(row)]))
}

type Row = readonly (string | null)[]
type Raw = [
  seq: string,
  tx: string,
  at: string,
  id: string,
  place: string,
  before: Row | null,
  after: Row | null,
]

interface Open {
  readonly seq: number
  readonly tx: string
  readonly at: number
  readonly id: string
  readonly place: string
  readonly before: Row | null
  readonly after: Row | null
}

/**
 * Puts the two halves of a move together, in whichever order their triggers fired. A job that is inserted and taken out
 * of one table again by one transaction was never there.
 */
class Joiner {
  readonly #onEntry: (entry: AuditEntry) => void
  /** The latest change of each job, which may be half a move. Others' transactions may lie in between. */
  readonly #open = new Map<string, Open>()

  constructor(onEntry: (entry: AuditEntry) => void) {
    this.#onEntry = onEntry
  }

  take([seq, tx, at, id, place, before, after]: Raw): void {
    const now: Open = { seq: Number(seq), tx, at: Number(at), id, place, before, after }
    const earlier = this.#open.get(id)
    this.#open.delete(id)
    if (earlier?.tx === tx && earlier.place !== place) {
      this.#told(moved(earlier, now))
    } else if (earlier?.tx !== tx || earlier.before !== null || after !== null) {
      if (earlier) this.#told(earlier)
      // Only an insert or a removal can be one half of something.
      if (before === null || after === null) this.#open.set(id, now)
      else this.#told(now)
    }
  }

  end(): void {
    for (const open of this.#open.values()) this.#told(open)
    this.#open.clear()
  }

  #told({ seq, at, id, before, after }: Open): void {
    this.#onEntry({ seq, at, id, before: before && toRow(before), after: after && toRow(after) })
  }
}

function moved(first: Open, second: Open): Open {
  return { ...second, before: first.before ?? second.before, after: first.after ?? second.after }
}

const number = (text: string | null | undefined): number | null => (text == null ? null : Number(text))

function toRow(row: Row): AuditRow {
  const text = (index: number): string | null => row[index] ?? null
  const count = (index: number): number => Number(row[index])
  const state = stateOf(row[1])
  // The store keeps the latest token and worker for the record; they are a lease only while the job runs.
  const runs = state === 'running'
  const key = text(12)
  return {
    queue: text(0) as string,
    state,
    generation: count(2),
    dueAt: count(3),
    token: runs ? text(4) : null,
    worker: runs ? text(5) : null,
    leaseUntil: number(row[18]),
    cancelReason: text(6),
    counters: { starts: count(7), errors: count(8), timeouts: count(9), lost: count(10), snoozes: count(11) },
    unique: key === null ? null : { key, scope: scopeOf(row[13]) },
    result: text(14),
    lane: text(15),
    cost: number(row[16]) ?? 1,
    ...slotIn(text(17)),
    finishedAt: number(row[19]),
    expiresAt: number(row[20]),
  }
}
