import { untilFree } from './locks.ts'
import { CLOCK, fixedPath, pins } from './plan-settings.ts'

/** One row for each schedule. Those that may come due are in one index, by their next slot. */
export function scheduleTables(schema: string): string {
  return `
create table ${schema}.schedules (
    next_at bigint,
    paused_at bigint,
    last_slot bigint,
    last_fired_at bigint,
    fired bigint not null default 0,
    skipped bigint not null default 0,
    created_at bigint not null,
    updated_at bigint not null,
    last_job_id uuid,
    dynamic boolean not null,
    space text collate "C" not null,
    id text collate "C" not null,
    revision text collate "C" not null,
    spec text not null,
    declared_by text collate "C",
    pause_reason text,
    paused_by text,
    primary key (space, id)
) with (autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.1);
create index schedules_due on ${schema}.schedules (space, dynamic, next_at, id)
    where next_at is not null and paused_at is null;
`
}

/**
 * put_schedules and resume_schedules: compare and swap, one schedule after the other. Each returns a JSON array of
 * ok, unchanged and refused. A row that two make at the same moment is refused for the second, who reads it and asks again.
 */
export function putSchedulesFunctions(schema: string): string {
  return `
create function ${schema}.put_schedules(drafts json, at bigint) returns text
language plpgsql ${fixedPath(schema)}
as $function$
declare
    t bigint := coalesce(at, ${CLOCK});
    d json;
    s schedules%rowtype;
    said text;
    results text[] := '{}';
begin
    for d in select x.value from json_array_elements(drafts) x loop
        select x.* into s from schedules x where x.space = d->>'space' and x.id = d->>'id' for update;
        if not found then
            said := 'refused';
            if d->>'expectRevision' is null then
                insert into schedules (space, id, revision, spec, dynamic, declared_by, next_at, created_at, updated_at)
                values (d->>'space', d->>'id', d->>'revision', d->>'spec', (d->>'dynamic')::boolean, d->>'declaredBy',
                    (d->>'nextAt')::bigint, t, t)
                on conflict do nothing;
                if found then
                    said := 'ok';
                end if;
            end if;
        elsif s.revision = d->>'revision' then
            said := 'ok';
        elsif s.spec = d->>'spec' and s.declared_by is not distinct from d->>'declaredBy'
            and s.dynamic = (d->>'dynamic')::boolean then
            said := 'unchanged';
        elsif s.revision = d->>'expectRevision' and s.next_at is not distinct from (d->>'expectNextAt')::bigint then
            update schedules x set revision = d->>'revision', spec = d->>'spec', dynamic = (d->>'dynamic')::boolean,
                declared_by = d->>'declaredBy', next_at = (d->>'nextAt')::bigint, updated_at = t
            where x.space = s.space and x.id = s.id;
            said := 'ok';
        else
            said := 'refused';
        end if;
        results := results || said;
    end loop;
    return array_to_json(results)::text;
end $function$;

create function ${schema}.resume_schedules(wanted json, at bigint) returns text
language plpgsql ${fixedPath(schema)}
as $function$
declare
    t bigint := coalesce(at, ${CLOCK});
    d json;
    s schedules%rowtype;
    said text;
    results text[] := '{}';
begin
    for d in select x.value from json_array_elements(wanted) x loop
        select x.* into s from schedules x where x.space = d->>'space' and x.id = d->>'id' for update;
        if not found then
            said := 'refused';
        elsif s.paused_at is null then
            said := 'unchanged';
        elsif s.revision = d->>'expectRevision' and s.next_at is not distinct from (d->>'expectNextAt')::bigint then
            update schedules x set next_at = (d->>'nextAt')::bigint, paused_at = null, pause_reason = null,
                paused_by = null, updated_at = t
            where x.space = s.space and x.id = s.id;
            said := 'ok';
        else
            said := 'refused';
        end if;
        results := results || said;
    end loop;
    return array_to_json(results)::text;
end $function$;
`
}

const ACTIVE =
  'x.space = in_space and x.next_at is not null and x.paused_at is null and not (x.id = any(left_out))'

/** due_schedules: JSON with the time now, the next slot to come, and the schedules that are due. */
export function dueSchedulesFunction(schema: string): string {
  return `
create function ${schema}.due_schedules(in_space text, most integer, known text[], left_out text[], at bigint)
returns text
language plpgsql ${pins(schema)}
as $function$
declare
    t bigint := coalesce(at, ${CLOCK});
    rows json[];
    others json[];
    next bigint;
begin
    rows := array(select to_json(x) from schedules x
        where ${ACTIVE} and x.dynamic = false and x.next_at <= t order by x.next_at, x.id limit most);
    next := (select x.next_at from schedules x
        where ${ACTIVE} and x.dynamic = false and x.next_at > t order by x.next_at, x.id limit 1);
    if cardinality(known) > 0 then
        others := array(select to_json(x) from schedules x
            where ${ACTIVE} and x.dynamic = true and x.next_at <= t and x.id = any(known)
            order by x.next_at, x.id limit most);
        rows := rows || others;
        next := least(next, (select x.next_at from schedules x
            where ${ACTIVE} and x.dynamic = true and x.next_at > t and x.id = any(known)
            order by x.next_at, x.id limit 1));
    end if;
    return json_build_object('now', t, 'next', next, 'rows', array_to_json(rows))::text;
end $function$;
`
}

/**
 * fire_schedules: each fire on its condition, then the jobs of all that were accepted. A schedule that somebody else
 * has just locked is left to them: nobody waits. Returns JSON: the time, and for each fire a refusal or
 * ["fired", whether its jobs were made, the id of the job it replaced, whether that one runs]; and what groups have
 * enqueued, see insert_given.
 */
export function fireSchedulesFunction(schema: string): string {
  return `
create function ${schema}.fire_schedules(fires json, at bigint) returns text
language plpgsql ${pins(schema)}
as $function$
declare
    busy text;
begin${untilFree('return fire_slots(fires, at);')}
end $function$;

create function ${schema}.fire_slots(fires json, at bigint) returns text
language plpgsql ${pins(schema)}
as $function$
#variable_conflict use_variable
declare
    t bigint := coalesce(at, ${CLOCK});
    f json;
    s schedules%rowtype;
    made integer;
    last_state smallint;
    is_skipped boolean;
    replaced uuid;
    said text;
    changed json;
    given record;
    jobs_of json[] := '{}';
    results json[] := '{}';
    enqueued json[];
begin
    perform prepare_given(array(
            select s.last_job_id from json_array_elements(fires) x, lateral (
                select y.last_job_id from schedules y where y.space = x.value ->> 'space' and y.id = x.value ->> 'id'
                for update skip locked) s
            where x.value ->> 'overlap' = 'replace' and s.last_job_id is not null),
        json_build_object('jobs', array_to_json(array(
            select j from json_array_elements(fires) x, json_array_elements(x.value -> 'jobs') as j))), t)
    where fires::text ~ '"unique":\\{|"overlap":"replace"';
    for f in select x.value from json_array_elements(fires) x loop
        select x.* into s from schedules x where x.space = f->>'space' and x.id = f->>'id' for update skip locked;
        if not found then
            results := results || json_build_array(case when exists (
                select 1 from schedules x where x.space = f->>'space' and x.id = f->>'id') then 'moved' else 'gone' end);
            continue;
        end if;
        said := case when s.revision <> f->>'revision' then 'changed'
            when s.next_at is distinct from (f->>'slot')::bigint then 'moved'
            when s.paused_at is not null then 'paused'
            when (f->>'upTo')::bigint > t then 'early' end;
        if said is not null then
            results := results || json_build_array(said);
            continue;
        end if;

        made := json_array_length(f->'jobs');
        replaced := null;
        is_skipped := false;
        last_state := null;
        if made > 0 and f->>'overlap' <> 'allow' then
            select x.state into last_state from jobs x where x.id = s.last_job_id and x.space = s.space;
        end if;
        if last_state is not null and f->>'overlap' = 'skip' then
            is_skipped := true;
        elsif last_state is not null then
            changed := change_jobs('cancel', s.space, array[s.last_job_id], null, f->>'failure', f->>'reason',
                (f->>'keepMs')::bigint, 0, null, 0, t);
            said := changed->0->0->>1;
            if json_typeof(changed->1) = 'array' then
                enqueued := enqueued || array(select x.value from json_array_elements(changed->1) x);
            end if;
            if said in ('ok', 'requested') then
                replaced := s.last_job_id;
            end if;
        end if;
        if made > 0 and not is_skipped then
            jobs_of := jobs_of || array(select x.value from json_array_elements(f->'jobs') x);
            update schedules x set next_at = (f->>'nextAt')::bigint, skipped = x.skipped + (f->>'skipped')::bigint,
                last_slot = (f->>'upTo')::bigint, last_fired_at = t, fired = x.fired + made,
                last_job_id = (f->'jobs'->(made - 1)->>'id')::uuid
            where x.space = s.space and x.id = s.id;
        else
            update schedules x set next_at = (f->>'nextAt')::bigint,
                skipped = x.skipped + (f->>'skipped')::bigint + is_skipped::integer
            where x.space = s.space and x.id = s.id;
        end if;
        results := results || json_build_array('fired', made > 0 and not is_skipped, replaced, said = 'requested');
    end loop;

    if cardinality(jobs_of) > 0 then
        select x.* into given from insert_given(array_to_json(jobs_of), null, null, t) x;
        if given.ended is not null then
            enqueued := enqueued || count_members(given.ended, null, t);
        end if;
        perform forget_keys(t);
    end if;
    return json_build_array(t, array_to_json(results), array_to_json(enqueued))::text;
end $function$;
`
}
