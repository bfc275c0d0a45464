import { COUNT_FRESH, due, INCOMING, insert, TELL_FRESH } from './incoming.ts'
import { HIGHEST_RANK } from './lane-rules.ts'
import { pins } from './pins.ts'

/**
 * insert_with_care: what jobs with unique keys and jobs sent again need. Keys are taken for all jobs in one statement,
 * in the order of the keys, so that two batches with the same keys wait for each other and do not deadlock. What
 * is left, in order, are the losers: their rule is applied to the job that holds the key.
 */
export function insertWithCareFunction(schema: string): string {
  return `
create function ${schema}.insert_with_care(
    ids uuid[], payloads text[], spaces text[], queues text[], priorities integer[], delays bigint[],
    run_ats bigint[], headers text[], overrides text[], keys text[], scopes smallint[], windows bigint[],
    conflicts smallint[], lanes text[], costs integer[], stricts boolean[], of_groups uuid[], nths integer[],
    again boolean, one_by_one boolean, t bigint,
    out inserted bigint, out odds json[])
language plpgsql ${pins(schema)}
as $function$
#variable_conflict use_variable
declare
    known uuid[];
    forgotten uuid[] := '{}';
    winners uuid[] := '{}';
    job record;
    found_state smallint;
    found_due bigint;
    holder uuid;
    action integer;
    timed boolean;
    before smallint;
begin
    inserted := 0;
    if again then
        -- Jobs go from jobs to the archive and from there, or at once, to the forgotten. Looked for in this order none
        -- is missed, whoever moves it meanwhile; the first look waits for those who are just moving one.
        perform 1 from jobs j where j.id = any(ids) for update;
        forgotten := array(select a.id from archive a where a.id = any(ids));
        forgotten := forgotten || array(
            select x.id from discarded d, unnest(d.ids) as x(id) where x.id = any(ids));
    end if;

    if not one_by_one then
        select coalesce(array_agg(k.id), '{}') into known from (
            select j.id from jobs j where j.id = any(ids)
            union all select a.id from archive a where a.id = any(ids)
        ) k;
        with won as (
            insert into uniques (space, queue, key, job_id, until)
            select w.space, w.queue, w.key, w.id, case when w.scope = 2 then t + w.window_ms end
            from (
                select distinct on (i.space, i.queue, i.key) i.*
                from (${INCOMING}) i
                where i.key is not null and not (i.id = any(known) or i.id = any(forgotten))
                order by i.space, i.queue, i.key, i.n
            ) w
            order by w.space, w.queue, w.key
            on conflict on constraint uniques_pkey do update set job_id = excluded.job_id, until = excluded.until
                where uniques.until <= t
            returning uniques.job_id
        )
        select coalesce(array_agg(w.job_id), '{}') into winners from won w;

        with fresh as (
            ${insert('i')}
            from (${INCOMING}) i
            where (i.key is null or i.id = any(winners)) and not (i.id = any(known) or i.id = any(forgotten))
            on conflict (id) do nothing
            returning jobs.id, jobs.space, jobs.queue, jobs.state, jobs.lane, jobs.rank
        ), told as (
            ${TELL_FRESH}
        ), counted as (
            ${COUNT_FRESH}
        )
        select count(*), coalesce(array_agg(f.id), '{}') into inserted, winners from fresh f;
    end if;

    for job in
        select x.* from (${INCOMING}) x where not (x.id = any(winners)) order by x.n
    loop
        select j.state, j.due_at into found_state, found_due from jobs j where j.id = job.id;
        if not found then
            select a.state, a.due_at into found_state, found_due from archive a where a.id = job.id;
        end if;
        if not found and job.id = any(forgotten) then
            found_state := 3;
            found_due := t;
        elsif not found then
            found_state := null;
        end if;
        if found_state is not null then
            odds := odds || json_build_array(job.n, 0, found_state, found_due);
            continue;
        end if;

        holder := null;
        while job.key is not null loop
            insert into uniques (space, queue, key, job_id, until)
            values (job.space, job.queue, job.key, job.id, case when job.scope = 2 then t + job.window_ms end)
            on conflict on constraint uniques_pkey do update set job_id = excluded.job_id, until = excluded.until
                where uniques.until <= t;
            exit when found;
            select u.job_id into holder from uniques u
            where u.space = job.space and u.queue = job.queue and u.key = job.key;
            exit when found;
            -- It was given up in between: try again.
        end loop;

        if holder is not null then
            action := 0;
            if job.conflict > 0 then
                -- \`postpone\` without a delay changes the payload and leaves the time as it is.
                timed := job.conflict = 1 or job.delay > 0 or job.run_at is not null;
                select j.state into before from jobs j where j.id = holder and j.state in (0, 1) for update;
                with moved as (
                    update jobs j set payload = job.payload, headers = job.headers, priority = job.priority,
                        overrides = job.overrides,
                        due_at = case when timed then ${due('job')} else j.due_at end,
                        rank = case when j.is_strict then j.rank
                            else case when timed then ${due('job')} else j.due_at end - job.priority * 600000::bigint end,
                        state = case when not timed then j.state when ${due('job')} > t then 0 else 1 end
                    where j.id = holder and j.state in (0, 1)
                    returning j.space, j.queue, j.state as after, j.lane, j.rank, j.is_strict
                ), told as (
                    insert into news (space, queue, lane, rank)
                    select m.space, m.queue, coalesce(m.lane, ''), case when m.after = 1 then m.rank else ${HIGHEST_RANK} end
                    from moved m
                    where (m.lane is not null and (m.after = 1 or m.is_strict)) or (m.is_strict and exists (
                        select 1 from lines l where l.space = m.space and l.queue = m.queue))
                )
                insert into deltas (space, queue, delayed, ready)
                select m.space, m.queue, (m.after = 0)::integer - (before = 0)::integer,
                    (m.after = 1)::integer - (before = 1)::integer
                from moved m;
                if found then
                    action := job.conflict;
                end if;
            end if;
            odds := odds || json_build_array(job.n, 1, holder, action);
            continue;
        end if;

        with fresh as (
            ${insert('job')}
            on conflict (id) do nothing
            returning jobs.space, jobs.queue, jobs.state, jobs.lane, jobs.rank
        ), told as (
            ${TELL_FRESH}
        )
        ${COUNT_FRESH};
        inserted := inserted + 1;
    end loop;
end $function$;
`
}
