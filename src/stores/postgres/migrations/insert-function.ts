import { CLOCK, fixedPath, pins } from './pins.ts'

// One array for each column. An array of one element stands for a column in which all jobs are the same, an empty
// one for a column in which all are null: `unnest` fills the rest with nulls.
const INCOMING = `
        select u.n, u.id, u.payload, u.headers, u.overrides, u.run_at, u.key, u.scope, u.window_ms, u.conflict,
            coalesce(u.space, spaces[1]) as space,
            coalesce(u.queue, queues[1]) as queue,
            coalesce(u.priority, priorities[1]) as priority,
            coalesce(u.delay, delays[1]) as delay
        from unnest(ids, payloads, spaces, queues, priorities, delays, run_ats, headers, overrides,
                keys, scopes, windows, conflicts)
            with ordinality as u(id, payload, space, queue, priority, delay, run_at, headers, overrides,
                key, scope, window_ms, conflict, n)`

const due = (job: string): string => `greatest(t + ${job}.delay, coalesce(${job}.run_at, 0))`

/** Inserts `job`: an alias of INCOMING, or a record. */
const insert = (job: string): string => `insert into jobs
            (id, space, queue, state, payload, headers, priority, overrides, due_at, rank, enqueued_at,
             unique_key, unique_scope)
        select ${job}.id, ${job}.space, ${job}.queue, case when ${due(job)} > t then 0 else 1 end, ${job}.payload,
            ${job}.headers, ${job}.priority, ${job}.overrides, ${due(job)},
            ${due(job)} - ${job}.priority * 600000::bigint, t, ${job}.key, ${job}.scope`

/**
 * Whether the archive may hold a job with this id, or a higher one. An id begins with the moment it was made, and
 * nothing ends before that: for a fresh job only the newest days are looked into. If that moment is far from now, it
 * may be no moment at all, and all of the archive is.
 */
const mayBeArchived = (id: string): string => {
  const near = `abs(('x' || translate(left(${id}::text, 13), '-', ''))::bit(48)::bigint - t) < 600000`
  return `
    margin := case when ${near} then 3600000 else 9007199254740991 end;
    if exists (select 1 from archive a where a.id >= ${id}
        and a.finished_at >= t - margin and a.finished_at <= t + margin) then`
}

const COUNT_FRESH = `insert into deltas (space, queue, delayed, ready)
        select f.space, f.queue, count(*) filter (where f.state = 0), count(*) filter (where f.state = 1)
        from fresh f group by f.space, f.queue`

/** Inserts jobs of several queues, some of them delayed. */
const insertMixed = (onConflict: string): string => `
        with fresh as (
            ${insert('i')}
            from (${INCOMING}) i
            ${onConflict}
            returning jobs.space, jobs.queue, jobs.state
        ), counted as (
            ${COUNT_FRESH}
            returning deltas.delayed + deltas.ready as n
        )
        select coalesce(sum(c.n), 0) into inserted from counted c;`

/**
 * insert_jobs: inserts jobs in order. Returns the time of the insert, from which the caller can tell what became of each
 * job. If something was odd, a space and JSON follow: for each odd job [n, 0, state, due_at] (it was there before)
 * or [n, 1, id, action] (its key is held by another), with n counted from 1.
 *
 * `lowest` is the lowest of the ids. When nothing in the archive is as new as that, none of them can be there, which
 * is how fresh jobs, whose ids carry the time, are spared the search.
 *
 * `strict`: fail with a unique violation if an id is there already. The usual case is then a fifth cheaper, because
 * nothing has to be reserved before it is written; the caller sends it again without.
 *
 * `one_by_one`: ids occur twice in the batch, so each job has to see what the one before it did.
 */
export function insertFunction(schema: string): string {
  return `
create function ${schema}.insert_jobs(
    ids uuid[], payloads text[], spaces text[], queues text[], priorities smallint[], delays bigint[],
    run_ats bigint[], headers text[], overrides text[], keys text[], scopes smallint[], windows bigint[],
    conflicts smallint[], lowest uuid, strict boolean, again boolean, one_by_one boolean, at bigint)
returns text
language plpgsql ${pins(schema)}
as $function$
#variable_conflict use_variable
declare
    t bigint := coalesce(at, ${CLOCK});
    size integer := cardinality(ids);
    has_care boolean := again or cardinality(keys) > 0;
    is_uniform boolean := cardinality(spaces) = 1 and cardinality(queues) = 1 and cardinality(delays) = 1
        and cardinality(run_ats) = 0;
    inserted bigint;
    stale uuid[];
    odds json[];
    margin bigint;
begin
    if has_care then
        select * into inserted, odds from insert_with_care(ids, payloads, spaces, queues, priorities, delays,
            run_ats, headers, overrides, keys, scopes, windows, conflicts, again, one_by_one, t);
    elsif strict and is_uniform then
        ${insert('i')}
        from (${INCOMING}) i;
        inserted := size;
        insert into deltas (space, queue, delayed, ready)
        values (spaces[1], queues[1], case when delays[1] > 0 then size else 0 end,
            case when delays[1] > 0 then 0 else size end);
    elsif strict then ${insertMixed('')}
    else ${insertMixed('on conflict (id) do nothing')}
        if inserted < size then
            select array_agg(json_build_array(u.n, 0, j.state, j.due_at)) into odds
            from jobs j join unnest(ids) with ordinality u(id, n) on u.id = j.id where j.id = any(ids);
        end if;
    end if;

    -- Looked up after the insert, so that a job which ended while the insert waited for it is found.
${mayBeArchived('lowest')}
        select array_agg(a.id) into stale from archive a where a.id = any(ids);
        if stale is not null then
            with gone as (
                delete from jobs j where j.id = any(stale) returning j.space, j.queue, j.state
            )
            insert into deltas (space, queue, delayed, ready)
            select g.space, g.queue, -count(*) filter (where g.state = 0), -count(*) filter (where g.state = 1)
            from gone g group by g.space, g.queue;
        end if;
    end if;
    if stale is not null or (inserted < size and not has_care) then
        odds := odds || (
            select array_agg(json_build_array(u.n, 0, a.state, a.due_at))
            from archive a join unnest(ids) with ordinality u(id, n) on u.id = a.id where a.id = any(ids));
    end if;
    return concat_ws(' ', t, array_to_json(odds));
end $function$;

-- The same for a single job, strict and in the fewest steps: most calls that are not under load bring one job.
create function ${schema}.insert_job(
    id uuid, payload text, space text, queue text, priority smallint, delay bigint, run_at bigint, headers text,
    overrides text, at bigint)
returns text
language plpgsql ${fixedPath(schema)}
    set enable_seqscan = off
    set enable_bitmapscan = off
    set plan_cache_mode = force_generic_plan
as $function$
#variable_conflict use_variable
declare
    t bigint := coalesce(at, ${CLOCK});
    due bigint := greatest(t + delay, coalesce(run_at, 0));
    margin bigint;
    there record;
begin
    insert into jobs (id, space, queue, state, payload, headers, priority, overrides, due_at, rank, enqueued_at)
    values (id, space, queue, case when due > t then 0 else 1 end, payload, headers, priority, overrides, due,
        due - priority * 600000::bigint, t);
    insert into deltas (space, queue, delayed, ready)
    values (space, queue, case when due > t then 1 else 0 end, case when due > t then 0 else 1 end);
${mayBeArchived('id')}
        select a.state, a.due_at into there from archive a where a.id = id;
        if found then
            delete from jobs j where j.id = id;
            insert into deltas (space, queue, delayed, ready)
            values (space, queue, case when due > t then -1 else 0 end, case when due > t then 0 else -1 end);
            return concat_ws(' ', t, json_build_array(json_build_array(1, 0, there.state, there.due_at)));
        end if;
    end if;
    return t::text;
end $function$;
`
}

/**
 * insert_with_care: what jobs with unique keys and jobs sent again need. Keys are taken for all jobs in one statement,
 * in the order of the keys, so that two batches with the same keys wait for each other and do not deadlock. What
 * is left, in order, are the losers: their rule is applied to the job that holds the key.
 */
export function insertWithCareFunction(schema: string): string {
  return `
create function ${schema}.insert_with_care(
    ids uuid[], payloads text[], spaces text[], queues text[], priorities smallint[], delays bigint[],
    run_ats bigint[], headers text[], overrides text[], keys text[], scopes smallint[], windows bigint[],
    conflicts smallint[], again boolean, one_by_one boolean, t bigint,
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
        -- Waits for a settle that is just removing one of them; what it removed is looked up afterwards.
        perform 1 from jobs j where j.id = any(ids) for update;
        select coalesce(array_agg(x.id), '{}') into forgotten
        from discarded d, unnest(d.ids) as x(id) where x.id = any(ids);
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
            returning jobs.id, jobs.space, jobs.queue, jobs.state
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
                        rank = case when timed then ${due('job')} else j.due_at end - job.priority * 600000::bigint,
                        state = case when not timed then j.state when ${due('job')} > t then 0 else 1 end
                    where j.id = holder and j.state in (0, 1)
                    returning j.space, j.queue, j.state as after
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
            returning jobs.space, jobs.queue, jobs.state
        )
        ${COUNT_FRESH};
        inserted := inserted + 1;
    end loop;
end $function$;
`
}
