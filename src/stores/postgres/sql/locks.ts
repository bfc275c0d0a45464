import { flowPins, pins } from './plan-settings.ts'

/**
 * The order in which every transaction waits for locks. Nobody who has one of a later kind waits for one of an earlier,
 * and of one kind they are taken in the order of their keys, so nobody waits in a circle:
 *
 *   schedules     by space and id
 *   jobs          running ones: whoever needs several that a worker may settle takes all or none (lock_jobs), for settlements
 *                 come in no order; others by id. Then what is in the archive, by id.
 *   runs          by id
 *   groups        by id, together with those that their jobs may touch (lock_groups)
 *   unique keys   by space, queue and key (reserve_keys, if more than one statement takes some)
 *   the gate, then the locks of limited queues
 *
 * Claims, rescues, upkeep and audits pass over what is locked. Who ends a job lets go of its key and waits for nobody,
 * and nobody waits for that: to whoever wants the key meanwhile it is held.
 *
 * A statement that waited for a row, and finds that its condition is not true of it any more, has locked it nevertheless. Of
 * a key that means: somebody else took it. A claim that starts his job deletes that row, and would wait, with the lock of
 * its queue. Of a waiting job it means: it runs now, and whoever settles it would wait. So whoever waits for those does it in
 * a block, and lets go of what is not his by leaving that (untilFree).
 */

/** A group and those of which its jobs may end a member at once, because their keys may be held; and so on. */
export function withTouched(wanted: string): string {
  return `(
            with recursive c as (
                select x.id from unnest(${wanted}) as x(id)
                union
                select unnest(g.touches) from c, lateral (
                    select y.touches from groups y where y.id = c.id and y.touches is not null limit 1) g
            )
            select c.id from c)`
}

/**
 * Does something as often as it turns out late that others have what it needs, or have let go of it, when it has locked what
 * comes after that. Then it lets go of all it has locked, and begins anew with the jobs in question (`busy`).
 *
 * What is done must not lock anything in a block of its own: whoever waits for that waits for the end of the transaction,
 * and does not hear when the block around it is left.
 */
export function untilFree(statement: string): string {
  return `
    loop
        begin
            if busy is not null then
                perform lock_waiting(null, busy::uuid[], null);
            end if;
            ${statement}
        exception
            when sqlstate '${BUSY}' then
                declare
                    more text;
                begin
                    get stacked diagnostics more = message_text;
                    busy := coalesce(busy, '{}')::uuid[] || more::uuid[];
                end;
        end;
    end loop;`
}

/** Whose keys are that are only reserved. */
export const NOBODY = "'00000000-0000-0000-0000-000000000000'"

/** Raised with the ids of jobs as its message. */
export const BUSY = 'SKEP2'

/**
 * lock_jobs: locks jobs, all of them at once, and holds none while it waits for one. Returns those that are there.
 *
 * lock_waiting: locks jobs of these spaces, or of all: the caller's own, and those of the others that wait, and no other.
 *
 * lock_groups: locks groups and those they touch. Returns all of them that are there.
 *
 * reserve_keys: takes unique keys that nobody holds, those given and those of the jobs of groups: whoever inserts in
 * several steps comes to them in any order. forget_keys: lets go of those that were not used.
 *
 * prepare: locks all that inserting these keys, after these jobs and runs have been changed, may need.
 */
export function lockFunctions(schema: string): string {
  return `
create function ${schema}.lock_jobs(wanted uuid[], homes text[]) returns uuid[]
language plpgsql ${pins(schema)}
as $function$
declare
    locked uuid[];
    busy uuid[];
    one uuid;
begin
    for tries in 1..20 loop
        exit when cardinality(wanted) < 2;
        begin
            locked := array(select x.id from jobs x where x.id = any(wanted) and x.space = any(homes) for update skip locked);
            busy := array(select x.id from jobs x where x.id = any(wanted) and x.space = any(homes)
                and not (x.id = any(locked)));
            if cardinality(busy) = 0 then
                return locked;
            end if;
            raise sqlstate 'SKEP1';
        exception
            when sqlstate 'SKEP1' then null; -- That lets go of all.
        end;
        foreach one in array busy loop
            begin
                perform 1 from jobs x where x.id = one and x.space = any(homes) for update;
                raise sqlstate 'SKEP1';
            exception
                when sqlstate 'SKEP1' then null;
            end;
        end loop;
    end loop;
    return array(select x.id from jobs x where x.id = any(wanted) and x.space = any(homes) order by x.id for update);
end $function$;

create function ${schema}.lock_waiting(own uuid[], wanted uuid[], homes text[]) returns void
language plpgsql ${flowPins(schema)}
as $function$
declare
    waiting uuid[] := array(select x.id from jobs x where x.id = any(wanted) and x.state in (0, 1)
        and (homes is null or x.space = any(homes)));
begin
    if not waiting <@ array(
        select x.id from jobs x where x.id = any(own || waiting) and (x.id = any(own) or x.state in (0, 1))
            and (homes is null or x.space = any(homes))
        order by x.id for update) then
        raise sqlstate '${BUSY}' using message = '{}'; -- One of them runs.
    end if;
end $function$;

create function ${schema}.lock_groups(wanted uuid[]) returns uuid[]
language sql ${flowPins(schema)}
as $function$
    select coalesce(array_agg(g.id), '{}') from (
        select g.id from groups g where g.id = any(array${withTouched('wanted')}) order by g.id for no key update) g;
$function$;

create function ${schema}.reserve_keys(spaces text[], queues text[], keys text[], of_groups uuid[], t bigint) returns void
language plpgsql ${flowPins(schema)}
as $function$
declare
    w record;
    held_until bigint;
begin
    for w in
        select k.space, k.queue, k.key from unnest(spaces, queues, keys) as k(space, queue, key) where k.key is not null
        union
        select f.job ->> 'space', f.job ->> 'queue', f.job -> 'unique' ->> 'key'
        from unnest(of_groups) as o(id),
            lateral (select x.jobs from groups x where x.id = o.id limit 1) g,
            json_each(g.jobs::json) as f(event, job)
        where f.job -> 'unique' ->> 'key' is not null
        order by 1, 2, 3
    loop
        loop
            select u.until into held_until from uniques u
            where u.space = w.space and u.queue = w.queue and u.key = w.key;
            if found then
                exit when held_until is null or held_until > t;
                perform 1 from uniques u
                where u.space = w.space and u.queue = w.queue and u.key = w.key and u.until <= t for update;
                exit when found;
                raise sqlstate '${BUSY}' using message = '{}'; -- Somebody else has it now.
            end if;
            insert into uniques (space, queue, key, job_id, until)
            values (w.space, w.queue, w.key, ${NOBODY}, t) on conflict do nothing;
            exit when found;
            -- Somebody was quicker, or has just let go of it.
        end loop;
    end loop;
end $function$;

create function ${schema}.forget_keys(t bigint) returns void
language sql ${flowPins(schema)}
as $function$
    delete from uniques u where u.until = t and u.job_id = ${NOBODY};
$function$;

create function ${schema}.prepare(own uuid[], moved uuid[], of_groups uuid[], spaces text[], queues text[], keys text[],
    conflicts smallint[], t bigint) returns void
language plpgsql ${flowPins(schema)}
as $function$
declare
    -- Waiting jobs that may be replaced.
    holders uuid[] := array(
        select h.job_id
        from unnest(spaces, queues, keys, conflicts) as k(space, queue, key, conflict), lateral (
            select u.job_id from uniques u where u.space = k.space and u.queue = k.queue and u.key = k.key limit 1) h
        where k.conflict > 0);
    concerned uuid[] := of_groups;
begin
    perform lock_waiting(own, holders, spaces);
    concerned := concerned || array(select x.group_id from jobs x where x.id = any(own) and x.group_id is not null);
    if cardinality(moved) > 0 then
        perform 1 from runs x where x.id = any(moved) order by x.id for no key update;
        concerned := concerned || array(select x.group_id from runs x where x.id = any(moved) and x.group_id is not null);
    end if;
    if cardinality(concerned) > 0 then
        concerned := lock_groups(concerned);
    end if;
    perform reserve_keys(spaces, queues, keys, concerned, t);
end $function$;

-- The same for what comes as JSON: \`moves\` of runs, \`groups\`, and \`jobs\`, each as \`NewJob\` says.
create function ${schema}.prepare_given(own uuid[], given json, t bigint) returns void
language plpgsql ${flowPins(schema)}
as $function$
declare
    parts json[] := array[given] || array(select m from json_array_elements(given -> 'moves') as m);
    made json[] := array(select g from unnest(parts) as p, json_array_elements(p -> 'groups') as g);
    -- What groups enqueue may be enqueued at once.
    all_jobs json[] := array(select j from unnest(parts) as p, json_array_elements(p -> 'jobs') as j)
        || array(select e.value from unnest(made) as g, json_each(g -> 'jobs') as e);
begin
    perform prepare(own, array(select (m ->> 'id')::uuid from json_array_elements(given -> 'moves') as m),
        array(select (g ->> 'id')::uuid from unnest(made) as g)
            || array_agg((j -> 'member' ->> 'group')::uuid) filter (where j -> 'member' ->> 'group' is not null),
        array_agg(j ->> 'space'), array_agg(j ->> 'queue'), array_agg(j -> 'unique' ->> 'key'),
        array_agg((j -> 'unique' ->> 'onConflict' <> 'ignore')::integer::smallint), t)
    from unnest(all_jobs) as j where j -> 'unique' ->> 'key' is not null;
end $function$;
`
}
