import { RUN_GROUP_VERSION } from '../../../../core/flows/runs.ts'
import { TAKEN } from '../jobs/insert.ts'
import { untilFree } from '../locks.ts'
import { CLOCK, flowPins } from '../plan-settings.ts'

/**
 * make_runs: makes those that are not there. Returns the places of the others, from 0; null if there are none.
 *
 * refuse_taken_runs: fails with TAKEN if runs of other flows have the ids of some of these, as refuse_taken does of jobs.
 */
export function makeRunsFunction(schema: string): string {
  return `
create function ${schema}.make_runs(made json, t bigint) returns json
language plpgsql ${flowPins(schema)}
as $function$
#variable_conflict use_column
declare
    known json;
begin
    with put as (
        insert into runs (id, space, flow, version, position, state, attributes, group_id, nth, root, started_at, changed_at)
        select n.id, n.space, n.flow, n.version, n."position", n.state, n.attributes::text, (n.member ->> 'group')::uuid,
            (n.member ->> 'n')::integer, n.root, t, t
        from json_to_recordset(made) as n(id uuid, space text, flow text, version integer, "position" text, state text,
            attributes json, member json, root uuid)
        order by n.id
        on conflict (id, space) do nothing
        returning runs.id, runs.space, runs.attributes
    ), found as (
        insert into run_attributes (run_id, space, attribute)
        select distinct p.id, p.space, a.attribute
        from (select * from put where attributes <> '[]') p, json_array_elements_text(p.attributes::json) as a(attribute)
    )
    select json_agg(n.place - 1 order by n.place) into known
    from (
        select n.id, n.space, n.place, row_number() over (partition by n.id, n.space order by n.place) as nth
        from rows from (json_to_recordset(made) as (id uuid, space text)) with ordinality as n(id, space, place)
    ) n where n.nth > 1 or not exists (select from put p where p.id = n.id and p.space = n.space);
    return known;
end $function$;

create function ${schema}.refuse_taken_runs(made json) returns void
language plpgsql ${flowPins(schema)}
as $function$
#variable_conflict use_column
declare
    said json;
begin
    select json_agg(json_build_array(t.id, t.flow)) into said from (
        select distinct r.id, r.flow from json_to_recordset(made) as n(id uuid, space text, flow text)
        join runs r on r.id = n.id and r.space = n.space where r.flow <> n.flow order by r.id
    ) t;
    if said is not null then
        raise sqlstate '${TAKEN}' using message = 'skep: taken runs ' || said;
    end if;
end $function$;
`
}

/** The elements of several JSON arrays in one, in their order; null if there are none. */
function joined(lists: string): string {
  return `(
        select json_agg(e.item order by l.n, e.n)
        from unnest(${lists}) with ordinality as l(items, n), json_array_elements(l.items) with ordinality as e(item, n))`
}

/**
 * may_rejoin: whether a member of a group may run again, see mayRejoin in core/flows/runs.ts. The caller holds the locks of
 * lock_runs_above, or of the run that it moves.
 *
 * lock_runs_above: locks the runs above members of groups, and then the groups: in this order, as whoever moves runs does.
 */
export function rejoinFunctions(schema: string): string {
  return `
create function ${schema}.may_rejoin(of_group uuid) returns boolean
language plpgsql ${flowPins(schema)}
as $function$
#variable_conflict use_column
declare
    place uuid := of_group;
    g record;
    r record;
begin
    while place is not null loop
        select x.run, x.fired, x.space into g from groups x where x.id = place and x.size is not null;
        if not found then
            return substr(place::text, 15, 1) <> '${RUN_GROUP_VERSION}';
        end if;
        if g.run is null then
            return true;
        end if;
        select x.status, x.group_id, x.position::jsonb as stands into r from runs x where x.id = g.run and x.space = g.space;
        if not found then
            return false;
        end if;
        if not coalesce(r.stands -> 'undos' ? place::text, false) and (r.status not in (2, 4)
            or r.stands -> 'waits' ->> 'id' is distinct from place::text or r.stands ->> 'failure' is not null
            or (g.fired & 2 > 0 and r.stands -> 'done' -> 0 is not null)) then
            return false;
        end if;
        place := r.group_id;
    end loop;
    return true;
end $function$;

create function ${schema}.lock_runs_above(of_groups uuid[]) returns void
language plpgsql ${flowPins(schema)}
as $function$
#variable_conflict use_column
declare
    level uuid[] := of_groups;
    all_groups uuid[] := of_groups;
    all_runs uuid[] := '{}';
    homes text[] := '{}';
    above uuid[];
begin
    while cardinality(level) > 0 loop
        -- Nulls are removed afterwards: asked for "run is not null", a planner may walk all of groups_run.
        above := array_remove(array(select distinct g.run from groups g where g.id = any(level)), null);
        homes := homes || array(select distinct g.space from groups g where g.id = any(level));
        all_runs := all_runs || above;
        level := array_remove(array(select distinct r.group_id from runs r where r.id = any(above) and r.space = any(homes)
            and not (coalesce(r.group_id = any(all_groups), false))), null);
        all_groups := all_groups || level;
    end loop;
    perform 1 from runs r where r.id = any(all_runs) and r.space = any(homes) order by r.id for share;
    perform lock_groups(all_groups);
end $function$;
`
}

/**
 * apply_moves: moves runs, one after the other, with what each move makes. Returns for each ok, unknown, moved or over; the
 * runs that have ended, or not any more, as members; and the jobs that groups have to enqueue, both for count_members; and
 * what it enqueued itself.
 *
 * move_runs: the same with the counting. Returns JSON: what it says for each move, and all that was enqueued.
 */
export function moveFunctions(schema: string): string {
  return `
create function ${schema}.apply_moves(moves json, t bigint,
    out said text[], out ended ${schema}.outcomes[], out due json[], out enqueued json[])
language plpgsql ${flowPins(schema)}
as $function$
#variable_conflict use_column
declare
    m record;
    r runs%rowtype;
    goes smallint;
    groups_made json[];
    jobs_made json[];
    made json;
    given record;
begin
    said := '{}';
    -- In one order, so that two who move the same runs do not wait in a circle.
    perform 1 from runs x where x.id = any(array(select (e ->> 'id')::uuid from json_array_elements(moves) as e))
        and x.space = any(array(select e ->> 'space' from json_array_elements(moves) as e))
    order by x.id for no key update;
    for m in
        select f.* from rows from (json_to_recordset(moves) as (id uuid, space text, revision integer, "position" text,
                state text, status smallint, result text, failure text, "keepMs" bigint, groups json, runs json, jobs json))
            with ordinality as f(id, space, revision, place, state, status, result, failure, keep, groups, runs, jobs, n)
        order by f.n
    loop
        select x.* into r from runs x where x.id = m.id and x.space = m.space for no key update;
        if not found then
            said := said || 'unknown'::text;
            continue;
        elsif r.revision <> m.revision then
            said := said || 'moved'::text;
            continue;
        elsif r.status <> 2 and m.status is distinct from 2 and not (r.status = 4 and m.status is not distinct from 3) then
            said := said || 'over'::text;
            continue;
        elsif r.status <> 2 and m.status is not distinct from 2 and r.group_id is not null and not may_rejoin(r.group_id) then
            said := said || 'over'::text;
            continue;
        end if;
        goes := coalesce(m.status, r.status);
        update runs x set revision = r.revision + 1, position = coalesce(m.place, r.position),
            state = coalesce(m.state, r.state), status = goes, changed_at = t,
            ended_at = case when goes <> 2 then t end,
            expires_at = case when goes <> 2 and r.group_id is null then t + coalesce(m.keep, 0) end,
            result = case when goes <> 2 then m.result end, failure = case when goes <> 2 then m.failure end
        where x.id = m.id and x.space = m.space;
        -- A later move may be one of these.
        if json_array_length(m.runs) > 0 then
            perform make_runs(m.runs, t);
        end if;
        -- Taken apart once, after all moves: to put what is inside at the end would copy the whole array each time.
        groups_made := array_append(groups_made, m.groups);
        jobs_made := array_append(jobs_made, m.jobs);
        if r.group_id is not null and goes <> 2 then
            ended := ended || row(r.group_id, r.nth, r.id, goes, m.result, m.failure)::outcomes;
        elsif r.group_id is not null and r.status not in (2, 3) then
            ended := ended || row(r.group_id, r.nth, r.id, null, null, null)::outcomes;
        end if;
        said := said || 'ok'::text;
    end loop;
    made := ${joined('groups_made')};
    if made is not null then
        due := make_groups(made, t);
    end if;
    made := ${joined('jobs_made')};
    if made is not null then
        select g.* into given from insert_given(made, null, null, t) g;
        ended := ended || given.ended;
        enqueued := given.enqueued;
    end if;
end $function$;

create function ${schema}.move_runs(moves text, at bigint, inside boolean default false) returns text
language plpgsql ${flowPins(schema)}
as $function$
declare
    t bigint := coalesce(at, ${CLOCK});
    is_careful boolean := strpos(moves, '"unique":{') > 0;
    busy text;
    a record;
begin
    if not inside then ${untilFree('return move_runs(moves, at, true);')}
    end if;
    if is_careful then
        perform prepare_given(null, json_build_object('moves', moves::json), t);
    end if;
    select x.* into a from apply_moves(moves::json, t) x;
    a.enqueued := a.enqueued || count_and_fire(a.ended, a.due, is_careful, t);
    if is_careful then
        perform forget_keys(t);
    end if;
    return json_build_array(array_to_json(a.said), array_to_json(a.enqueued))::text;
end $function$;
`
}

/**
 * prune_flows: removes groups whose time is over, with their outcomes, and runs, each with its whole tree. So many that no call
 * takes long; those that somebody has locked are left to the next.
 */
export function pruneFlowsFunction(schema: string): string {
  return `
create function ${schema}.prune_flows(most bigint, t bigint) returns void
language plpgsql ${flowPins(schema)}
    set enable_hashjoin = off
    set enable_mergejoin = off
as $function$
declare
    g record;
    root_id uuid;
    root_space text;
    tree uuid[];
    groups_of uuid[];
    n bigint;
    removed bigint := 0;
begin
    for g in
        select x.id from groups x where x.expires_at <= t order by x.expires_at limit 10 * most for update skip locked
    loop
        delete from outcomes o where o.group_id = g.id;
        get diagnostics n = row_count;
        delete from sheets s where s.group_id = g.id;
        delete from members m where m.group_id = g.id;
        delete from groups x where x.id = g.id;
        removed := removed + n;
        exit when removed > 50 * most;
    end loop;

    for root_id, root_space in
        select x.id, x.space from runs x where x.expires_at <= t order by x.expires_at limit 10 * most for update skip locked
    loop
        tree := array(select x.id from runs x where x.root = root_id and x.space = root_space for update skip locked);
        continue when cardinality(tree) < (
            select count(*) from runs x where x.root = root_id and x.space = root_space);
        groups_of := array(select x.id from groups x where x.run = any(tree) and x.space = root_space for update skip locked);
        continue when cardinality(groups_of) < (
            select count(*) from groups x where x.run = any(tree) and x.space = root_space);
        delete from outcomes o where o.group_id = any(groups_of);
        get diagnostics n = row_count;
        delete from sheets s where s.group_id = any(groups_of);
        delete from members m where m.group_id = any(groups_of);
        delete from groups x where x.id = any(groups_of);
        delete from run_attributes a using (
            select x.space, x.id, json_array_elements_text(x.attributes::json) as attribute
            from runs x where x.id = any(tree) and x.space = root_space and x.attributes <> '[]'
        ) r where a.space = r.space and a.attribute = r.attribute and a.run_id = r.id;
        delete from runs x where x.id = any(tree) and x.space = root_space;
        removed := removed + n + cardinality(tree);
        exit when removed > 50 * most;
    end loop;
end $function$;
`
}
