import { untilFree } from '../locks.ts'
import { CLOCK, flowPins, pins } from '../plan-settings.ts'
import { INCOMING } from './insert-counts.ts'

/** Which jobs are which members, from columns as INCOMING reads them. */
const MEMBERS = `select u.id, case when cardinality(of_groups) = 1 then of_groups[1] else u.group_id end as group_id,
            case when cardinality(nths) = 1 then nths[1] else u.nth end as nth
        from unnest(ids, of_groups, nths) as u(id, group_id, nth)`

/** A job as the client has it, read from JSON. */
const FIELDS = `id uuid, payload text, space text, queue text, priority integer, "delayMs" bigint, "runAt" bigint,
                headers text, overrides text, "unique" json, lane text, cost integer, strict boolean, member json`
const NAMES = `id, payload, space, queue, priority, delay, run_at, headers, overrides, uniq, lane, cost, strict, member`

/**
 * insert_given: inserts jobs that come as JSON, each as `NewJob` says (what is usual may be left out): those that a handler enqueued, that a group fired,
 * or that a schedule or a run's move made. If they come with settlements, each has a `round` and the settlement it
 * belongs to (`parent`): inserted are those of `this_round` whose parent was not refused.
 *
 * Returns what was odd, as insert_jobs does, counting only those it inserted; the members whose key is held by another;
 * and, if the jobs do not come with settlements, those that are new: [space, queue, due_at, rank, state]. The state is 2
 * if it is not new, and the one that holds its key was changed instead.
 */
export function insertGivenFunction(schema: string): string {
  return `
create function ${schema}.insert_given(fresh json, this_round integer, refused integer[], t bigint,
    out odds json, out ended ${schema}.outcomes[], out enqueued json[])
language plpgsql ${flowPins(schema)}
as $function$
#variable_conflict use_column
declare
    b record;
    said text;
begin
    select array_agg(f.id) as ids, array_agg(f.payload) as payloads,
        array_agg(f.space) as spaces, array_agg(f.queue) as queues,
        array_agg(coalesce(f.priority, 0)) as priorities, array_agg(coalesce(f.delay, 0)) as delays,
        array_agg(f.run_at) as run_ats, array_agg(f.headers) as headers,
        array_agg(f.overrides) as overrides,
        coalesce(array_agg(f.uniq ->> 'key') filter (where f.keyed), '{}') as keys,
        array_agg((array_position(array['queued', 'active', 'window'], f.uniq ->> 'scope') - 1)::smallint)
            filter (where f.keyed) as scopes,
        array_agg((f.uniq ->> 'windowMs')::bigint) filter (where f.keyed) as windows,
        array_agg((array_position(array['ignore', 'replace', 'postpone'], f.uniq ->> 'onConflict') - 1)::smallint)
            filter (where f.keyed) as conflicts,
        coalesce(array_agg(f.lane) filter (where f.laned), '{}') as lanes,
        array_agg(nullif(f.cost, 1)) as costs, array_agg(nullif(f.strict, false)) as stricts,
        coalesce(array_agg((f.member ->> 'group')::uuid) filter (where f.grouped), '{}') as of_groups,
        coalesce(array_agg((f.member ->> 'n')::integer) filter (where f.grouped), '{}') as nths,
        (array_agg(f.id order by f.id))[1] as lowest, count(*) > count(distinct f.id) as doubled
    into b
    from (
        select f.*, bool_or(f.uniq is not null) over () as keyed, bool_or(f.lane is not null) over () as laned,
            bool_or(f.member is not null) over () as grouped
        from rows from (json_to_recordset(fresh) as (${FIELDS}, round integer, parent integer))
            with ordinality as f(${NAMES}, round, parent, n)
        where this_round is null or (f.round = this_round and not (f.parent = any(refused)))
        order by n
    ) f;
    if b.ids is null then
        return;
    end if;
    said := insert_jobs(b.ids, b.payloads, b.spaces, b.queues, b.priorities, b.delays, b.run_ats,
        b.headers, b.overrides, b.keys, b.scopes, b.windows, b.conflicts, b.lanes, b.costs, b.stricts, b.of_groups, b.nths,
        b.lowest, false, false, b.doubled, t, true, this_round is not null);
    if cardinality(b.of_groups) > 0 then
        perform name_members(b.ids, b.of_groups, b.nths);
    end if;
    if strpos(said, ' ') > 0 then
        odds := substr(said, strpos(said, ' ') + 1);
        ended := duplicates(odds, b.ids, b.of_groups, b.nths);
    end if;
    if this_round is null then
        select array_agg(json_build_array(f.space, f.queue, f.due, f.due - f.priority * 600000::bigint,
            case when c.n is not null then 2 when f.due > t then 0 else 1 end)) into enqueued
        from (
            select u.space, u.queue, u.priority, u.n, greatest(t + u.delay, coalesce(u.run_at, 0)) as due
            from unnest(b.spaces, b.queues, b.priorities, b.delays, b.run_ats)
                with ordinality as u(space, queue, priority, delay, run_at, n)
        ) f left join (
            select (o ->> 0)::bigint as n, o ->> 1 = '1' and o ->> 3 <> '0' as is_changed from json_array_elements(odds) as o
        ) c on c.n = f.n
        where c.n is null or c.is_changed;
    end if;
end $function$;

-- Writes down which jobs are members, if nobody did.
create function ${schema}.name_members(ids uuid[], of_groups uuid[], nths integer[]) returns void
language plpgsql ${flowPins(schema)}
as $function$
begin
    insert into members (group_id, high, nths, ids)
    select i.group_id, max(i.nth), array_agg(i.nth), array_agg(i.id)
    from (${MEMBERS}) i left join lateral (
        select true as is_there from members m where m.group_id = i.group_id and i.id = any(m.ids) limit 1) o on true
    where i.group_id is not null and o.is_there is null group by i.group_id;
end $function$;

-- The members among jobs whose unique key is held by another: they have ended.
create function ${schema}.duplicates(odds json, ids uuid[], of_groups uuid[], nths integer[])
returns ${schema}.outcomes[]
language sql ${flowPins(schema)}
as $function$
    select array_agg(row(m.group_id, m.nth, m.id, 6, null,
        '{"kind":"duplicate","message":"Its unique key is held by job \\"' || m.holder || '\\"."}')::outcomes order by m.n)
    from (
        select o.n, ids[o.n] as id, o.holder,
            case when cardinality(of_groups) = 1 then of_groups[1] else of_groups[o.n] end as group_id,
            case when cardinality(nths) = 1 then nths[1] else nths[o.n] end as nth
        from (select (e ->> 0)::integer as n, e ->> 2 as holder from json_array_elements(odds) as e where e ->> 1 = '1') o
    ) m where m.group_id is not null;
$function$;
`
}

/**
 * insert_members: inserts jobs of which some are members, see insert_jobs, together with the groups and runs that come
 * with them. `heirs` will take the places of jobs in their groups, one after the other: of those at `heir_places`. Returns JSON: the time, what was odd, what groups that fired have enqueued, and the places of runs that were there.
 */
export function insertMembersFunction(schema: string): string {
  return `
create function ${schema}.insert_members(made_groups text, made_runs text, heirs uuid[], heir_places integer[],
    ids uuid[], payloads text[], spaces text[], queues text[], priorities integer[], delays bigint[],
    run_ats bigint[], headers text[], overrides text[], keys text[], scopes smallint[], windows bigint[],
    conflicts smallint[], lanes text[], costs integer[], stricts boolean[], of_groups uuid[], nths integer[],
    lowest uuid, strict boolean, again boolean, one_by_one boolean, at bigint, inside boolean default false)
returns text
language plpgsql ${pins(schema)}
as $function$
declare
    t bigint := coalesce(at, ${CLOCK});
    said text;
    odds json;
    ended outcomes[];
    due json[];
    enqueued json[];
    busy text;
    known json;
    is_careful boolean := cardinality(keys) > 0 or coalesce(strpos(made_groups, '"unique":{') > 0, false);
begin
    if again and not inside then
        perform lock_jobs(ids, spaces);
    end if;
    if is_careful and not inside then ${untilFree(`return insert_members(made_groups, made_runs, heirs, heir_places, ids, payloads, spaces, queues, priorities, delays, run_ats, headers, overrides,
                keys, scopes, windows, conflicts, lanes, costs, stricts, of_groups, nths, lowest, strict, again, one_by_one,
                at, true);`)}
    end if;
    if is_careful then
        perform prepare_given(null, json_strip_nulls(json_build_object('groups', made_groups::json, 'jobs', (
            select json_agg(json_build_object('space', i.space, 'queue', i.queue, 'member', json_build_object(
                'group', i.group_id), 'unique', json_build_object('key', i.key, 'onConflict',
                    case when i.conflict = 0 then 'ignore' else 'replace' end)))
            from (${INCOMING}) i where i.key is not null))), t);
    end if;
    if made_runs is not null then
        known := make_runs(made_runs::json, t);
        -- After it, because by then another transaction that makes a run of the same id has ended.
        if known is not null then
            perform refuse_taken_runs(made_runs::json);
        end if;
    end if;
    if made_groups is not null then
        due := make_groups(made_groups::json, t);
    end if;
    if cardinality(ids) > 0 then
        said := insert_jobs(ids, payloads, spaces, queues, priorities, delays, run_ats, headers, overrides, keys,
            scopes, windows, conflicts, lanes, costs, stricts, of_groups, nths, lowest, strict, again, one_by_one, t, true);
        if cardinality(of_groups) > 0 then
            insert into members (group_id, high, nths, ids)
            select i.group_id, max(i.nth), array_agg(i.nth), array_agg(i.id)
            from (${MEMBERS} union all
                select h.id, case when cardinality(of_groups) = 1 then of_groups[1] else of_groups[h.place] end,
                    case when cardinality(nths) = 1 then nths[1] else nths[h.place] end
                from unnest(heirs, heir_places) as h(id, place)) i
            where i.group_id is not null group by i.group_id;
        end if;
        if strpos(said, ' ') > 0 then
            odds := substr(said, strpos(said, ' ') + 1);
            ended := duplicates(odds, ids, of_groups, nths);
        end if;
    end if;
    if ended is not null or due is not null then
        enqueued := case when is_careful then count_and_fire(ended, due, true, t) else count_members(ended, due, t) end;
    end if;
    if is_careful then
        perform forget_keys(t);
    end if;
    return json_build_array(t, odds, array_to_json(enqueued), known)::text;
end $function$;
`
}
