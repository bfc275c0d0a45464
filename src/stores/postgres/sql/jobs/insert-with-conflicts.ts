import { HIGHEST_RANK } from '../lanes/rules.ts'
import { BUSY } from '../locks.ts'
import { pins, secondOf } from '../plan-settings.ts'
import { COUNT_FRESH, due, INCOMING, insert, TELL_FRESH } from './insert-counts.ts'

/**
 * insert_with_care: what jobs with unique keys and jobs sent again need. Keys are taken for all jobs in one statement,
 * in the order of the keys, so that two batches with the same keys wait for each other and do not deadlock. A key that
 * somebody is just letting go of is held: nobody waits for that, see `lock-functions.ts`. What
 * is left, in order, are the losers: their rule is applied to the job that holds the key. It may turn out late that a job or a
 * key has to be locked before others; then it raises BUSY, and the caller begins anew.
 */
export function insertWithCareFunction(schema: string): string {
  return `
create function ${schema}.insert_with_care(
    ids uuid[], payloads text[], spaces text[], queues text[], priorities integer[], delays bigint[],
    run_ats bigint[], headers text[], overrides text[], keys text[], scopes smallint[], windows bigint[],
    conflicts smallint[], lanes text[], costs integer[], stricts boolean[], of_groups uuid[], nths integer[],
    again boolean, one_by_one boolean, prepared boolean, t bigint,
    out inserted bigint, out odds json[])
language plpgsql ${pins(schema)}
as $function$
#variable_conflict use_variable
declare
    known text[];
    forgotten text[] := '{}';
    winners uuid[] := '{}';
    is_reserved boolean := prepared;
    is_late boolean;
    spots tid[];
    heirs uuid[];
    untils bigint[];
    job record;
    found_state smallint;
    found_due bigint;
    holder uuid;
    action integer;
    timed boolean;
    before smallint;
    due_before bigint;
begin
    inserted := 0;
    if again then
        -- Jobs go from jobs to the archive and from there, or at once, to the forgotten. Looked for in this order none
        -- is missed, whoever moves it meanwhile; the first look waits for those who are just moving one.
        perform lock_jobs(ids, spaces);
        forgotten := array(select a.id || a.space from archive a where a.id = any(ids));
        forgotten := forgotten || array(
            select x.id || d.space from discarded d, unnest(d.ids) as x(id), (${INCOMING}) i
            where x.id = any(ids) and i.id = x.id and i.space = d.space and i.queue = d.queue);
    end if;

    if one_by_one and not prepared then
        perform prepare(null, null, null, array_agg(i.space), array_agg(i.queue), array_agg(i.key),
            array_agg(i.conflict), t) from (${INCOMING}) i;
    elsif not prepared and (select max(x.c) from unnest(conflicts) as x(c)) > 0 then
        -- The jobs that may be replaced, before the keys.
        perform lock_waiting(null, array(
            select h.job_id from (${INCOMING}) i, lateral (
                select u.job_id from uniques u where u.space = i.space and u.queue = i.queue and u.key = i.key limit 1) h
            where i.conflict > 0), spaces);
    end if;
    if not one_by_one then
        select coalesce(array_agg(k.id || k.space), '{}') into known from (
            select j.id, j.space from jobs j where j.id = any(ids)
            union all select a.id, a.space from archive a where a.id = any(ids)
        ) k;
        loop
            with wanted as materialized (
                select distinct on (i.space, i.queue, i.key) i.space, i.queue, i.key, i.id,
                    case when i.scope = 2 then t + i.window_ms end as until
                from (${INCOMING}) i
                where i.key is not null and not (i.id || i.space = any(known) or i.id || i.space = any(forgotten))
                order by i.space, i.queue, i.key, i.n
            ), looked as materialized (
                select w.*, u.spot, u.until <= t as is_over
                from wanted w left join lateral (
                    select x.ctid as spot, x.until from uniques x
                    where x.space = w.space and x.queue = w.queue and x.key = w.key limit 1) u on true
            ), won as (
                insert into uniques (space, queue, key, job_id, until)
                select l.space, l.queue, l.key, l.id, l.until from looked l
                where l.spot is null and not prepared
                    and (is_reserved or not exists (select 1 from looked o where o.is_over))
                on conflict on constraint uniques_pkey do nothing
                returning uniques.job_id
            )
            select array(select w.job_id from won w), array_agg(l.spot) filter (where l.is_over),
                array_agg(l.id) filter (where l.is_over), array_agg(l.until) filter (where l.is_over),
                prepared and bool_or(l.spot is null)
            into winners, spots, heirs, untils, is_late from looked l;
            if is_late then
                -- Somebody has let go of a key since.
                raise sqlstate '${BUSY}' using message = '{}';
            end if;
            exit when spots is null;
            if is_reserved then
                update uniques u set job_id = v.id, until = v.until
                from unnest(spots, heirs, untils) as v(spot, id, until) where u.ctid = any(spots) and v.spot = u.ctid;
                winners := winners || heirs;
                exit;
            end if;
            -- Those whose time is over are locked in one order with the others.
            perform reserve_keys(array_agg(i.space), array_agg(i.queue), array_agg(i.key), null, t) from (${INCOMING}) i;
            is_reserved := true;
        end loop;

        with fresh as (
            ${insert('i')}
            from (${INCOMING}) i
            where (i.key is null or i.id = any(winners)) and not (i.id || i.space = any(known) or i.id || i.space = any(forgotten))
            on conflict (id, space) do nothing
            returning jobs.id, jobs.space, jobs.queue, jobs.state, jobs.due_at, jobs.lane, jobs.rank
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
        select j.state, j.due_at into found_state, found_due from jobs j
        where j.id = job.id and j.space = job.space;
        if not found then
            select a.state, a.due_at into found_state, found_due from archive a
            where a.id = job.id and a.space || '' = job.space;
        end if;
        if not found and job.id || job.space = any(forgotten) then
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
            select u.job_id into holder from uniques u
            where u.space = job.space and u.queue = job.queue and u.key = job.key and (u.until is null or u.until > t);
            exit when found;
            -- It is reserved, or its time is over.
            update uniques u set job_id = job.id, until = case when job.scope = 2 then t + job.window_ms end
            where u.ctid = any(array(select x.ctid from uniques x where x.space = job.space and x.queue = job.queue
                and x.key = job.key and x.until <= t for update skip locked));
            exit when found;
            -- Somebody has let go of it since. It is taken before others, or not now.
            raise sqlstate '${BUSY}' using message = '{}';
        end loop;

        if holder is not null then
            action := 0;
            if job.conflict > 0 then
                -- \`postpone\` without a delay changes the payload and leaves the time as it is.
                timed := job.conflict = 1 or job.delay > 0 or job.run_at is not null;
                select j.state, j.due_at into before, due_before from jobs j
                where j.id = holder and j.space = job.space and j.state in (0, 1) for update skip locked;
                -- If it is prepared: it was running then, or we have it.
                if not found and not prepared and exists (
                    select 1 from jobs j where j.id = holder and j.space = job.space and j.state in (0, 1)) then
                    raise sqlstate '${BUSY}' using message = array[holder]::text;
                end if;
                with moved as (
                    update jobs j set payload = job.payload, headers = job.headers, priority = job.priority,
                        overrides = job.overrides,
                        -- What failed was the old content.
                        errors = 0, timeouts = 0, lost = 0, snoozes = 0, failure = null,
                        due_at = case when timed then ${due('job')} else j.due_at end,
                        rank = case when j.is_strict then j.rank
                            else case when timed then ${due('job')} else j.due_at end - job.priority * 600000::bigint end,
                        state = case when not timed then j.state when ${due('job')} > t then 0 else 1 end
                    where before is not null and j.id = holder and j.space = job.space and j.state in (0, 1)
                    returning j.space, j.queue, j.state as after, j.due_at, j.lane, j.rank, j.is_strict
                ), told as (
                    insert into news (space, queue, lane, rank)
                    select m.space, m.queue, coalesce(m.lane, ''), case when m.after = 1 then m.rank else ${HIGHEST_RANK} end
                    from moved m
                    where (m.lane is not null and (m.after = 1 or m.is_strict)) or (m.is_strict and exists (
                        select 1 from lines l where l.space = m.space and l.queue = m.queue))
                )
                insert into deltas (space, queue, delayed, ready, due_second)
                select m.space, m.queue, x.by * (x.state = 0)::integer, x.by * (x.state = 1)::integer,
                    case when x.state = 0 then ${secondOf('x.due_at')} end
                from moved m, lateral (values (-1, before, due_before), (1, m.after, m.due_at)) as x(by, state, due_at);
                if found then
                    action := job.conflict;
                end if;
            end if;
            odds := odds || json_build_array(job.n, 1, holder, action);
            continue;
        end if;

        with fresh as (
            ${insert('job')}
            on conflict (id, space) do nothing
            returning jobs.space, jobs.queue, jobs.state, jobs.due_at, jobs.lane, jobs.rank
        ), told as (
            ${TELL_FRESH}
        )
        ${COUNT_FRESH};
        inserted := inserted + 1;
    end loop;
    if not prepared and (is_reserved or one_by_one) then
        perform forget_keys(t);
    end if;
end $function$;
`
}
