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

      -- How flows look.
      create table skep_flows (
        space text not null, name text not null, version integer not null, outline text not null,
        primary key (space, name, version)
      ) without rowid;

      -- Groups (kind 0) and runs (kind 1) that are gone, and of which something is left: outcomes of a group; groups of a
      -- run, and runs below it.
      create table skep_leaving (
        kind integer not null, id text not null, space text not null, primary key (kind, id, space)
      ) without rowid;`
