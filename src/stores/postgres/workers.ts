import type { Store, WorkerInfo, WorkerPresence } from '../../store/store.ts'
import type { Query } from './connection/driver.ts'
import { CLOCK } from './sql/plan-settings.ts'

/** The key of the advisory lock that a worker's session holds, as SQL. */
export function lockKey(schema: string, workerId: string): string {
  return `hashtextextended('skep:worker:${schema}:' || ${workerId}, 0)`
}

export async function attend(
  query: Query,
  schema: string,
  call: { readonly worker: WorkerInfo; readonly isLocked: boolean; readonly now: number | null },
): Promise<void> {
  const { worker, isLocked, now } = call
  await query(
    `insert into ${schema}.workers as w (id, space, seen_at, lock_key, info)
    values ($1::text, $2::text, coalesce($3::bigint, ${CLOCK}),
      case when $4::text = 'locked' then ${lockKey(schema, '$1::text')} end, $5::text)
    on conflict (id) do update set space = excluded.space, seen_at = excluded.seen_at,
      lock_key = excluded.lock_key, info = excluded.info`,
    [
      worker.id,
      worker.space,
      now === null ? null : String(now),
      isLocked ? 'locked' : 'free',
      JSON.stringify(worker),
    ],
  )
}

export async function depart(query: Query, schema: string, workerId: string): Promise<void> {
  await query(`delete from ${schema}.workers where id = $1::text`, [workerId])
}

export async function workers(
  query: Query,
  schema: string,
  { space, ids }: Parameters<Store['workers']>[0],
): Promise<{ workers: WorkerPresence[] }> {
  // A key of 64 bits is shown as two halves.
  const rows = await query(
    `select w.info, w.seen_at, case when w.lock_key is null then 'unsure'
      when exists (
        select 1 from pg_locks l where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
          and l.database = (select d.oid from pg_database d where d.datname = current_database())
          and l.classid::bigint = (w.lock_key >> 32) & 4294967295 and l.objid::bigint = w.lock_key & 4294967295)
      then 'here' else 'gone' end
    from ${schema}.workers w where ($1::text is null or w.space = $1::text)
      ${ids === undefined ? '' : 'and w.id in (select jsonb_array_elements_text($2::jsonb))'} order by w.id`,
    ids === undefined ? [space ?? null] : [space ?? null, JSON.stringify(ids)],
  )
  return {
    workers: rows.map(
      ([info, seenAt, life]): WorkerPresence => ({
        ...(JSON.parse(info as string) as WorkerInfo),
        seenAt: Number(seenAt),
        life: life as WorkerPresence['life'],
      }),
    ),
  }
}
