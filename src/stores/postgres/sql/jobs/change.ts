import { REST_OF_CHAIN } from '../../../../core/flows/chains.ts'
import { HIGHEST_RANK } from '../lanes/rules.ts'
import { untilFree } from '../locks.ts'
import { CLOCK, dayOf, fixedPath, secondOf } from '../plan-settings.ts'
import { arrivalOf, JOB_COLUMNS } from './tables.ts'

const COLUMNS = JOB_COLUMNS.join(', ')

/** The columns of `alias`, some of them replaced. */
function replaced(alias: string, changes: Readonly<Record<string, string>>): string {
  return JOB_COLUMNS.map((name) => changes[name] ?? `${alias}.${name}`).join(', ')
}

/**
 * change_jobs: what people do to jobs, one after the other. Returns JSON: for each job [id, what], where what is
 * ok, requested, unknown, state, unique or run; and [id, ok, queue, due_at, priority] if it came to another place in line;
 * then what groups have enqueued, see insert_given.
 * `only_state`: the jobs were selected by this state, and one that has left it since, or is so already,
 * is passed over in silence.
 */
export function changeFunction(schema: string): string {
  return `
create function ${schema}.change_jobs(
    action text, in_space text, ids uuid[], only_state smallint, failure text, reason text, keep bigint,
    steps integer, due_to bigint, at bigint)
returns text
language plpgsql ${fixedPath(schema)}
as $function$
#variable_conflict use_variable
declare
    t bigint := coalesce(at, ${CLOCK});
    goes smallint := case action when 'cancel' then 6 when 'bury' then 5 end;
    due_then bigint := coalesce(due_to, t);
    -- Of a retry: when the operation began.
    due_from bigint := least(due_then, t);
    locked uuid[];
    wanted uuid;
    j jobs%rowtype;
    a archive%rowtype;
    said text;
    -- The queue, due time and priority of a job that came to another place in line.
    line text;
    due bigint;
    has_steps integer;
    place bigint;
    removed uuid[];
    removed_queues text[];
    results json[];
    -- In which order the jobs are taken, see inOrder in core/transitions.ts; and the place of the one that is.
    order_of integer[];
    nth integer;
    -- Members that ended, or not any more.
    ended outcomes[];
    enqueued json[];
    busy text;
    groups_above uuid[];
begin
    if cardinality(ids) > 1 or action = 'retry' then
        locked := lock_jobs(ids, array[in_space]);
        if cardinality(locked) < cardinality(ids) then
            perform 1 from archive x where x.id = any(ids) and x.space || '' = in_space and not (x.id = any(locked))
            order by x.id for update;
        end if;
    end if;
    if action = 'retry' then
        groups_above := array(select distinct x.group_id from archive x
            where x.id = any(ids) and x.space || '' = in_space and x.group_id is not null);
        if cardinality(groups_above) > 0 then
            perform lock_runs_above(groups_above);
        end if;
        ${untilFree(`perform prepare(null, null, array_agg(x.group_id) filter (where x.group_id is not null), array_agg(x.space),
                array_agg(x.queue), array_agg(x.unique_key), null, t)
            from archive x where x.id = any(ids) and x.space || '' = in_space and x.unique_scope < 2 having count(*) > 0;
            exit;`)}
    end if;
    order_of := case when action = 'retry' then array(
            select u.n::integer from unnest(ids) with ordinality as u(id, n)
                left join lateral (select x.enqueued_at, x.arrival from archive x where x.id = u.id and x.space || '' = in_space limit 1) o on true
            order by o.enqueued_at nulls first, o.arrival, u.id, u.n)
        else array(select generate_subscripts(ids, 1)) end;
    foreach nth in array order_of loop
        wanted := ids[nth];
        said := null;
        line := null;
        select x.* into j from jobs x where x.id = wanted and x.space = in_space for update;
        if found then
            if only_state is not null and j.state <> only_state then
                continue;
            elsif action = 'cancel' and j.state = 2 then
                update jobs x set cancel_reason = reason where x.id = wanted and x.space = in_space;
                said := 'requested';
            elsif goes is not null and j.state in (0, 1) then
                delete from jobs x where x.id = wanted and x.space = in_space;
                insert into archive (${COLUMNS}, finished_at, expires_at)
                values (${replaced('j', { state: 'goes', failure: 'coalesce(failure, j.failure)', arrival: arrivalOf('j') })}, t, t + keep);
                delete from uniques u where u.job_id = wanted and u.space || '' = in_space and u.until is null;
                insert into deltas (space, queue, delayed, ready, due_second) select j.space, j.queue,
                    -(j.state = 0)::integer, -(j.state = 1)::integer, case when j.state = 0 then ${secondOf('j.due_at')} end;
                insert into deltas (space, queue, day, dead, cancelled)
                values (j.space, j.queue, case when goes = 5 then -1 else ${dayOf('t')} end, (goes = 5)::integer,
                    (goes = 6)::integer);
                perform tell_lane(j.space, j.queue, j.lane, j.is_strict, ${HIGHEST_RANK});
                if j.group_id is not null then
                    ended := ended || row(j.group_id, j.nth, j.id, goes, j.result, coalesce(failure, j.failure))::outcomes;
                end if;
                said := 'ok';
            elsif action = 'promote' and j.state = 0 then
                -- One that is overdue keeps its age.
                update jobs x set state = 1, due_at = least(x.due_at, t),
                    rank = case when x.is_strict then x.rank else least(x.due_at, t) - x.priority * 600000::bigint end
                where x.id = wanted and x.space = in_space returning x.rank into place;
                perform tell_lane(j.space, j.queue, j.lane, j.is_strict, place);
                insert into deltas (space, queue, delayed, ready, due_second)
                values (j.space, j.queue, -1, 1, ${secondOf('j.due_at')});
                said := 'ok';
                line := j.queue;
                due := least(j.due_at, t);
                has_steps := j.priority;
            elsif action = 'reschedule' and j.state in (0, 1) and j.is_strict is not true then
                if only_state is not null and j.due_at = due_then then
                    continue;
                end if;
                update jobs x set state = (due_then <= t)::integer, due_at = due_then,
                    rank = due_then - x.priority * 600000::bigint
                where x.id = wanted and x.space = in_space returning x.rank into place;
                -- One that waits now may have been at the head of its lane.
                perform tell_lane(j.space, j.queue, j.lane, j.is_strict,
                    case when due_then <= t then place else ${HIGHEST_RANK} end);
                if j.state = 0 or due_then > t then
                    insert into deltas (space, queue, delayed, ready, due_second)
                    select j.space, j.queue, x.by * (x.state = 0)::integer, x.by * (x.state = 1)::integer,
                        case when x.state = 0 then ${secondOf('x.due_at')} end
                    from (values (-1, j.state, j.due_at), (1, (due_then <= t)::integer, due_then)) as x(by, state, due_at);
                end if;
                said := 'ok';
                line := j.queue;
                due := due_then;
                has_steps := j.priority;
            elsif action = 'prioritize' and j.state in (0, 1) then
                if only_state is not null and j.priority = steps then
                    continue;
                end if;
                update jobs x set priority = steps,
                    rank = case when x.is_strict then x.rank else x.due_at - steps * 600000::bigint end
                where x.id = wanted and x.space = in_space returning x.rank into place;
                if j.state = 1 then
                    perform tell_lane(j.space, j.queue, j.lane, j.is_strict, place);
                end if;
                said := 'ok';
                line := j.queue;
                due := j.due_at;
                has_steps := steps;
            elsif action = 'remove' and j.state in (0, 1) then
                delete from jobs x where x.id = wanted and x.space = in_space;
                delete from uniques u where u.job_id = wanted and u.space || '' = in_space and u.until is null;
                insert into deltas (space, queue, delayed, ready, due_second) select j.space, j.queue,
                    -(j.state = 0)::integer, -(j.state = 1)::integer, case when j.state = 0 then ${secondOf('j.due_at')} end;
                perform tell_lane(j.space, j.queue, j.lane, j.is_strict, ${HIGHEST_RANK});
                if j.group_id is not null then
                    ended := ended || row(j.group_id, j.nth, j.id, 6, null,
                        '{"kind":"cancel","message":"The job was removed."}')::outcomes;
                end if;
                removed := removed || wanted;
                removed_queues := removed_queues || j.queue;
                said := 'ok';
            else
                said := 'state';
            end if;
        else
            select x.* into a from archive x where x.id = wanted and x.space || '' = in_space for update;
            if not found then
                -- Another retry may just have taken it away.
                said := case when exists (select 1 from jobs x where x.id = wanted and x.space = in_space)
                    then 'state' else 'unknown' end;
                if only_state is not null then
                    continue;
                end if;
            elsif only_state is not null and a.state <> only_state then
                continue;
            elsif action = 'retry' then
                if a.group_id is not null and not may_rejoin(a.group_id) then
                    said := 'run';
                elsif a.unique_scope < 2 then
                    -- It was reserved, if nobody had it.
                    update uniques u set job_id = a.id, until = null
                    where u.space = a.space and u.queue = a.queue and u.key = a.unique_key and u.until <= t;
                    if not found then
                        said := 'unique';
                    end if;
                end if;
                if said is null then
                    delete from archive x where x.id = wanted and x.space || '' = in_space;
                    insert into jobs (id, space, queue, state, payload, headers, priority, overrides, due_at, rank,
                        enqueued_at, arrival, generation, unique_key, unique_scope, lane, cost, is_strict, group_id, nth)
                    values (a.id, a.space, a.queue, 1, a.payload,
                        -- What is done has handed on what comes after it.
                        case when a.state = 3 and strpos(a.headers, '${REST_OF_CHAIN}') > 0
                            then (a.headers::jsonb - '${REST_OF_CHAIN}')::text else a.headers end,
                        a.priority, a.overrides, due_from,
                        case when a.is_strict then nextval('arrivals') else due_from - a.priority * 600000::bigint end,
                        a.enqueued_at, a.arrival, a.generation + 1, a.unique_key, a.unique_scope, a.lane, a.cost, a.is_strict,
                        a.group_id, a.nth)
                    returning rank into place;
                    perform tell_lane(a.space, a.queue, a.lane, a.is_strict, place);
                    insert into deltas (space, queue, ready) values (a.space, a.queue, 1);
                    perform count_archived(a.space, a.queue, a.state, a.finished_at, -1);
                    if a.group_id is not null then
                        ended := ended || row(a.group_id, a.nth, a.id, null, null, null)::outcomes;
                    end if;
                    said := 'ok';
                    line := a.queue;
                    due := due_from;
                    has_steps := a.priority;
                end if;
            elsif action = 'remove' then
                delete from archive x where x.id = wanted and x.space || '' = in_space;
                perform count_archived(a.space, a.queue, a.state, a.finished_at, -1);
                removed := removed || wanted;
                removed_queues := removed_queues || a.queue;
                said := 'ok';
            else
                said := 'state';
            end if;
        end if;
        results[nth] := case when line is null then json_build_array(wanted, said)
            else json_build_array(wanted, said, line, due, has_steps) end;
    end loop;
    if removed is not null then
        insert into discarded (at, space, queue, ids)
        select t, in_space, r.queue, array_agg(r.id) from unnest(removed, removed_queues) as r(id, queue) group by r.queue;
        perform remove_notes(removed, in_space);
    end if;
    if ended is not null then
        enqueued := count_members(ended, null, t);
    end if;
    if action = 'retry' then
        perform forget_keys(t);
    end if;
    return json_build_array(coalesce((select json_agg(u.result order by u.n)
            from unnest(results) with ordinality as u(result, n) where u.result is not null), '[]'),
        array_to_json(enqueued))::text;
end $function$;

-- Tells a lane that a job of this rank is ready; of the highest rank: that the job may have been at its head.
create function ${schema}.tell_lane(in_space text, in_queue text, in_lane text, is_strict boolean, place bigint)
returns void
language sql ${fixedPath(schema)}
as $function$
    insert into news (space, queue, lane, rank)
    select in_space, in_queue, coalesce(in_lane, ''), place
    where (in_lane is not null and (is_strict or place < ${HIGHEST_RANK}))
        or (is_strict and exists (select 1 from lines l where l.space = in_space and l.queue = in_queue));
$function$;

create function ${schema}.count_archived(
    in_space text, in_queue text, state smallint, finished_at bigint, n integer) returns void
language sql ${fixedPath(schema)}
as $function$
    insert into deltas (space, queue, day, done, failed, dead, cancelled)
    values (in_space, in_queue, case when state = 5 then -1 else ${dayOf('finished_at')} end,
        case when state = 3 then n else 0 end, case when state = 4 then n else 0 end,
        case when state = 5 then n else 0 end, case when state = 6 then n else 0 end);
$function$;
`
}
