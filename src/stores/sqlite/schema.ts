import { SkepError } from '../../core/errors.ts'
import { FLOW_TABLES } from './flow-tables.ts'
import type { Handle } from './handle.ts'
import { LIMIT_TABLES } from './limit-tables.ts'
import { NOTE_TABLES } from './note-tables.ts'
import { RECORD_TABLES } from './record-tables.ts'
import { SCHEDULE_TABLES } from './schedules-schema.ts'

/**
 * Where a job is, is its state:
 *
 *   delayed, ready   in `jobs`, with its place in line in `waiting`
 *   running          in `jobs`, with its lease in `leases`
 *   finished         in `archive` alone
 *
 * A claim so moves small rows and never rewrites a payload, and what is finished does not make what waits
 * slower. `n` numbers a job while it is hot, because a short key makes the other tables small.
 */
const MIGRATIONS: readonly { readonly id: string; readonly sql: string }[] = [
  {
    id: '0001-jobs',
    sql: `
      create table skep_queues (
        q integer primary key, space text not null, name text not null,
        delayed integer not null default 0, ready integer not null default 0,
        running integer not null default 0, done integer not null default 0,
        failed integer not null default 0, dead integer not null default 0,
        cancelled integer not null default 0,
        unique (space, name)
      );

      -- token, worker and started_at tell of the latest lease that ended; a lease that lasts is in leases,
      -- and its start is not yet in starts.
      create table skep_jobs (
        n integer primary key, id text not null, space text not null, q integer not null,
        due_at integer not null, enqueued_at integer not null, payload text not null,
        priority integer not null default 0, headers text, overrides text,
        generation integer not null default 0, starts integer not null default 0,
        errors integer not null default 0, timeouts integer not null default 0,
        lost integer not null default 0, snoozes integer not null default 0,
        unique_key text, unique_scope text,
        token text, worker text, started_at integer, result text, failure text,
        lane text, strict integer not null default 0, cost integer not null default 1,
        group_id text, member integer, unique (id, space)
      );
      create index skep_jobs_members on skep_jobs (group_id, member) where group_id is not null;

      -- state 0 is delayed and its place the due time. All others are ready: 1 in the default lane, from 2 on in the lane
      -- of that number. Their place is the rank, or n where the lane is strict: n grows, and is less than any rank.
      -- due is the due time of ready jobs whose place is not their age: those with a lane or a priority. So the oldest job of a
      -- queue is found, and the others are in no second index.
      create table skep_waiting (
        q integer not null, state integer not null, place integer not null, id text not null,
        n integer not null, due integer, primary key (q, state, place, id)
      ) without rowid;
      create index skep_waiting_due on skep_waiting (q, due) where due is not null;

      -- Delayed jobs that have a lane, once more: so those of one lane are found.
      create table skep_later (
        q integer not null, lane text not null, place integer not null, id text not null,
        n integer not null, primary key (q, lane, place, id)
      ) without rowid;

      create table skep_leases (
        n integer primary key, q integer not null, token text not null, worker text not null,
        started_at integer not null, until integer not null, cancel_reason text
      );

      create table skep_archive (
        a integer primary key, id text not null, space text not null, q integer not null, state integer not null,
        finished_at integer not null, expires_at integer not null,
        due_at integer not null, enqueued_at integer not null, payload text not null,
        priority integer not null, headers text, overrides text, generation integer not null,
        starts integer not null, errors integer not null, timeouts integer not null,
        lost integer not null, snoozes integer not null, unique_key text, unique_scope text,
        token text, worker text, started_at integer, result text, failure text, cancel_reason text,
        lane text, strict integer not null, cost integer not null, group_id text, member integer,
        unique (id, space)
      );
      create index skep_archive_listed on skep_archive (q, state, finished_at);
      create index skep_archive_lanes on skep_archive (q, state, lane, finished_at) where lane is not null;
      create index skep_archive_expiry on skep_archive (expires_at);

      create table skep_uniques (
        q integer not null, key text not null, id text not null, until integer,
        primary key (q, key)
      ) without rowid;
      create index skep_uniques_window on skep_uniques (until) where until is not null;

      -- One row for all the jobs of a queue that a token discarded in a transaction: their ids, 16 bytes each, one after the other.
      -- Without a token it was no settlement of a holder's, so none can be repeated.
      create table skep_discarded (
        d integer primary key, q integer not null, token text, state integer, until integer not null,
        first_id text not null, last_id text not null, ids blob not null
      );
      create index skep_discarded_until on skep_discarded (until);
      create index skep_discarded_ids on skep_discarded (last_id, first_id);

      create table skep_workers (
        id text primary key, space text not null, host text not null, pid integer not null,
        queues text not null, concurrency integer not null, running integer not null,
        started_at integer not null, seen_at integer not null,
        vitals text not null, machine text, process_start text
      );
${NOTE_TABLES}
${RECORD_TABLES}
${FLOW_TABLES}
      ${LIMIT_TABLES}
      ${SCHEDULE_TABLES}`,
  },
]

/** Runs what is missing, inside the caller's transaction. Returns the ids of what it ran. */
export function migrate(db: Handle, now: number): string[] {
  db.exec(
    'create table if not exists skep_migrations (id text primary key, applied_at integer not null) without rowid',
  )
  const applied = new Set(db.all('select id from skep_migrations').map(([id]) => id as string))
  const known = new Set(MIGRATIONS.map(({ id }) => id))
  const unknown = [...applied].filter((id) => !known.has(id))
  if (unknown.length > 0) {
    throw new SkepError(
      'SCHEMA_TOO_NEW',
      `The database has been migrated by a newer version of Skep (${unknown.join(', ')}). Update this program.`,
      { facts: { unknown } },
    )
  }
  const missing = MIGRATIONS.filter(({ id }) => !applied.has(id))
  for (const { id, sql } of missing) {
    db.exec(sql)
    db.run('insert into skep_migrations (id, applied_at) values (?, ?)', id, now)
  }
  return missing.map(({ id }) => id)
}

/** Whether there is nothing left to migrate, found out without a lock. */
export function isMigrated(db: Handle): boolean {
  try {
    const applied = db.all('select id from skep_migrations').map(([id]) => id as string)
    return applied.length === MIGRATIONS.length && MIGRATIONS.every(({ id }) => applied.includes(id))
  } catch {
    return false // No such table yet.
  }
}
