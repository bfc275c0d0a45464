import { STRICT_RANKS_MS } from '../../../shared/counts.ts'
import { DAY_MS, SECOND_MS, SPAN_MS } from '../../../shared/due-counts.ts'
import { LOWEST } from '../../connection/literals.ts'
import { CLOCK, fixedPath, pins } from '../plan-settings.ts'
import { inQueue, isOutOfAge } from '../queue-hash.ts'
import { arrivalOf } from './tables.ts'

/** One row for each job, wherever it is. The order of the columns is what `rows.ts` reads. */
export function everyJobView(schema: string): string {
  const shared = `space, queue, state, payload, headers, priority, overrides, due_at, enqueued_at, started_at,
        generation, starts, errors, timeouts, lost, snoozes, token, worker, cancel_reason, unique_key, unique_scope,
        result, failure`
  const lanes = 'lane, is_strict, cost, group_id, nth'
  return `
create view ${schema}.every_job as
    select id, ${shared}, lease_until, null::bigint as finished_at, null::bigint as expires_at, ${lanes}, ${arrivalOf('jobs')} as arrival, rank
    from ${schema}.jobs
    union all
    select id, ${shared}, null::bigint, finished_at, expires_at, ${lanes}, arrival, null::bigint from ${schema}.archive;
`
}

const MATCHES = (time: string): string => `x.${time} >= since and x.${time} < before
            and (words is null or strpos(x.payload, words) > 0 or strpos(x.failure, words) > 0)`
// Of other lanes than the default one jobs are found by another index.
const IN_ANY_OR_DEFAULT = `(in_lane is null or x.lane is null)`

const AS_JOB = `x.id, x.space, x.queue, x.state, x.payload, x.headers, x.priority, x.overrides, x.due_at,
            x.enqueued_at, x.started_at, x.generation, x.starts, x.errors, x.timeouts, x.lost, x.snoozes, x.token,
            x.worker, x.cancel_reason, x.unique_key, x.unique_scope, x.result, x.failure`

/**
 * list_jobs: one page of a queue's jobs in one state, beyond (key, id). Delayed jobs by due time, running by start, ended
 * ones newest first, or oldest first; ready ones by rank, first those without a lane, then lane by lane, beyond (from_lane, key, id).
 */
export function listFunction(schema: string): string {
  const jobs = `return query select ${AS_JOB}, x.lease_until, null::bigint, null::bigint, x.lane, x.is_strict, x.cost, x.group_id, x.nth, ${arrivalOf('x')}, x.rank
        from jobs x where ${inQueue('x', 'in_space', 'in_queue')}`
  const waiting = (state: number, key: string, lane: string): string => `
        ${jobs} and x.state = ${state} and (x.${key}, x.id) > (key, beyond) and ${MATCHES(key)} and ${lane}
        order by x.${key}, x.id limit most;`
  const endedOf = (lane: string, isDown: boolean): string => `
        return query select ${AS_JOB}, null::bigint, x.finished_at, x.expires_at, x.lane, x.is_strict, x.cost, x.group_id, x.nth, x.arrival, null::bigint
        from archive x
        where x.space = in_space and x.queue = in_queue and x.state = in_state and (x.finished_at, x.id) ${isDown ? '<' : '>'} (key, beyond)
            and ${MATCHES('finished_at')} and ${lane}
        order by x.finished_at${isDown ? ' desc' : ''}, x.id${isDown ? ' desc' : ''} limit most;`
  const ended = (lane: string): string => `
        if oldest_first then ${endedOf(lane, false)}
        else ${endedOf(lane, true)}
        end if;`
  return `
create function ${schema}.list_jobs(in_space text, in_queue text, in_state smallint, most integer, key bigint,
    beyond uuid, since bigint, before bigint, words text, from_lane text, in_lane text, oldest_first boolean)
returns setof ${schema}.every_job
language plpgsql stable ${pins(schema)}
as $function$
#variable_conflict use_variable
declare
    n integer := 0;
begin
    if in_state = 1 then
        if from_lane = '' and coalesce(in_lane, '') = '' then
            ${jobs} and x.state = 1 and x.lane is null and (x.rank, x.id) > (key, beyond) and ${MATCHES('due_at')}
            order by x.rank, x.id limit most;
            get diagnostics n = row_count;
        end if;
        if n < most and in_lane is null then
            ${jobs} and x.state = 1 and x.lane is not null and (x.lane, x.rank, x.id) > (from_lane, key, beyond)
                and ${MATCHES('due_at')}
            order by x.lane, x.rank, x.id limit most - n;
        elsif n < most and in_lane <> '' then
            ${jobs} and x.state = 1 and x.lane = in_lane and (x.lane, x.rank, x.id) > (from_lane, key, beyond)
                and ${MATCHES('due_at')}
            order by x.rank, x.id limit most;
        end if;
    elsif in_state = 2 then ${waiting(2, 'started_at', `(in_lane is null or coalesce(x.lane, '') = in_lane)`)}
    elsif in_lane <> '' then
        if in_state = 0 then ${waiting(0, 'due_at', 'x.lane = in_lane')}
        else ${ended('x.lane = in_lane')}
        end if;
    elsif in_state = 0 then ${waiting(0, 'due_at', IN_ANY_OR_DEFAULT)}
    else ${ended(IN_ANY_OR_DEFAULT)}
    end if;
end $function$;
`
}

/**
 * expired_leases: running jobs whose lease is over, and those of `dead` workers whatever their leases say. Each
 * source names the lease end from which to search, see settle_and_claim. The last row has only the time.
 */
export function expiredFunction(schema: string): string {
  const columns = `x.id, x.space, x.queue, x.payload, x.headers, x.overrides, x.priority, x.due_at, x.enqueued_at,
            x.starts, x.errors, x.timeouts, x.lost, x.snoozes, x.generation, x.token, x.worker, x.cancel_reason,
            x.lease_until, x.lane`
  return `
create function ${schema}.expired_leases(sources json, dead text[], most integer, at bigint)
returns table (id uuid, space text, queue text, payload text, headers text, overrides text, priority integer,
    due_at bigint, enqueued_at bigint, starts integer, errors integer, timeouts integer, lost integer, snoozes integer,
    generation integer, token text, worker text, cancel_reason text, lease_until bigint, lane text, t bigint)
language plpgsql stable ${pins(schema)}
as $function$
#variable_conflict use_column
begin
    t := coalesce(at, ${CLOCK});
    return query
    select ${columns}, t
    from json_to_recordset(sources) as s(space text, queue text, since bigint),
        lateral (
            (select ${columns} from jobs x
            where ${inQueue('x', 's.space', 's.queue')} and x.state = 2
                and x.lease_until >= s.since and x.lease_until <= t
            order by x.lease_until, x.id limit most)
            union all
            (select ${columns} from jobs x
            where ${inQueue('x', 's.space', 's.queue')} and x.state = 2
                and x.lease_until > t and x.worker = any(dead) and cardinality(dead) > 0
            order by x.lease_until, x.id limit most)
        ) x
    order by x.lease_until, x.id limit most;
    id := null;
    return next;
end $function$;
`
}

/** One space stands for all. */
const LEASES = `select u.id, u.token, coalesce(u.space, spaces[1]) as space, u.n
        from unnest(ids, tokens, spaces) with ordinality as u(id, token, space, n)`

/** extend_leases: prolongs leases; for each, in order, `said` is ok, gone or lost. */
export function extendFunction(schema: string): string {
  return `
create function ${schema}.extend_leases(ids uuid[], tokens text[], spaces text[], lease_ms bigint, at bigint)
returns table (said text, cancel_reason text)
language plpgsql ${pins(schema)}
as $function$
#variable_conflict use_column
declare
    t bigint := coalesce(at, ${CLOCK});
begin
    if cardinality(ids) > 1 then
        perform lock_jobs(array(
            select j.id from (${LEASES}) u, lateral (
                select x.id from jobs x where x.id = u.id and x.space = u.space and x.token = u.token
                    and x.state + 0 = 2) j), spaces);
    end if;
    return query
    with kept as (
        update jobs j set lease_until = t + lease_ms
        from (${LEASES}) u
        where j.id = any(ids) and u.id = j.id and u.space = j.space and u.token = j.token and j.state + 0 = 2
        returning j.id, j.space, j.token, j.cancel_reason
    )
    select case when k.id is not null then 'ok' when j.id is not null then 'lost' else 'gone' end, k.cancel_reason
    from (${LEASES}) u
        left join kept k on k.id = u.id and k.space = u.space and k.token = u.token
        left join lateral (
            select x.id from jobs x where x.id = u.id and x.space = u.space and k.id is null) j on true
    order by u.n;
end $function$;
`
}

/**
 * count_jobs: how many jobs each queue of a space has in each state as they are stored, how many delayed ones are due, and when
 * the oldest waiting job became due. Each of these reads the beginning of an index. `from_queues` and the lists beside it name the
 * places from which to search, where they are known: of ready jobs whose place is their age, of other ready jobs, of delayed ones.
 * The last row has no queue, but the time.
 */
export function countFunction(schema: string): string {
  const begins = (width: number): string => `t / ${width} * ${width}`
  const dues = (width: number, from: string, to: string): string => `(select coalesce(sum(x.jobs), 0) from (
                select y.jobs from dues y where y.space = in_space and y.queue = c.queue and y.width = ${width}
                    and y.start >= ${from} and y.start < ${to} order by y.start) x)`
  const states = ['delayed', 'ready', 'running', 'done', 'failed', 'dead', 'cancelled']
  const list = states.join(', ')
  return `
create function ${schema}.count_jobs(in_space text, names text[], from_queues text[], from_ranks bigint[], from_ids uuid[],
    from_ages bigint[], from_dues bigint[], at bigint)
returns table (queue text, ${states.map((name) => `${name} bigint`).join(', ')}, overdue bigint, rank bigint, id uuid,
    age bigint, due bigint, oldest bigint)
language plpgsql stable ${fixedPath(schema)}
    set enable_sort = off
    set enable_bitmapscan = off
    set plan_cache_mode = force_generic_plan
    set jit = off
as $function$
#variable_conflict use_column
declare
    t bigint := coalesce(at, ${CLOCK});
begin
    return query
    select c.queue, ${states.map((name) => `c.${name}`).join(', ')}, coalesce(c.overdue + d.n, 0)::bigint,
        coalesce(p.rank, least(a.due_at, d.first)), coalesce(p.id, '00000000-0000-0000-0000-000000000000'), a.due_at, d.first,
        least(p.due_at, a.due_at, d.first)
    from (
        select p.queue, ${states.map((name) => `sum(p.${name})::bigint as ${name}`).join(', ')}, sum(p.overdue) as overdue
        from (
            select y.queue, ${list}, 0 as overdue from tallies y where y.space = in_space
            union all
            select y.queue, ${list}, case when y.due_second < ${begins(SECOND_MS)} then y.delayed else 0 end
            from deltas y where y.space = in_space
        ) p
        where names is null or p.queue = any(names)
        group by p.queue
    ) c
    left join lateral (
        select greatest(from_ranks[k.n], t - ${STRICT_RANKS_MS}) as rank, coalesce(from_ids[k.n], '00000000-0000-0000-0000-000000000000') as id,
            coalesce(from_ages[k.n], ${LOWEST}) as age, coalesce(from_dues[k.n], ${LOWEST}) as due
        from (select array_position(from_queues, c.queue) as n) k
    ) f on true
    left join lateral (
        select j.due_at from jobs j
        where ${inQueue('j', 'in_space', 'c.queue')} and ${isOutOfAge('j')} and j.due_at >= f.age
        order by j.due_at limit 1
    ) a on c.ready > 0
    left join lateral (
        -- Where a subquery is sorted, an index is read: sorting is off.
        select (select j.due_at from jobs j
                where j.space = in_space and j.queue = c.queue and j.state = 0 and j.due_at >= f.due and j.due_at <= t
                order by j.due_at limit 1) as first,
            (select count(*) from (select 1 from jobs j
                where j.space = in_space and j.queue = c.queue and j.state = 0 and j.due_at >= ${begins(SECOND_MS)}
                    and j.due_at <= t order by j.due_at) x)
            + ${dues(DAY_MS, '0', begins(DAY_MS))}
            + ${dues(SPAN_MS, begins(DAY_MS), begins(SPAN_MS))}
            + ${dues(SECOND_MS, begins(SPAN_MS), begins(SECOND_MS))} as n
    ) d on c.delayed > 0
    left join lateral (
        -- In front of it stand none but jobs with a priority. One that is younger than the oldest of these is not looked for.
        select j.rank, j.id, j.due_at from jobs j
        where ${inQueue('j', 'in_space', 'c.queue')} and j.state = 1 and j.lane is null and j.priority = 0
            and j.is_strict is not true and (j.rank, j.id) >= (f.rank, f.id) and j.rank < least(a.due_at, d.first, t + 1)
        order by j.rank, j.id limit 1
    ) p on c.ready > 0;
    queue := null;
    oldest := t;
    return next;
end $function$;
`
}
