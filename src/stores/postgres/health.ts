import { bytesText, countText, manyText, spanText } from '../../core/format.ts'
import type { StoreFinding } from '../../store/store.ts'
import type { Query } from './connection/driver.ts'

/** A transaction that is open for so long keeps everything that ended since from being cleaned up. */
const LONG_MS = 10 * 60_000
/** So many dead rows, and so many times more than living ones, are not what autovacuum leaves between two turns. */
const MANY_DEAD = 500_000
const DEAD_TO_LIVE = 5

/** How the tables are kept. What the role may not see is not told. */
export async function examineTables(
  query: Query,
  schema: string,
  longMs: number = LONG_MS,
): Promise<readonly StoreFinding[]> {
  const parts = await Promise.all([
    storage(query, schema),
    autovacuum(query),
    deadRows(query, schema),
    transactions(query, longMs),
    prepared(query, longMs),
    indexes(query, schema),
  ])
  return parts.flat()
}

async function storage(query: Query, schema: string): Promise<StoreFinding[]> {
  const rows = await texts(
    query,
    `select c.relname::text, pg_total_relation_size(c.oid)::text from pg_class c
      where c.relnamespace = to_regnamespace($1) and c.relkind in ('r', 'm')`,
    [schema],
  )
  const sizes = rows.map(([name = '', bytes]) => ({ name, bytes: Number(bytes) }))
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0)
  const largest = sizes.toSorted((a, b) => b.bytes - a.bytes).slice(0, 3)
  const parts = largest.map(({ name, bytes }) => `${name} ${bytesText(bytes)}`).join(', ')
  const text = `${bytesText(total)} in ${manyText(sizes.length, 'table')} with their indexes: ${parts}`
  return [{ name: 'storage', status: 'ok', text, fix: null }]
}

async function autovacuum(query: Query): Promise<StoreFinding[]> {
  const [[setting] = []] = await texts(
    query,
    "select current_setting('autovacuum') where $1::text is not null",
    [''],
  )
  if (setting !== 'off') return []
  const text = 'autovacuum is off: tables through which jobs pass grow, and claims become slow'
  return [warning('vacuum', text, 'Turn it on: ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf();')]
}

async function deadRows(query: Query, schema: string): Promise<StoreFinding[]> {
  const rows = await texts(
    query,
    `select relname::text, n_dead_tup::text, n_live_tup::text,
      coalesce(extract(epoch from now() - greatest(last_vacuum, last_autovacuum)) * 1000, -1)::bigint::text
      from pg_stat_user_tables where schemaname = $1 order by n_dead_tup desc limit 20`,
    [schema],
  )
  const tables = rows.map(([name = '', dead, live, agoMs]) => ({
    name,
    dead: Number(dead),
    live: Number(live),
    agoMs: Number(agoMs),
  }))
  const bad = tables.filter(({ dead, live }) => dead > MANY_DEAD && dead > live * DEAD_TO_LIVE)
  if (bad.length === 0) {
    const all = tables.reduce((sum, { dead }) => sum + dead, 0)
    return [
      { name: 'vacuum', status: 'ok', text: `${countText(all)} dead rows wait for autovacuum`, fix: null },
    ]
  }
  return bad.map(({ name, dead, live, agoMs }) => {
    const last = agoMs < 0 ? 'never' : `${spanText(agoMs)} ago`
    const text = `${name}: ${countText(dead)} dead rows beside ${countText(live)}; it was last cleaned ${last}`
    return warning('vacuum', text, `Clean it: VACUUM (ANALYZE) ${schema}.${name};`)
  })
}

async function transactions(query: Query, longMs: number): Promise<StoreFinding[]> {
  const rows = await texts(
    query,
    `select pid::text, (extract(epoch from now() - xact_start) * 1000)::bigint::text, state::text,
      coalesce(nullif(application_name, ''), usename::text) from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
        and coalesce(backend_xid, backend_xmin) is not null
        and xact_start < now() - $1::bigint * interval '1 millisecond'
      order by xact_start limit 3`,
    [String(longMs)],
  )
  return rows.map(([pid, ms, state, who]) => {
    const text = `a transaction of ${who} is open for ${spanText(Number(ms))} (${state}): what ended since cannot be cleaned up`
    return warning('vacuum', text, `If it is forgotten, end it: SELECT pg_terminate_backend(${pid});`)
  })
}

async function prepared(query: Query, longMs: number): Promise<StoreFinding[]> {
  const rows = await texts(
    query,
    `select quote_literal(gid), (extract(epoch from now() - prepared) * 1000)::bigint::text from pg_prepared_xacts
      where database = current_database() and prepared < now() - $1::bigint * interval '1 millisecond' limit 3`,
    [String(longMs)],
  )
  return rows.map(([gid, ms]) => {
    const text = `the prepared transaction ${gid} waits for ${spanText(Number(ms))}: what ended since cannot be cleaned up`
    return warning('vacuum', text, `If nobody will end it: ROLLBACK PREPARED ${gid};`)
  })
}

async function indexes(query: Query, schema: string): Promise<StoreFinding[]> {
  const rows = await texts(
    query,
    `select c.oid::regclass::text from pg_index i join pg_class c on c.oid = i.indexrelid
      where c.relnamespace = to_regnamespace($1) and c.relkind = 'i' and not (i.indisvalid and i.indisready) limit 5`,
    [schema],
  )
  return rows.map(([name]) => {
    const text = `the index ${name} is broken, so nothing is found by it`
    return warning('indexes', text, `Make it anew: REINDEX INDEX CONCURRENTLY ${name};`)
  })
}

function warning(name: string, text: string, fix: string): StoreFinding {
  return { name, status: 'warn', text, fix }
}

async function texts(query: Query, sql: string, params: readonly string[]): Promise<readonly string[][]> {
  return (await query(sql, params)).map((row) => row.map(String))
}
