import { isOutOfAge, queueHash } from '../queue-hash.ts'

/** The tables in which each row is counted, and may hold a key, a lease, a place in a lane or in a group. */
const GUARDED = ['jobs', 'archive', 'archive_dead', 'archive_days', 'archive_rest']

/** The arrival of a job in jobs, see {@link tables}. */
export const arrivalOf = (job: string): string =>
  `coalesce(${job}.arrival, case when ${job}.is_strict then ${job}.rank end)`

/** The columns a job has wherever it is. */
export const JOB_COLUMNS: readonly string[] = [
  'id',
  'space',
  'queue',
  'state',
  'payload',
  'headers',
  'priority',
  'overrides',
  'lane',
  'is_strict',
  'cost',
  'group_id',
  'nth',
  'due_at',
  'enqueued_at',
  'arrival',
  'started_at',
  'generation',
  'starts',
  'errors',
  'timeouts',
  'lost',
  'snoozes',
  'token',
  'worker',
  'cancel_reason',
  'unique_key',
  'unique_scope',
  'result',
  'failure',
]

// Wide numbers first, then texts: no bytes are lost to alignment. Names and keys compare byte by byte.
const JOB_COLUMN_TYPES = `
    id uuid not null,
    group_id uuid,
    due_at bigint not null,
    enqueued_at bigint not null,
    arrival bigint,
    started_at bigint,
    generation integer not null default 0,
    starts integer not null default 0,
    errors integer not null default 0,
    timeouts integer not null default 0,
    lost integer not null default 0,
    snoozes integer not null default 0,
    priority integer not null,
    nth integer,
    state smallint not null,
    unique_scope smallint,
    is_strict boolean,
    cost integer,
    space text collate "C" not null,
    queue text collate "C" not null,
    payload text not null,
    headers text,
    overrides text,
    lane text collate "C",
    token text collate "C",
    worker text collate "C",
    cancel_reason text,
    unique_key text collate "C",
    result text,
    failure text`

/**
 * Where jobs live. All times are milliseconds since 1970.
 *
 * A job is its id together with its space: whoever looks for an id says in which space.
 *
 * jobs: delayed (0), ready (1) and running (2). No index but the primary key may end in `id` and hold
 * running jobs: with stale statistics the planner would read all of it to find a few ids. Every job is written twice at the
 * least, when it comes and when it starts, so its pages have room for a second entry of each.
 * archive: done (3), failed (4) and cancelled (6) by the day they ended, so that whole days
 * can be dropped; dead (5) apart, because they stay much longer. `archive_rest` catches days nobody made.
 *
 * `arrival`: the first rank of a strict job; in jobs null while that is its rank.
 * Null stands for what is usual: no lane, not strict, a cost of 1, a member of no group. `counted`: the lease is counted by the queue's limits.
 */
export function tables(schema: string): string {
  return `
create table ${schema}.jobs (
    ${JOB_COLUMN_TYPES.trim()},
    rank bigint not null,
    lease_until bigint,
    counted boolean,
    primary key (id, space) with (fillfactor = 50)
) with (
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.2,
    autovacuum_analyze_scale_factor = 0.1,
    autovacuum_vacuum_cost_delay = 1,
    autovacuum_vacuum_cost_limit = 1000
);
create index jobs_order on ${schema}.jobs (${queueHash('space', 'queue')}, rank, id) where state = 1 and lane is null;
create index jobs_lanes on ${schema}.jobs (space, queue, lane, rank, id) where state = 1 and lane is not null;
create index jobs_due on ${schema}.jobs (space, queue, due_at) where state = 0;
create index jobs_later on ${schema}.jobs (space, queue, lane, due_at, id) where state = 0 and lane is not null;
create index jobs_ages on ${schema}.jobs (${queueHash('space', 'queue')}, due_at) where ${isOutOfAge('')};
create index jobs_leases on ${schema}.jobs (${queueHash('space', 'queue')}, lease_until) where state = 2;

create table ${schema}.archive (
    ${JOB_COLUMN_TYPES.trim()},
    finished_at bigint not null,
    expires_at bigint not null
) partition by list (state);
create index archive_id on ${schema}.archive (id);
create index archive_list on ${schema}.archive (space, queue, state, finished_at, id);
create index archive_lanes on ${schema}.archive (space, queue, state, lane, finished_at, id) where lane is not null;
create index archive_expiry on ${schema}.archive (expires_at);
create table ${schema}.archive_dead partition of ${schema}.archive for values in (5);
create table ${schema}.archive_days partition of ${schema}.archive for values in (3, 4, 6)
    partition by range (finished_at);
create table ${schema}.archive_rest partition of ${schema}.archive_days default;

-- Who holds a unique key; \`until\` only when it is held for a span of time.
create table ${schema}.uniques (
    space text collate "C" not null,
    queue text collate "C" not null,
    key text collate "C" not null,
    job_id uuid not null,
    until bigint,
    primary key (space, queue, key)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);
create index uniques_job on ${schema}.uniques (job_id);
create index uniques_until on ${schema}.uniques (until) where until is not null;

-- The ids of jobs that were removed, one row for each queue and lease settled, prune or change, remembered for a while;
-- by which token and in which state, if it was their holder who did it.
create table ${schema}.discarded (
    at bigint not null,
    state smallint,
    space text collate "C" not null,
    queue text collate "C" not null,
    token text collate "C",
    ids uuid[] not null
)
    with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.1);
alter table ${schema}.discarded alter column ids set storage external;

-- How many jobs there are: \`tallies\` plus all \`deltas\`. Whoever moves jobs appends a delta in the same
-- transaction and waits for nobody; upkeep folds them. Ended jobs are counted by the day they ended, so that
-- dropping a day needs no counting; all others, and the dead, under day -1.
create table ${schema}.deltas (
    day integer not null default -1,
    delayed integer not null default 0,
    ready integer not null default 0,
    running integer not null default 0,
    done integer not null default 0,
    failed integer not null default 0,
    dead integer not null default 0,
    cancelled integer not null default 0,
    -- In which second the delayed ones are due. A row that counts delayed jobs counts those of one second.
    due_second bigint,
    space text collate "C" not null,
    queue text collate "C" not null
) with (
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = -1
);
-- How many of the delayed jobs in tallies are due in each day, five minutes and second (width, in ms), see shared/due-counts.ts.
create table ${schema}.dues (
    start bigint not null,
    jobs bigint not null,
    width integer not null,
    space text collate "C" not null,
    queue text collate "C" not null,
    primary key (space, queue, width, start)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.1);
create table ${schema}.tallies (
    space text collate "C" not null,
    queue text collate "C" not null,
    day integer not null,
    delayed bigint not null,
    ready bigint not null,
    running bigint not null,
    done bigint not null,
    failed bigint not null,
    dead bigint not null,
    cancelled bigint not null,
    primary key (space, queue, day)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

create table ${schema}.workers (
    id text collate "C" primary key,
    space text collate "C" not null,
    seen_at bigint not null,
    -- The advisory lock its session holds; null when nothing but heartbeats tells that it lives.
    lock_key bigint,
    info text not null
) with (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- An UPDATE by hand would leave counts, keys, leases and lanes behind that fit no job. All of Skep's functions run with
-- this search_path, so the condition tells them apart without calling anything.
create function ${schema}.refuse_write() returns trigger
language plpgsql set search_path = ${schema}, pg_temp
as $function$
begin
    raise exception 'skep: % of "%" is refused: counts, unique keys and lanes would no longer match the jobs.', tg_op, tg_table_name
        using errcode = 'insufficient_privilege',
            hint = 'Use the API, "skep" on the command line, or the dashboard to cancel, retry, move or remove jobs.';
end $function$;
${GUARDED.map((table) => `\n${guardOf(schema, `${schema}.${table}`)};`).join('')}
`
}

/** Triggers for statements belong to the table that a statement names, so each partition needs its own. */
export function guardOf(schema: string, table: string): string {
  return `create trigger refuse_write before update or delete or truncate on ${table}
    for each statement when (current_setting('search_path') <> '${schema}, pg_temp')
    execute function ${schema}.refuse_write()`
}
