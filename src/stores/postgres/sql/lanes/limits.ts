import { CLOCK } from '../plan-settings.ts'
import { inQueue } from '../queue-hash.ts'
import { BURST, gate, lanePins, lineLock, ownLimits, SPACING } from './rules.ts'

// A rate comes as {limit, perMs, burst}; a JSON null says that there is none.
const spacing = (name: string): string =>
  `ceil((f #>> '{${name},perMs}')::numeric * 1000 / (f #>> '{${name},limit}')::numeric)`
const burst = (name: string): string => `(f #>> '{${name},burst}')::numeric`

const CALLED = `json_to_recordset(calls) as c(kind smallint, name text, lane text, is_change boolean, fields jsonb)`

/**
 * set_limits: says what limits are. What is said already costs a look and no lock, so everybody may say it at every start.
 * Otherwise it waits for the claims that are under way: no lease can begin uncounted. Jobs that run count from then on.
 *
 * lanes_of_line: what the lanes of a limited queue are doing, as JSON; null when it is not limited.
 *
 * prune_lanes: forgets lanes that have nothing to remember, where nobody is just claiming.
 */
export function limitFunctions(schema: string): string {
  return `
create function ${schema}.set_limits(in_space text, calls json) returns text
language plpgsql ${lanePins(schema)}
as $function$
declare
    c record;
    r limits%rowtype;
    f jsonb;
    is_same boolean := true;
    said json[];
begin
    for c in select * from ${CALLED} loop
        select l.* into r from limits l
        where l.space = in_space and l.kind = c.kind and l.name = c.name and l.lane = c.lane;
        is_same := is_same and case when c.is_change then r.changed is not distinct from coalesce(r.changed, '{}') || c.fields
            else r.declared is not distinct from c.fields end
            and (c.kind = 2 or exists (select 1 from lines l where l.space = in_space and l.queue = c.name));
    end loop;
    if not is_same then
        perform pg_advisory_xact_lock(${gate(schema)});
    end if;
    for c in select * from ${CALLED} loop
        select l.* into r from limits l
        where l.space = in_space and l.kind = c.kind and l.name = c.name and l.lane = c.lane;
        if not is_same then
            if c.is_change then
                r.changed := coalesce(r.changed, '{}') || c.fields;
            else
                r.declared := c.fields;
            end if;
            f := coalesce(r.declared, '{}') || coalesce(r.changed, '{}');
            delete from limits l where l.space = in_space and l.kind = c.kind and l.name = c.name and l.lane = c.lane;
            if r.declared is not null or r.changed is not null then
                insert into limits (space, kind, name, lane, declared, changed, concurrency, spacing, burst,
                    has_concurrency, has_rate, shared, lane_concurrency, lane_spacing, lane_burst, is_strict, weight)
                values (in_space, c.kind, c.name, c.lane, r.declared, r.changed, (f ->> 'concurrency')::numeric,
                    ${spacing('rate')}, ${burst('rate')}, f ? 'concurrency', f ? 'rate', f ->> 'shared',
                    (f ->> 'laneConcurrency')::numeric, ${spacing('laneRate')}, ${burst('laneRate')},
                    coalesce((f ->> 'strict')::boolean, false), (f ->> 'weight')::numeric);
            end if;
            if c.kind = 2 then
                perform count_running(in_space, l.name) from limits l
                where l.space = in_space and l.kind = 0 and l.shared = c.name;
            else
                insert into lines (space, queue, ver) select in_space, c.name, 1
                where not exists (select 1 from lines l where l.space = in_space and l.queue = c.name);
                -- Rows that somebody is just renewing are passed over, so it is tried for a moment.
                for tries in 1..20 loop
                    perform count_running(in_space, c.name);
                    exit when not exists (select 1 from jobs j where ${inQueue('j', 'in_space', 'c.name')}
                        and j.state = 2 and j.counted is not true);
                    perform pg_sleep(0.005);
                end loop;
                insert into news (space, queue) values (in_space, c.name);
            end if;
        end if;
        said := said || json_build_array(r.declared, r.changed);
    end loop;
    return array_to_json(said)::text;
end $function$;

create function ${schema}.lanes_of_line(in_space text, in_queue text, wanted text[], beyond text, most bigint, at bigint)
returns text
language plpgsql ${lanePins(schema)}
as $function$
#variable_conflict use_variable
declare
    t bigint;
    q limits%rowtype;
    s limits%rowtype;
    has_own boolean;
    folded record;
    line lines%rowtype;
    other record;
    shared_running bigint;
    shared_full bigint;
    views json;
begin
    perform pg_advisory_xact_lock_shared(${gate(schema)});
    if (select l.ver from lines l where l.space = in_space and l.queue = in_queue order by l.ver desc limit 1) is null
        and not exists (select 1 from news w where w.space = in_space and w.queue = in_queue) then
        return null;
    end if;
    perform pg_advisory_xact_lock(${lineLock(schema, 'in_space', 'in_queue')});
    t := coalesce(at, ${CLOCK});
    select l.* into q from limits l where l.space = in_space and l.kind = 0 and l.name = in_queue and l.lane = '';
    has_own := exists (select 1 from limits l where l.space = in_space and l.kind = 1 and l.name = in_queue);
    for other in
        select in_queue as name, 0 as n union all
        select l.name, 1 from limits l
        where l.space = in_space and l.kind = 0 and l.shared = q.shared and l.name <> in_queue
        order by 2 desc
    loop
        perform count_running(in_space, other.name);
        folded := fold_line(in_space, other.name, t, -9007199254740991, '00000000-0000-0000-0000-000000000000', false);
        line := folded.line;
        if folded.is_changed then
            perform save_line(folded.spot, line);
        end if;
        shared_running := coalesce(shared_running, 0) + line.running;
    end loop;
    if q.shared is not null then
        select l.* into s from limits l where l.space = in_space and l.kind = 2 and l.name = q.shared and l.lane = '';
        select l.full_us into shared_full from lines l where l.space = in_space and l.queue = '=' || q.shared
        order by l.ver desc limit 1;
    end if;
    select json_agg(json_build_array(v.lane, v.running, v.starts_at, v.occupant) order by v.lane) into views
    from (
        select x.lane, x.running, o.id as occupant,
            greatest(x.wait_until, starts_at(x.full_us, 1, ${SPACING}, ${BURST})) as starts_at
        from lanes x
            left join lateral (
                select j.id from jobs j where j.id = x.occupant and j.generation = x.generation) o on true
            ${ownLimits('x')}
        where x.space = in_space and x.queue = in_queue and (beyond is null or x.lane > beyond)
            and case when wanted is null then x.active or x.running > 0 or o.id is not null
                else x.lane = any(wanted) end
        order by x.lane limit most
    ) v;
    return json_build_object('lanes', views, 'now', t,
        'queue', json_build_array(line.running, starts_at(line.full_us, 1, q.spacing, q.burst)),
        'shared', case when q.shared is not null then
            json_build_array(shared_running, starts_at(coalesce(shared_full, 0), 1, s.spacing, s.burst)) end)::text;
end $function$;

create function ${schema}.prune_lanes(t bigint) returns void
language plpgsql ${lanePins(schema)}
as $function$
declare
    other record;
begin
    if not pg_try_advisory_xact_lock_shared(${gate(schema)}) then
        return;
    end if;
    for other in select distinct l.space, l.queue from lines l where l.queue !~ '^=' loop
        continue when not pg_try_advisory_xact_lock(${lineLock(schema, 'other.space', 'other.queue')});
        delete from lanes x where x.ctid = any(array(
            select k.ctid from lanes k
            where k.space = other.space and k.queue = other.queue and not k.active and k.running = 0
                and greatest(k.wait_until, k.held_until, k.head_at) <= t and k.full_us <= t * 1000
                and k.turn < (select l.clock from lines l where l.space = other.space and l.queue = other.queue
                    order by l.ver desc limit 1)
                and not exists (select 1 from jobs j where j.id = k.occupant and j.generation = k.generation)
            limit 10000));
    end loop;
end $function$;
`
}
