/**
 * Groups, the outcomes of their members, and runs, see `core/groups.ts` and `core/runs.ts`.
 *
 * groups: `done` and `failed` change with every member that ends, so no index has them, and room is left on each page. What
 * indexes have (`ended_at`, `expires_at`) changes once, at the end. The row is also the lock under which its members are
 * counted. A group that nobody has made yet, of which somebody told already, has a row without a size: whoever makes
 * it, and whoever tells, meets the other there. `fired` has a bit for each event. `touches`: other groups, of which its jobs
 * are members with a unique key.
 *
 * outcomes: one for each member that has ended; its type is also how functions hand over members that ended, and, with
 * no state, members that have not ended any more. sheets: members of one group that one call found done, in one row: to write
 * each by itself, and into an index, costs more than all else there is to count. A member is in one of the two, once.
 * every_outcome: both.
 *
 * members: the jobs of a group, written down when they are put in: one row for all that come together, because an index of
 * the jobs themselves would be written with every job, and again when it starts. A job that is named here is a member as long
 * as its own row says so. Those of a chain are named before they are there. `high` is the highest number in the row.
 *
 * runs: `status` is 2 while it runs, then 3, 4 or 6, as states of jobs are numbered.
 *
 * flows: how they look, for whoever draws them.
 */
export function flowTables(schema: string): string {
  return `
create table ${schema}.groups (
    id uuid primary key,
    run uuid,
    created_at bigint not null,
    keep_ms bigint,
    ended_at bigint,
    expires_at bigint,
    size integer,
    need integer,
    done integer not null default 0,
    failed integer not null default 0,
    failing smallint,
    fired smallint not null default 0,
    space text collate "C",
    touches uuid[],
    jobs text
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);
create index groups_open on ${schema}.groups (id) where ended_at is null and size is not null;
create index groups_run on ${schema}.groups (run) where run is not null;
create index groups_expiry on ${schema}.groups (expires_at) where expires_at is not null;

create table ${schema}.outcomes (
    group_id uuid not null,
    nth integer not null,
    id uuid,
    state smallint not null,
    result text,
    failure text,
    primary key (group_id, nth)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);

create table ${schema}.sheets (
    group_id uuid not null,
    high integer not null,
    nths integer[] not null,
    ids uuid[] not null,
    results text[] not null
) with (toast_tuple_target = 8160, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);
alter table ${schema}.sheets alter column nths set storage external, alter column ids set storage external;
create index sheets_group on ${schema}.sheets (group_id, high);

create view ${schema}.every_outcome as
    select group_id, nth, id, state, result, failure from ${schema}.outcomes
    union all
    select s.group_id, u.nth, u.id, 3::smallint, u.result, null
    from ${schema}.sheets s, unnest(s.nths, s.ids, s.results) as u(nth, id, result);

create table ${schema}.members (
    group_id uuid not null,
    high integer not null,
    nths integer[] not null,
    ids uuid[] not null
) with (toast_tuple_target = 8160, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);
alter table ${schema}.members alter column nths set storage external, alter column ids set storage external;
create index members_group on ${schema}.members (group_id, high);

create table ${schema}.runs (
    id uuid not null,
    root uuid not null,
    group_id uuid,
    started_at bigint not null,
    changed_at bigint not null,
    ended_at bigint,
    expires_at bigint,
    nth integer,
    version integer not null,
    revision integer not null default 0,
    status smallint not null default 2,
    space text collate "C" not null,
    flow text collate "C" not null,
    position text not null,
    state text not null,
    attributes text not null,
    result text,
    failure text,
    primary key (id, space)
) with (fillfactor = 70, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);
create index runs_list on ${schema}.runs (space, id) where group_id is null;
create index runs_flow on ${schema}.runs (space, flow, id) where group_id is null;
create index runs_flow_status on ${schema}.runs (space, flow, status, id) where group_id is null;
create index runs_running on ${schema}.runs (space, id) where status = 2;
create index runs_status on ${schema}.runs (space, status, id) where group_id is null;
create index runs_root on ${schema}.runs (root, space, id);
create index runs_members on ${schema}.runs (group_id, nth) where group_id is not null;
create index runs_expiry on ${schema}.runs (expires_at) where expires_at is not null;

create table ${schema}.run_attributes (
    run_id uuid not null,
    space text collate "C" not null,
    attribute text collate "C" not null,
    primary key (space, attribute, run_id)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);
`
}
