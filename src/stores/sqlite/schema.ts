import { SkepError } from '../../core/errors.ts'
import type { Handle } from './connection/connection.ts'

/**
 * Groups, the outcomes of their members, and runs. A group's `jobs` come last in its row: whoever counts need not read
 * them. `fired` has a bit for each event, in their order.
 */
export const FLOW_TABLES = `
      create table skep_groups (
        g integer primary key, id text not null unique, space text not null, run text,
        size integer not null, need integer not null, failing text not null, keep_ms integer not null,
        done integer not null, failed integer not null, fired integer not null,
        created_at integer not null, ended_at integer, expires_at integer, jobs text not null
      );
      create index skep_groups_open on skep_groups (id) where ended_at is null;
      create index skep_groups_run on skep_groups (run, space) where run is not null;
      create index skep_groups_expiry on skep_groups (expires_at) where expires_at is not null;

      -- An outcome can be there before its group, or after it: alone_since is when it came without one.
      create table skep_outcomes (
        group_id text not null, n integer not null, id text, state integer not null,
        result text, failure text, alone_since integer, primary key (group_id, n)
      ) without rowid;
      create index skep_outcomes_alone on skep_outcomes (alone_since) where alone_since is not null;

      create table skep_runs (
        r integer primary key, id text not null, space text not null, flow text not null,
        version integer not null, root text not null, group_id text, member integer,
        status integer not null, revision integer not null, started_at integer not null,
        changed_at integer not null, ended_at integer, expires_at integer, attributes text not null,
        position text not null, state text not null, result text, failure text, unique (id, space)
      );
      create index skep_runs_listed on skep_runs (space, id) where group_id is null;
      create index skep_runs_flow on skep_runs (space, flow, id) where group_id is null;
      create index skep_runs_flow_status on skep_runs (space, flow, status, id) where group_id is null;
      create index skep_runs_running on skep_runs (space, id) where status = 0;
      create index skep_runs_status on skep_runs (space, status, id) where group_id is null;
      create index skep_runs_root on skep_runs (space, root, id);
      create index skep_runs_members on skep_runs (group_id, member) where group_id is not null;
      create index skep_runs_expiry on skep_runs (expires_at) where expires_at is not null;

      create table skep_run_attributes (
        space text not null, attribute text not null, id text not null, primary key (space, attribute, id)
      ) without rowid;

      -- Groups (kind 0) and runs (kind 1) that are gone, and of which something is left: outcomes of a group; groups of a
      -- run, and runs below it.
      create table skep_leaving (
        kind integer not null, id text not null, space text not null, primary key (kind, id, space)
      ) without rowid;`

/** The tables of limits, lanes and holds. None has a rowid, so that an insert of jobs can go on asking for the last. */
export const LIMIT_TABLES = `
  -- Raised when a queue becomes limited, and when what holds whole queues changes: what a process remembers of either is
  -- true for as long as this stays.
  create table skep_rules (only integer primary key, version integer not null) without rowid;
  insert into skep_rules values (1, 0);

  create table skep_holds (
    key text primary key, kind text not null, space text, queue text, lane text,
    reason text, put_by text, since integer not null, until integer
  ) without rowid;
  create index skep_holds_queues on skep_holds (space, queue) where lane is null;
  create index skep_holds_until on skep_holds (until) where until is not null;

  -- What was said, in JSON. kind 0 is a queue, 1 a lane of it, 2 a limit that queues share.
  create table skep_limits (
    space text not null, kind integer not null, name text not null, lane text not null,
    declared text, changed text, primary key (space, kind, name, lane)
  ) without rowid;

  -- A limited queue: what its limits come to, and what of them is in use. is_sliced: somebody has claimed from a range.
  create table skep_lines (
    q integer primary key, limits text not null, clock integer not null, running integer not null,
    full_at integer not null, last_lane integer not null, is_sliced integer not null default 0
  ) without rowid;

  create table skep_shared (
    space text not null, name text not null, limits text not null, running integer not null,
    full_at integer not null, primary key (space, name)
  ) without rowid;

  -- standing 0 is idle, 1 eligible, 2 waiting until wake_at, 3 full. own are the lane's own limits, in JSON. slice is the
  -- slice of its key, of lines that are sliced.
  create table skep_lanes (
    q integer not null, key text not null, number integer not null, standing integer not null,
    turn integer not null, running integer not null, full_at integer not null,
    wait_until integer not null, held_until integer not null, head_at integer not null,
    wake_at integer not null, occupant text, own text, slice integer, primary key (q, key)
  ) without rowid;
  create index skep_lanes_turn on skep_lanes (q, turn, key) where standing = 1;
  create index skep_lanes_slices on skep_lanes (q, slice, turn, key) where standing = 1 and slice is not null;
  create index skep_lanes_wake on skep_lanes (q, wake_at) where standing = 2;`

/**
 * How far jobs are, and the lines their handlers wrote. Apart from the jobs, whose rows are hot. `until` is when they go,
 * whatever becomes of their job.
 */
export const NOTE_TABLES = `
      create table skep_notes (
        id text not null, space text not null, token text not null,
        line_n integer not null, progress_n integer not null,
        value real, note text, progress_at integer,
        last integer not null, bytes integer not null, dropped integer not null, until integer not null,
        primary key (id, space)
      ) without rowid;
      create index skep_notes_until on skep_notes (until);

      create table skep_note_lines (
        id text not null, space text not null, place integer not null, start integer not null, at integer not null,
        level integer not null, text text not null, fields text, primary key (id, space, place)
      ) without rowid;`

/** Records of all kinds. Their bodies may be large, so rows are found by number and the primary key is an index of its own. */
export const RECORD_TABLES = `
      create table skep_records (
        scope text not null, kind text not null, id text not null, body text not null,
        revision text not null, expires_at integer, written_at integer not null,
        primary key (scope, kind, id)
      );
      create index skep_records_expiry on skep_records (expires_at) where expires_at is not null;`

/** One row for each schedule. Those that may come due are in one index, by their next slot. */
export const SCHEDULE_TABLES = `
      create table skep_schedules (
        space text not null, id text not null, revision text not null, spec text not null,
        dynamic integer not null, declared_by text, next_at integer,
        paused_at integer, pause_reason text, paused_by text,
        last_slot integer, last_fired_at integer, last_job_id text,
        fired integer not null, skipped integer not null,
        created_at integer not null, updated_at integer not null,
        primary key (space, id)
      ) without rowid;
      create index skep_schedules_due on skep_schedules (space, dynamic, next_at, id)
        where next_at is not null and paused_at is null;`

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
      -- and its start is not yet in starts. arrival: the first n of a strict job; null while that is its n.
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
        group_id text, member integer, arrival integer, unique (id, space)
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

      -- How many delayed jobs of a queue are due in each day, five minutes and second (width, in ms), see
      -- shared/due-counts.ts. None is kept that counts no job.
      create table skep_dues (
        q integer not null, width integer not null, start integer not null, jobs integer not null,
        primary key (q, width, start)
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
        arrival integer, unique (id, space)
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
