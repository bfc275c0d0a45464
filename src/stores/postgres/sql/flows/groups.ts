import { UNMADE_MS } from '../../../../core/flows/groups.ts'
import { AUDIT_OUTCOMES } from '../../../../store/flows.ts'
import { BUSY, untilFree, withTouched } from '../locks.ts'
import { CLOCK, flowPins } from '../plan-settings.ts'

/**
 * The events that are true of a group, as bits: 1 success, 2 failure, 4 settled. `group` has its size, need and rule;
 * `done` and `failed` are its counts.
 */
export function trueEvents(group: string, done: string, failed: string): string {
  return `((${done} >= ${group}.need)::integer
            + 2 * (${done} < ${group}.need and case ${group}.failing when 0 then ${failed} > 0
                when 1 then ${group}.size - ${failed} < ${group}.need else ${done} + ${failed} = ${group}.size end)::integer
            + 4 * (${done} + ${failed} = ${group}.size)::integer)::smallint`
}

/** The jobs that were put down for the events in `bits`. */
export function jobsFor(group: string, bits: string): string {
  return `cross join lateral (values (1, ${group}.jobs::json -> 'success'), (2, ${group}.jobs::json -> 'failure'),
            (4, ${group}.jobs::json -> 'settled')) as f(event, job)
        where ${bits} & f.event > 0 and f.job is not null`
}

/** Everybody locks groups in this order, so that two who end members of the same groups wait in a row, not in a circle. */
const LOCK = `from groups g where g.id = any(array${withTouched('concerned')}) order by g.id for no key update`

/** So many members of a group that a call finds done are one row, if there is not too much in it. */
const SHEET_LEAST = 8
const SHEET_BYTES = 65_536
/** Of a larger group there would be too many to look through, for members that had an outcome. */
const SHEET_GROUP = 1_000

const LOCK_THEM = `select array_agg(g.id), array_agg(g.fired), bool_or(g.size between ${SHEET_LEAST} and ${SHEET_GROUP})
                into known, fired_before, has_sheets from (select g.id, g.fired, g.size ${LOCK}) g;`

/**
 * count_members: counts members that have ended, or not any more, and enqueues what is due: the jobs of the events
 * that became true, and `due`, those that the caller knows of. Returns what it enqueued, each as insert_given says it.
 *
 * The rows of the groups are locked first, so that of two transactions that end the last two members the second sees
 * what the first did. What is enqueued may itself end a member, if its unique key is held: so it goes on until nothing is
 * due. The groups of such members are locked with the others, and their keys taken in one order.
 */
export function countMembersFunction(schema: string): string {
  return `
create function ${schema}.count_members(ended ${schema}.outcomes[], due json[], t bigint) returns json[]
language plpgsql ${flowPins(schema)}
as $function$
declare
    busy text;
begin${untilFree('return count_and_fire(ended, due, false, t);')}
end $function$;

create function ${schema}.count_and_fire(ended ${schema}.outcomes[], due json[], prepared boolean, t bigint)
returns json[]
language plpgsql ${flowPins(schema)}
as $function$
#variable_conflict use_column
declare
    words outcomes[] := ended;
    jobs_due json[] := due;
    concerned uuid[];
    -- The groups that are locked, and which of their events had fired.
    known uuid[];
    fired_before smallint[];
    -- By how much the counts of groups change.
    changed uuid[];
    more_done bigint[];
    more_failed bigint[];
    heard bigint;
    -- Some of the groups may have sheets; and what does not go on one.
    has_sheets boolean;
    apart outcomes[];
    is_first boolean := true;
    is_reserved boolean := false;
    holders uuid[];
    fires json[];
    given record;
    enqueued json[];
begin
    loop
        if words is not null then
            concerned := array(select distinct e.group_id from unnest(words) as e);
            ${LOCK_THEM}
            if not (concerned <@ coalesce(known, '{}')) then
                insert into groups (id, created_at, expires_at)
                select distinct e.group_id, t, t + ${UNMADE_MS} from unnest(words) as e where e.state is not null
                order by e.group_id
                on conflict do nothing;
                ${LOCK_THEM}
            end if;

            changed := null;
            more_done := null;
            more_failed := null;
            apart := words;
            if has_sheets and cardinality(words) >= ${SHEET_LEAST} * cardinality(concerned) then
                select s.changed, s.done, s.failed into changed, more_done, more_failed from write_sheets(words) s;
                if changed is not null then
                    apart := array(select e from unnest(words) as e where not (e.group_id = any(changed)));
                end if;
            end if;

            if cardinality(apart) > 0 then
                if has_sheets then
                    perform spread_sheets(apart);
                end if;
                -- Nearly always all of them are about members that had no outcome.
                with fresh as (
                    insert into outcomes (group_id, nth, id, state, result, failure)
                    select e.group_id, e.nth, e.id, e.state, e.result, e.failure from unnest(apart) as e where e.state is not null
                    on conflict (group_id, nth) do nothing
                    returning outcomes.group_id, outcomes.state
                )
                select changed || array_agg(c.group_id), more_done || array_agg(c.done), more_failed || array_agg(c.failed),
                    coalesce(sum(c.done + c.failed), 0)
                into changed, more_done, more_failed, heard
                from (
                    select f.group_id, count(*) filter (where f.state = 3) as done, count(*) filter (where f.state <> 3) as failed
                    from fresh f group by f.group_id
                ) c;
            end if;
            if cardinality(apart) > 0 and heard < cardinality(apart) then
                -- The last word about a member counts, against what is there by now. One that was done begins again without
                -- a change, and stays done when the group has succeeded, see staysDone in core/groups.ts.
                with word as (
                    select distinct on (e.group_id, e.nth) e.group_id, e.nth, e.id, e.state, e.result, e.failure
                    from unnest(apart) with ordinality as e(group_id, nth, id, state, result, failure, place)
                    order by e.group_id, e.nth, e.place desc
                ), heeded as (
                    select w.*, o.state as was
                    from word w left join lateral (
                            select x.state from outcomes x where x.group_id = w.group_id and x.nth = w.nth limit 1
                        ) o on true
                        left join lateral (
                            select true as has_succeeded from groups g
                            where g.id = w.group_id and g.need > 0 and g.fired & 1 > 0 limit 1) g on true
                    where o.state is distinct from 3 or w.state is not distinct from 3
                        or (w.state is not null and g.has_succeeded is null)
                ), change as (
                    select w.group_id,
                        sum((w.state is not distinct from 3)::integer - (w.was is not distinct from 3)::integer) as done,
                        sum((coalesce(w.state, 3) <> 3)::integer - (coalesce(w.was, 3) <> 3)::integer) as failed
                    from heeded w
                    group by w.group_id
                ), kept as (
                    insert into outcomes (group_id, nth, id, state, result, failure)
                    select w.group_id, w.nth, w.id, w.state, w.result, w.failure from heeded w where w.state is not null
                    on conflict (group_id, nth) do update
                        set id = excluded.id, state = excluded.state, result = excluded.result, failure = excluded.failure
                )
                select changed || array_agg(c.group_id), more_done || array_agg(c.done), more_failed || array_agg(c.failed)
                into changed, more_done, more_failed from change c;
                perform reopen_members(apart);
            end if;

            with change as (
                select c.group_id, sum(c.done)::integer as done, sum(c.failed)::integer as failed
                from unnest(changed, more_done, more_failed) as c(group_id, done, failed) group by c.group_id
            ), counted as (
                update groups g set done = g.done + c.done, failed = g.failed + c.failed,
                    ended_at = case when g.done + c.done + g.failed + c.failed = g.size then coalesce(g.ended_at, t) end,
                    expires_at = case when g.size is null then g.expires_at
                        when g.done + c.done + g.failed + c.failed = g.size and g.run is null
                        then coalesce(g.ended_at, t) + g.keep_ms end,
                    fired = g.fired | coalesce(${trueEvents('g', '(g.done + c.done)', '(g.failed + c.failed)')}, 0::smallint)
                from change c join unnest(known, fired_before) as k(id, fired) on k.id = c.group_id
                where g.id = any(concerned) and g.id = c.group_id
                returning g.id, g.jobs, g.fired & ~k.fired as fresh
            )
            select array_agg(f.job order by c.id, f.event) into fires
            from (select * from counted where fresh > 0 and jobs <> '{}') c ${jobsFor('c', 'c.fresh')};
            jobs_due := jobs_due || fires;
        end if;
        exit when jobs_due is null;
        if is_first and not prepared and (exists (select 1 from unnest(jobs_due) as j where j -> 'unique' ->> 'key' is not null)
            or cardinality(known) > cardinality(concerned)) then
            perform reserve_keys(array_agg(j ->> 'space'), array_agg(j ->> 'queue'), array_agg(j -> 'unique' ->> 'key'),
                case when cardinality(known) > cardinality(concerned) then known end, t)
            from unnest(jobs_due) as j;
            is_reserved := true;
        end if;
        is_first := false;
        holders := array(
            select h.job_id from unnest(jobs_due) as j, lateral (
                select u.job_id from uniques u where u.space = j ->> 'space' and u.queue = j ->> 'queue'
                    and u.key = j -> 'unique' ->> 'key' limit 1) h
            where j -> 'unique' ->> 'onConflict' <> 'ignore');
        if cardinality(holders) > 0 and exists (select 1 from (
                select x.id from jobs x where x.id = any(holders) and x.state in (0, 1)) w
            where not (w.id = any(array(
                select x.id from jobs x where x.id = any(holders) and x.state in (0, 1) for update skip locked)))) then
            raise sqlstate '${BUSY}' using message = holders::text;
        end if;
        select g.* into given from insert_given(array_to_json(jobs_due), null, null, t) g;
        enqueued := enqueued || given.enqueued;
        words := given.ended;
        jobs_due := null;
        exit when words is null;
    end loop;
    if is_reserved then
        perform forget_keys(t);
    end if;
    return enqueued;
end $function$;

-- Writes down members that are done, one row for each group, if that is all that is said of the group and none of them had an
-- outcome. Returns the groups, and by how much their counts change.
create function ${schema}.write_sheets(words ${schema}.outcomes[], out changed uuid[], out done bigint[], out failed bigint[])
language plpgsql ${flowPins(schema)}
as $function$
begin
    with sheet as (
        select e.group_id, max(e.nth) as high, array_agg(e.nth) as nths, array_agg(e.id) as ids, array_agg(e.result) as results
        from unnest(words) as e
        group by e.group_id
        having count(*) >= ${SHEET_LEAST} and bool_and(e.state is not distinct from 3)
            and count(distinct e.nth) = count(*) and bool_and(e.id is not null)
            and coalesce(sum(octet_length(e.result)), 0) <= ${SHEET_BYTES}
            and coalesce(bool_and(strpos(e.result, chr(30)) = 0 and strpos(e.result, chr(31)) = 0), true)
    ), put as (
        insert into sheets (group_id, high, nths, ids, results)
        select s.group_id, s.high, s.nths, s.ids, s.results
        from sheet s cross join lateral (
                select true from groups g where g.id = s.group_id and g.size between 0 and ${SHEET_GROUP} limit 1) g
            left join lateral (
                select true as is_there from sheets o where o.group_id = s.group_id and o.nths && s.nths limit 1) o on true
            left join lateral (select true as has_some from outcomes p where p.group_id = s.group_id limit 1) p on true
            left join lateral (
                select true as is_there from outcomes y
                where p.has_some and y.group_id = s.group_id and y.nth = any(s.nths) limit 1) y on true
        where o.is_there is null and y.is_there is null
        returning sheets.group_id, cardinality(sheets.nths) as n
    )
    select array_agg(p.group_id), array_agg(p.n), array_agg(0) into changed, done, failed from put p;
end $function$;

-- What is on a sheet is to be changed: all of that group become outcomes of their own.
create function ${schema}.spread_sheets(words ${schema}.outcomes[]) returns void
language plpgsql ${flowPins(schema)}
as $function$
declare
    concerned uuid[] := array(
        select distinct e.group_id from unnest(words) as e, lateral (
            select true from sheets s where s.group_id = e.group_id and e.nth = any(s.nths) limit 1) s);
begin
    if cardinality(concerned) > 0 then
        with spread as (
            delete from sheets s where s.group_id = any(concerned) returning s.group_id, s.nths, s.ids, s.results
        )
        insert into outcomes (group_id, nth, id, state, result)
        select s.group_id, u.nth, u.id, 3, u.result from spread s, unnest(s.nths, s.ids, s.results) as u(nth, id, result);
    end if;
end $function$;

-- Takes back the outcomes of members of which the last word is that they have not ended any more.
create function ${schema}.reopen_members(words ${schema}.outcomes[]) returns void
language plpgsql ${flowPins(schema)}
as $function$
declare
    w record;
begin
    for w in
        select distinct on (e.group_id, e.nth) e.group_id, e.nth, e.state
        from unnest(words) with ordinality as e(group_id, nth, id, state, result, failure, place)
        order by e.group_id, e.nth, e.place desc
    loop
        if w.state is null then
            delete from outcomes o where o.group_id = w.group_id and o.nth = w.nth and o.state <> 3;
        end if;
    end loop;
end $function$;
`
}

/**
 * make_groups: makes those that are not there, and returns the jobs that are due at once: of a group that needs nobody, or
 * of whose members somebody told before.
 */
export function makeGroupsFunction(schema: string): string {
  return `
create function ${schema}.make_groups(made json, t bigint) returns json[]
language plpgsql ${flowPins(schema)}
as $function$
#variable_conflict use_column
declare
    due json[];
begin
    with fresh as (
        select n.id, n.space, n.run, n.size, n.need, n.failing, n.jobs::text as jobs, n."keepMs" as keep_ms, case when strpos(n.jobs::text, '"unique":{') > 0 then (
            select array_agg((f.job -> 'member' ->> 'group')::uuid) from json_each(n.jobs) as f(event, job)
            where f.job -> 'unique' ->> 'key' is not null and f.job -> 'member' ->> 'group' is not null) end as touches
        from json_to_recordset(made) as n(id uuid, space text, run uuid, size integer, need integer, failing smallint,
            jobs json, "keepMs" bigint)
    ), put as (
        insert into groups as g (id, space, run, size, need, failing, jobs, touches, keep_ms, created_at, fired, ended_at, expires_at)
        select n.id, n.space, n.run, n.size, n.need, n.failing, n.jobs, n.touches, n.keep_ms, t, ${trueEvents('n', '0', '0')},
            case when n.size = 0 then t end, case when n.size = 0 and n.run is null then t + n.keep_ms end
        from fresh n order by n.id
        on conflict (id) do update set space = excluded.space, run = excluded.run, size = excluded.size,
            need = excluded.need, failing = excluded.failing, jobs = excluded.jobs, touches = excluded.touches, keep_ms = excluded.keep_ms,
            created_at = t, fired = ${trueEvents('excluded', 'g.done', 'g.failed')},
            ended_at = case when g.done + g.failed = excluded.size then t end,
            expires_at = case when g.done + g.failed = excluded.size and excluded.run is null
                then t + excluded.keep_ms end
            where g.size is null
        returning g.id, g.jobs, g.fired
    )
    select array_agg(f.job order by p.id, f.event) into due
    from (select * from put where fired > 0) p ${jobsFor('p', 'p.fired')};
    return due;
end $function$;
`
}

/** tell_member: a member outside has ended. Returns JSON: ok or told, and what was enqueued. */
export function tellFunction(schema: string): string {
  return `
create function ${schema}.tell_member(in_space text, of_group uuid, n integer, said text, at bigint,
    inside boolean default false) returns text
language plpgsql ${flowPins(schema)}
as $function$
declare
    t bigint := coalesce(at, ${CLOCK});
    found_space text;
    busy text;
begin
    if not inside then ${untilFree('return tell_member(in_space, of_group, n, said, at, true);')}
    end if;
    for tries in 1..2 loop
        exit when of_group = any(lock_groups(array[of_group]));
        insert into groups (id, created_at, expires_at) values (of_group, t, t + ${UNMADE_MS}) on conflict do nothing;
    end loop;
    select g.space into found_space from groups g where g.id = of_group;
    if found_space <> in_space or exists (select 1 from outcomes o where o.group_id = of_group and o.nth = n)
        or exists (select 1 from sheets s where s.group_id = of_group and n = any(s.nths)) then
        return json_build_array('told', null)::text;
    end if;
    return json_build_array('ok', array_to_json(
        count_and_fire(array[row(of_group, n, null, 3, said, null)::outcomes], null, false, t)))::text;
end $function$;
`
}

/**
 * audit_groups: compares a page of open groups with their outcomes and mends those that are wrong. Returns JSON: the mended
 * ones as [space, id, what], what was enqueued, and the last id if there are more. One that somebody just counts is passed over.
 */
export function auditFunction(schema: string): string {
  const states = (group: string): string => `lateral (
                select (count(*) filter (where o.state = 3))::integer as done,
                    (count(*) filter (where o.state <> 3))::integer as failed
                from every_outcome o where o.group_id = ${group}) o`
  return `
create function ${schema}.audit_groups(most integer, beyond uuid, at bigint) returns text
language plpgsql ${flowPins(schema)}
as $function$
#variable_conflict use_column
declare
    t bigint := coalesce(at, ${CLOCK});
    page uuid[];
    wrong uuid[];
    g groups%rowtype;
    fires json[];
    jobs_due json[];
    mended json[];
    is_last boolean;
    is_miscounted boolean;
    actual record;
begin
    page := array(select x.id from (
            select o.id, sum(o.done + o.failed) over (order by o.id rows unbounded preceding) - o.done - o.failed as before
            from (select y.id, y.done, y.failed from groups y where y.ended_at is null and y.size is not null
                and y.id > beyond order by y.id limit most + 1) o
        ) x where x.before < ${AUDIT_OUTCOMES} order by x.id);
    is_last := cardinality(page) <= most and not exists (select 1 from groups x where x.ended_at is null
        and x.size is not null and x.id > coalesce(page[cardinality(page)], beyond));
    -- One snapshot: a group and its outcomes agree in it, whoever counts meanwhile.
    wrong := array(
        select x.id from groups x, ${states('x.id')}
        where x.id = any(page[:most]) and x.ended_at is null and (x.done <> o.done or x.failed <> o.failed
            or ${trueEvents('x', 'o.done', 'o.failed')} & ~x.fired > 0)
        order by x.id);
    for i in 1..cardinality(wrong) loop
        select x.* into g from groups x where x.id = wrong[i] for no key update skip locked;
        continue when not found;
        select o.done, o.failed, g.fired | ${trueEvents('g', 'o.done', 'o.failed')} as fired into actual from ${states('g.id')};
        is_miscounted := g.done <> actual.done or g.failed <> actual.failed;
        continue when not is_miscounted and actual.fired = g.fired;
        update groups x set done = actual.done, failed = actual.failed, fired = actual.fired,
            ended_at = case when actual.done + actual.failed = x.size then t end,
            expires_at = case when actual.done + actual.failed = x.size and x.run is null then t + x.keep_ms end
        where x.id = g.id;
        select array_agg(f.job order by f.event) into fires
        from (select g.jobs) j ${jobsFor('j', '(actual.fired & ~g.fired)')};
        jobs_due := jobs_due || fires;
        mended := mended || json_build_array(g.space, g.id, case when is_miscounted then 'counts' else 'fire' end);
    end loop;
    return json_build_array(array_to_json(mended), array_to_json(count_members(null, jobs_due, t)),
        case when not is_last then page[least(most, cardinality(page))] end)::text;
end $function$;
`
}

/**
 * open_members: the jobs and runs of a group that have not ended, by number.
 *
 * outcomes_of: the outcomes of groups: the first by number up to a limit of each, and of those that are on sheets all of the
 * sheets on which such a number may be. These are one row without a state: numbers, ids and results are lists.
 */
export function memberFunctions(schema: string): string {
  const HAS_ENDED = `left join lateral (
                select true as is_there from outcomes x where x.group_id = of_group and x.nth = m.nth limit 1) o on true
            left join lateral (
                select true as is_there from sheets x where x.group_id = of_group and m.nth = any(x.nths) limit 1) s on true`
  return `
create function ${schema}.open_members(in_space text, of_group uuid, from_nth integer, most integer)
returns table (nth integer, id uuid, kind text)
language sql stable ${flowPins(schema)}
as $function$
    select m.nth, m.id, m.kind
    from groups g cross join lateral ((
            select m.nth, m.id, 'job'::text as kind
            from (
                select distinct u.nth, u.id from members n, unnest(n.nths, n.ids) as u(nth, id)
                where n.group_id = of_group and n.high >= from_nth and u.nth >= from_nth order by u.nth, u.id
            ) m cross join lateral (
                select true from jobs j where j.id = m.id and j.group_id = of_group and j.nth = m.nth limit 1) j ${HAS_ENDED}
            where o.is_there is null and s.is_there is null order by m.nth, m.id limit most
        ) union all (
            select m.nth, m.id, 'run'::text as kind
            from runs m ${HAS_ENDED}
            where m.group_id = of_group and m.nth >= from_nth and o.is_there is null and s.is_there is null
            order by m.nth limit most)) m
    where g.id = of_group and g.space = in_space order by m.nth limit most;
$function$;

create function ${schema}.outcomes_of(in_space text, of_groups uuid[], from_nth integer, most integer)
returns table (group_id uuid, nths text, ids text, state smallint, results text, failure text)
language plpgsql stable ${flowPins(schema)}
as $function$
#variable_conflict use_column
begin
    -- A function in SQL would be planned with every call.
    return query select g.id, o.* from groups g cross join lateral (
        (select x.nth::text, x.id::text, x.state, x.result, x.failure from outcomes x
        where x.group_id = g.id and x.nth >= from_nth order by x.nth limit most)
        union all
        (select array_to_string(s.nths, ','), array_to_string(s.ids, ','), null,
            array_to_string(s.results, chr(30), chr(31)), null
        from sheets s where s.group_id = g.id and s.high >= from_nth)) o
    where g.id = any(of_groups) and g.space = in_space;
end $function$;
`
}
