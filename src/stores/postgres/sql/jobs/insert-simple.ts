import { flowPins } from '../plan-settings.ts'
import { MARGIN, MAY_BE_ARCHIVED } from './insert.ts'

/** Which settlements were refused. Mostly nothing was odd about any, and a function in SQL is planned with every call. */
export const REFUSED = `case when odds is null then '{}' else refused_by(odds) end`

/** The columns of jobs of which nothing is unusual, as they come with settlements (see `brought.ts`). */
const COLUMNS = `
    ids uuid[] := fresh[4];
    payloads text[] := string_to_array(fresh[5], chr(31));
    headers text[] := coalesce(string_to_array(fresh[6], chr(31), ''), '{}');
    spaces text[] := fresh[7];
    queues text[] := fresh[8];
    of_groups uuid[] := fresh[9];
    nths integer[] := fresh[10];
    lowest uuid := fresh[12];
    refused integer[] := ${REFUSED};`

/** Leaves out those whose settlements were refused. */
const ACCEPT = `
    if cardinality(refused) > 0 then
        select array_agg(u.id), array_agg(u.payload), array_agg(u.headers),
            array_agg(coalesce(u.space, spaces[1])), array_agg(coalesce(u.queue, queues[1])),
            array_agg(case when cardinality(of_groups) = 1 then of_groups[1] else u.group_id end),
            array_agg(case when cardinality(nths) = 1 then nths[1] else u.nth end)
        into ids, payloads, headers, spaces, queues, of_groups, nths
        from unnest(ids, payloads, headers, spaces, queues, of_groups, nths, fresh[11]::integer[])
            as u(id, payload, headers, space, queue, group_id, nth, parent)
        where not (u.parent = any(refused));
        if ids is null then
            return;
        end if;
    end if;`

/** To insert what may be there costs a fifth more, because something has to be reserved before it is written. Mostly nothing is. */
const putLeased = (onConflict: string): string => `
        with put as (
            insert into jobs (id, space, queue, state, payload, headers, priority, due_at, rank, enqueued_at, group_id, nth,
                token, worker, lease_until, started_at, starts)
            select i.id, spaces[1], queues[1], case when i.id <= highest then 2 else 1 end, i.payload, i.headers, 0, t, t, t,
                case when cardinality(of_groups) = 1 then of_groups[1] else i.group_id end,
                case when cardinality(nths) = 1 then nths[1] else i.nth end,
                case when i.id <= highest then lease_token end, case when i.id <= highest then lease_worker end,
                case when i.id <= highest then lease_end end, case when i.id <= highest then t end,
                case when i.id <= highest then 1 else 0 end
            from unnest(ids, payloads, headers, of_groups, nths) as i(id, payload, headers, group_id, nth)
            ${onConflict}
            returning jobs.id, jobs.state
        )
        select array_agg(p.id), array_agg(p.id) filter (where p.state = 2) into added, taken from put p;`

const NAME = `
    if cardinality(of_groups) > 0 then
        perform name_members(ids, of_groups, nths);
    end if;`

/**
 * refused_by: which settlements bring nothing along, by what was odd about them: all but those that were stopped.
 *
 * insert_simple: what insert_for does, for jobs of which nothing is unusual but headers and a place in a group. They come as
 * columns, which insert_jobs takes as they are: to read JSON costs as much as to insert what is in it.
 *
 * insert_leased: the same for jobs of one queue from which the call claims. The first `room` of them, which are `taken`, are
 * written as leased, the others as ready.
 */
export function simpleInsertFunctions(schema: string): string {
  return `
create function ${schema}.refused_by(odds json[]) returns integer[]
language sql immutable
as $function$
    select array(select (o ->> 0)::integer from unnest(odds) as o where coalesce(o ->> 2, '0') <> '1');
$function$;

create function ${schema}.insert_simple(fresh text[], odds json[], t bigint, out said json)
language plpgsql ${flowPins(schema)}
as $function$
declare ${COLUMNS}
    answer text;
begin ${ACCEPT}
    answer := insert_jobs(ids, payloads, spaces, queues, '{0}', '{0}', '{}', headers, '{}', '{}', '{}', '{}', '{}', '{}', '{}',
        '{}', of_groups, nths, lowest, false, false, false, t, true);${NAME}
    said := nullif(substr(answer, strpos(answer || ' ', ' ') + 1), '');
end $function$;

create function ${schema}.insert_leased(fresh text[], odds json[], room bigint, lease_token text, lease_worker text,
    lease_end bigint, t bigint, out said json, out taken uuid[])
language plpgsql ${flowPins(schema)}
as $function$
#variable_conflict use_variable
declare ${COLUMNS}
    -- The last id that is leased.
    highest uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    added uuid[];
    leased bigint;
    stale uuid[] := '{}';
    margin bigint;
begin ${ACCEPT}
    if cardinality(ids) > room then
        -- All have the same rank, so their ids are their order.
        highest := case when room > 0 then (select x.id from unnest(ids) as x(id) order by x.id offset room - 1 limit 1) end;
    end if;
    begin ${putLeased('')}
    exception when unique_violation then ${putLeased('on conflict (id, space) do nothing')}
    end;

    -- Looked up after the insert, as insert_jobs does.
    margin := ${MARGIN};
    if ${MAY_BE_ARCHIVED} then
        stale := array(select a.id from archive a where a.id = any(ids) and a.space || '' = spaces[1]);
    end if;
    if cardinality(stale) > 0 then
        delete from jobs j where j.id = any(stale) and j.space = spaces[1];
        added := (select array_agg(x.id) from unnest(added) as x(id) where not (x.id = any(stale)));
        taken := (select array_agg(x.id) from unnest(taken) as x(id) where not (x.id = any(stale)));
    end if;
    leased := coalesce(cardinality(taken), 0);
    if added is not null then
        insert into deltas (space, queue, ready, running)
        values (spaces[1], queues[1], cardinality(added) - leased, leased);
    end if;
    if cardinality(added) is distinct from cardinality(ids) then
        said := (
            select json_agg(json_build_array(u.n, 0, x.state, x.due_at))
            from (
                select u.id, u.n, row_number() over (partition by u.id order by u.n) as nth
                from unnest(ids) with ordinality as u(id, n)) u, lateral (
                select a.state, a.due_at from archive a where a.id = u.id and a.space || '' = spaces[1]
                union all
                select j.state, j.due_at from jobs j where j.id = u.id and j.space = spaces[1]
                limit 1) x
            where u.nth > 1 or not (u.id = any(coalesce(added, '{}'))));
        perform refuse_taken(ids, spaces, queues);
    end if;${NAME}
end $function$;
`
}
