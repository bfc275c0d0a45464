import { untilFree } from '../locks.ts'
import { CLOCK, pins, secondOf } from '../plan-settings.ts'
import { COUNT_FRESH, INCOMING, insert, TELL_FRESH } from './insert-counts.ts'

/**
 * Whether the archive may hold a job with the lowest id, or a higher one. An id begins with the moment it was made, and
 * nothing ends before that: for a fresh job only the newest days are looked into. If that moment is far from now, it
 * may be no moment at all, and all of the archive is.
 */
export const MAY_BE_ARCHIVED: string = `exists (select 1 from archive a where a.id >= lowest
            and a.finished_at >= t - margin and a.finished_at <= t + margin)`
export const MARGIN: string = `case when abs(('x' || translate(left(lowest::text, 13), '-', ''))::bit(48)::bigint - t) < 600000
            then 3600000 else 9007199254740991 end`

/** The ids with their spaces, each at its place. */
export const SPACED = `select u.id, u.n, coalesce(u.space, spaces[1]) as space from unnest(ids, spaces) with ordinality as u(id, space, n)`

/** Raised with JSON in its message: [id, queue] for each id that is taken. */
export const TAKEN = 'SKEP3'

/** Inserts jobs of several queues, some of them delayed; `tells`: some of them in lanes. */
const insertMixed = (onConflict: string, tells = '', into = 'inserted'): string => `
        with fresh as (
            ${insert('i')}
            from (${INCOMING}) i
            ${onConflict}
            returning jobs.id, jobs.space, jobs.queue, jobs.state, jobs.due_at${tells && ', jobs.lane, jobs.rank'}
        )${tells}, counted as (
            ${COUNT_FRESH}
            returning deltas.delayed + deltas.ready as n
        )
        select coalesce(sum(c.n), 0)${into === 'inserted' ? '' : ', array(select f.id || f.space from fresh f)'} into ${into} from counted c;`

const INSERT_WITH_CARE = `
        select * into inserted, odds from insert_with_care(ids, payloads, spaces, queues, priorities, delays,
            run_ats, headers, overrides, keys, scopes, windows, conflicts, lanes, costs, stricts,
            of_groups, nths, again, one_by_one, prepared, t);`

/**
 * They differ in nothing but id, payload, headers and place in a group, so the other columns need not be read for each. The elements are
 * taken by number: `unnest` keeps a copy of every list.
 */
const INSERT_BARE = `
            insert into jobs (id, space, queue, state, payload, headers, priority, due_at, rank, enqueued_at, group_id, nth)
            select ids[u.n], one_space, one_queue, one_state, payloads[u.n], headers[u.n], one_priority, one_due, one_rank, t,
                coalesce(one_group, of_groups[u.n]), coalesce(one_nth, nths[u.n])
            from (select generate_series(1, size) as n) u;`

const TOLD = `, told as (
            ${TELL_FRESH}
        )`

/**
 * insert_jobs: inserts jobs in order. Returns the time of the insert, from which the caller can tell what became of each
 * job. If something was odd, a space and JSON follow: for each odd job [n, 0, state, due_at] (it was there before)
 * or [n, 1, id, action] (its key is held by another), with n counted from 1.
 *
 * `lowest` is the lowest of the ids; null when they were made for this call, and so cannot be in the archive. When
 * nothing there is as new as that, none of them can be there, which spares most others the search.
 *
 * `strict`: fail with a unique violation if an id is there already. The usual case is then a fifth cheaper, because
 * nothing has to be reserved before it is written; the caller sends it again without.
 *
 * `lanes`, `costs` and `stricts`: null, or an array of none, for what is usual. `of_groups` and `nths` say which member of
 * which group a job is; who inserts members has to count those whose key is held, see insert_members.
 *
 * refuse_taken: fails with TAKEN if jobs of other queues have some of these ids, which ends the transaction, so nothing was
 * written. It is called after the insert, when whoever was about to insert the same id has committed. `refuses`: without it
 * such jobs are left out.
 *
 * `one_by_one`: ids occur twice in the batch, so each job has to see what the one before it did.
 *
 * `prepared`: the caller has locked what has to be locked before unique keys, see `lock-functions.ts`.
 */
export function insertFunction(schema: string): string {
  return `
create function ${schema}.insert_jobs(
    ids uuid[], payloads text[], spaces text[], queues text[], priorities integer[], delays bigint[],
    run_ats bigint[], headers text[], overrides text[], keys text[], scopes smallint[], windows bigint[],
    conflicts smallint[], lanes text[], costs integer[], stricts boolean[], of_groups uuid[], nths integer[],
    lowest uuid, strict boolean, again boolean, one_by_one boolean, at bigint, prepared boolean default false,
    refuses boolean default true)
returns text
language plpgsql ${pins(schema)}
as $function$
#variable_conflict use_variable
declare
    t bigint := coalesce(at, ${CLOCK});
    size integer := cardinality(ids);
    has_care boolean := again or cardinality(keys) > 0;
    is_uniform boolean := cardinality(spaces) = 1 and cardinality(queues) = 1 and cardinality(delays) = 1
        and cardinality(run_ats) = 0 and cardinality(lanes) = 0;
    is_bare boolean := is_uniform and cardinality(priorities) = 1 and cardinality(overrides) = 0 and cardinality(costs) = 0
        and cardinality(stricts) = 0;
    -- What all of them have, if they are bare.
    one_space text := spaces[1];
    one_queue text := queues[1];
    one_state smallint := case when delays[1] > 0 then 0 else 1 end;
    one_priority integer := priorities[1];
    one_due bigint := t + delays[1];
    one_rank bigint := one_due - one_priority * 600000::bigint;
    one_group uuid := case when cardinality(of_groups) = 1 then of_groups[1] end;
    one_nth integer := case when cardinality(nths) = 1 then nths[1] end;
    inserted bigint;
    added text[];
    stale text[];
    odds json[];
    margin bigint;
    busy text;
begin
    if has_care and prepared then ${INSERT_WITH_CARE}
    elsif has_care then
        if again then
            perform lock_jobs(ids, spaces);
        end if;
        ${untilFree(`${INSERT_WITH_CARE}
            exit;`)}
    elsif strict and is_uniform then
        if is_bare then ${INSERT_BARE}
        else
            ${insert('i')}
            from (${INCOMING}) i;
        end if;
        inserted := size;
        insert into deltas (space, queue, delayed, ready, due_second)
        values (spaces[1], queues[1], case when delays[1] > 0 then size else 0 end,
            case when delays[1] > 0 then 0 else size end, case when delays[1] > 0 then ${secondOf('one_due')} end);
    elsif strict and cardinality(lanes) = 0 then ${insertMixed('')}
    elsif strict then ${insertMixed('', TOLD)}
    else ${insertMixed('on conflict (id, space) do nothing', TOLD, 'inserted, added')}
        if inserted < size then
            -- Of two with one id the second was there before it.
            select array_agg(json_build_array(u.n, 0, j.state, j.due_at)) into odds
            from jobs j join (
                select u.id, u.n, coalesce(u.space, spaces[1]) as space,
                    row_number() over (partition by u.id, coalesce(u.space, spaces[1]) order by u.n) as nth
                from unnest(ids, spaces) with ordinality u(id, space, n)) u on u.id = j.id and u.space = j.space
            where j.id = any(ids) and (u.nth > 1 or not (j.id || j.space = any(added)));
        end if;
    end if;

    -- Looked up after the insert, so that a job which ended while the insert waited for it is found.
    if lowest is not null then
        margin := ${MARGIN};
        if ${MAY_BE_ARCHIVED} then
            select array_agg(a.id || a.space) into stale
            from archive a join (${SPACED}) u on u.id = a.id and u.space = a.space || '' where a.id = any(ids);
        end if;
        if stale is not null then
            with gone as (
                delete from jobs j where j.id = any(ids) and j.id || j.space = any(stale)
                returning j.space, j.queue, j.state, case when j.state = 0 then ${secondOf('j.due_at')} end as due_second
            )
            insert into deltas (space, queue, delayed, ready, due_second)
            select g.space, g.queue, -count(*) filter (where g.state = 0), -count(*) filter (where g.state = 1), g.due_second
            from gone g group by g.space, g.queue, g.due_second;
        end if;
    end if;
    if stale is not null or (inserted < size and not has_care) then
        odds := odds || (
            select array_agg(json_build_array(u.n, 0, a.state, a.due_at))
            from archive a join (${SPACED}) u on u.id = a.id and u.space = a.space || '' where a.id = any(ids));
    end if;
    if odds is not null and refuses and (one_by_one or exists (select 1 from unnest(odds) as o where o ->> 1 = '0')) then
        perform refuse_taken(ids, spaces, queues);
    end if;
    return concat_ws(' ', t, array_to_json(odds));
end $function$;

create function ${schema}.refuse_taken(ids uuid[], spaces text[], queues text[]) returns void
language plpgsql ${pins(schema)}
as $function$
#variable_conflict use_column
declare
    said json;
begin
    select json_agg(json_build_array(t.id, t.queue) order by t.n) into said from (
        select distinct on (u.space, u.id) u.n, u.id, k.queue
        from (
            select u.n, u.id, coalesce(u.space, spaces[1]) as space, coalesce(u.queue, queues[1]) as queue
            from unnest(ids, spaces, queues) with ordinality as u(id, space, queue, n)
        ) u cross join lateral (
            select j.queue from jobs j where j.id = u.id and j.space = u.space
            union all
            select a.queue from archive a where a.id = u.id and a.space || '' = u.space
            union all
            select coalesce(x.queue, queues[1]) from unnest(ids, spaces, queues) with ordinality as x(id, space, queue, n)
            where x.id = u.id and coalesce(x.space, spaces[1]) = u.space and x.n < u.n
            limit 1) k
        where k.queue <> u.queue
        order by u.space, u.id, u.n
    ) t;
    if said is not null then
        raise sqlstate '${TAKEN}' using message = 'skep: taken ' || said;
    end if;
end $function$;
`
}
