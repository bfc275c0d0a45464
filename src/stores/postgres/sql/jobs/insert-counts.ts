import { secondOf } from '../plan-settings.ts'

/** What the functions that insert jobs share. They see the time as `t`. */

// One array for each column. An array of one element stands for a column in which all jobs are the same, an empty
// one for a column in which all are null: `unnest` fills the rest with nulls.
export const INCOMING: string = `
        select u.n, u.id, u.payload, u.headers, u.overrides, u.run_at, u.key, u.scope, u.window_ms, u.conflict,
            case when cardinality(lanes) = 1 then lanes[1] else u.lane end as lane,
            case when cardinality(costs) = 1 then costs[1] else u.cost end as cost,
            case when cardinality(stricts) = 1 then stricts[1] else u.is_strict end as is_strict,
            case when cardinality(of_groups) = 1 then of_groups[1] else u.group_id end as group_id,
            case when cardinality(nths) = 1 then nths[1] else u.nth end as nth,
            coalesce(u.space, spaces[1]) as space,
            coalesce(u.queue, queues[1]) as queue,
            coalesce(u.priority, priorities[1]) as priority,
            coalesce(u.delay, delays[1]) as delay
        from unnest(ids, payloads, spaces, queues, priorities, delays, run_ats, headers, overrides,
                keys, scopes, windows, conflicts, lanes, costs, stricts, of_groups, nths)
            with ordinality as u(id, payload, space, queue, priority, delay, run_at, headers, overrides,
                key, scope, window_ms, conflict, lane, cost, is_strict, group_id, nth, n)`

export const due = (job: string): string => `greatest(t + ${job}.delay, coalesce(${job}.run_at, 0))`

/** Inserts `job`: an alias of INCOMING, or a record. */
export const insert = (job: string): string => `insert into jobs
            (id, space, queue, state, payload, headers, priority, overrides, due_at, rank, enqueued_at,
             unique_key, unique_scope, lane, cost, is_strict, group_id, nth)
        select ${job}.id, ${job}.space, ${job}.queue, case when ${due(job)} > t then 0 else 1 end, ${job}.payload,
            ${job}.headers, ${job}.priority, ${job}.overrides, ${due(job)},
            case when ${job}.is_strict then nextval('arrivals') else ${due(job)} - ${job}.priority * 600000::bigint end, t,
            ${job}.key, ${job}.scope, ${job}.lane, ${job}.cost, ${job}.is_strict,
            ${job}.group_id, ${job}.nth`

export const COUNT_FRESH: string = `insert into deltas (space, queue, delayed, ready, due_second)
        select f.space, f.queue, count(*) filter (where f.state = 0), count(*) filter (where f.state = 1), f.due_second
        from (select x.space, x.queue, x.state, case when x.state = 0 then ${secondOf('x.due_at')} end as due_second from fresh x) f
        group by f.space, f.queue, f.due_second`

/** Tells the lanes of what was inserted; and that the queue has lanes, even if nothing is ready yet. */
export const TELL_FRESH: string = `insert into news (space, queue, lanes, ranks)
        select l.space, l.queue, array_agg(l.lane), array_agg(l.rank)
        from (
            select f.space, f.queue, f.lane, min(f.rank) filter (where f.state = 1) as rank
            from fresh f where f.lane is not null group by f.space, f.queue, f.lane
        ) l group by l.space, l.queue`
