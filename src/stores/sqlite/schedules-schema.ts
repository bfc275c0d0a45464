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
