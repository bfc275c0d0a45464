import { CLOCK, dayOf, fixedPath, pins } from './pins.ts'
import { JOB_COLUMNS } from './tables.ts'

// Jobs of this settlement group that its token holds now, which is what every verdict is about. `state + 0` hides
// the state from the planner: it would else read the whole index of running jobs when it believes that there are few.
const HELD = `j.id = any(part) and j.state + 0 = 2 and j.token = g.token
                and (not g.expired or j.lease_until <= t)`

// Only the holder lets go of a key: by the job's own id, so the key of a later job is never touched.
const RELEASE = `delete from uniques u where u.until is null
                and u.job_id = any(array(select x.id from gone x where x.unique_scope < 2))`

/** The columns of an ended job: those of `x` with what the verdict changes. `changes` names them. */
function ended(changes: Readonly<Record<string, string>>): string {
  const counters: Record<string, string> = {
    starts: 'x.starts - g.refund::integer',
    errors: 'x.errors + (g.counter = 1)::integer',
    timeouts: 'x.timeouts + (g.counter = 2)::integer',
    lost: 'x.lost + (g.counter = 3)::integer',
    snoozes: 'x.snoozes + (g.counter = 4)::integer',
  }
  return JOB_COLUMNS.map((name) => changes[name] ?? counters[name] ?? `x.${name}`).join(', ')
}

const ARCHIVE = `insert into archive (${JOB_COLUMNS.join(', ')}, finished_at, expires_at)`

const FAILURE = 'coalesce(v.failure, case when g.goes <> 3 then x.failure end)'

// Texts come in two arrays beside the ids, which are empty when there are none at all.
const TEXTS = `left join unnest(part, results[first:first + g.size - 1], failures[first:first + g.size - 1])
                as v(id, result, failure) on v.id = x.id`

const COUNT_DONE = `insert into deltas (space, queue, day, running, done, failed, dead, cancelled)
            select x.space, x.queue, case when g.goes = 5 then -1 else ${dayOf('t')} end, -count(*),
                case when g.goes = 3 then count(*) else 0 end, case when g.goes = 4 then count(*) else 0 end,
                case when g.goes = 5 then count(*) else 0 end, case when g.goes = 6 then count(*) else 0 end
            from gone x group by x.space, x.queue`

const DISCARD = `
            with gone as (
                delete from jobs j where ${HELD} returning j.id, j.space, j.queue, j.unique_scope
            ), freed as (
                ${RELEASE}
            ), counted as (
                insert into deltas (space, queue, running)
                select x.space, x.queue, -count(*) from gone x group by x.space, x.queue
            ), remembered as (
                insert into discarded (at, token, ids)
                select t, g.token, array_agg(x.id) from gone x having count(*) > 0
                returning discarded.ids
            )
            select r.ids into hit from remembered r;`

function archive(texts: boolean): string {
  const changes = texts
    ? { state: 'g.goes', result: 'v.result', failure: FAILURE }
    : { state: 'g.goes', result: 'null', failure: 'case when g.goes <> 3 then x.failure end' }
  return `
            with gone as (
                delete from jobs j where ${HELD} returning j.*
            ), freed as (
                ${RELEASE}
            ), counted as (
                ${COUNT_DONE}
            ), put as (
                ${ARCHIVE}
                select ${ended(changes)}, t, t + g.keep
                from gone x ${texts ? TEXTS : ''}
                returning archive.id
            )
            select array_agg(p.id) into hit from put p;`
}

// Whoever cancelled a running job was told that it will not start again.
const STOP_CANCELLED = `
            with gone as (
                delete from jobs j where ${HELD} and j.cancel_reason is not null returning j.*
            ), freed as (
                ${RELEASE}
            ), counted as (
                insert into deltas (space, queue, day, running, cancelled)
                select x.space, x.queue, ${dayOf('t')}, -count(*), count(*) from gone x group by x.space, x.queue
            ), put as (
                ${ARCHIVE}
                select ${ended({
                  state: '6',
                  result: 'v.result',
                  failure: `'{"kind":"cancel","message":' || to_json(x.cancel_reason)::text || '}'`,
                })}, t, t + g.cancelled
                from gone x ${TEXTS}
                returning archive.id
            )
            select array_agg(p.id) into stopped from put p;`

const WAIT = `
            with gone as (
                update jobs j set state = g.goes, lease_until = null,
                    starts = j.starts - g.refund::integer,
                    errors = j.errors + (g.counter = 1)::integer,
                    timeouts = j.timeouts + (g.counter = 2)::integer,
                    lost = j.lost + (g.counter = 3)::integer,
                    snoozes = j.snoozes + (g.counter = 4)::integer,
                    result = v.result,
                    failure = coalesce(v.failure, j.failure),
                    due_at = case when g.goes = 0 then t + v.delay when g.place then j.due_at else t end,
                    rank = case when g.goes = 0 then t + v.delay when g.place then j.due_at else t end
                        - j.priority * 600000::bigint
                from unnest(part, results[first:first + g.size - 1], failures[first:first + g.size - 1],
                    delays[first:first + g.size - 1]) as v(id, result, failure, delay)
                where v.id = j.id and ${HELD} and j.cancel_reason is null
                returning j.id, j.space, j.queue, j.rank, j.due_at
            ), counted as (
                insert into deltas (space, queue, running, delayed, ready)
                select x.space, x.queue, -count(*), case when g.goes = 0 then count(*) else 0 end,
                    case when g.goes = 1 then count(*) else 0 end
                from gone x group by x.space, x.queue
            )
            select array_agg(x.id), waiting || (
                select array_agg(json_build_array(w.space, w.queue, g.goes, w.rank, w.due_at)) from (
                    select y.space, y.queue, min(y.rank) as rank, min(y.due_at) as due_at
                    from gone y group by y.space, y.queue) w)
            into hit, waiting from gone x;`

// The jobs of the group that were not touched, and why: [n, state, 0] if this token settled it before, [n, state, 1]
// if it was stopped just now, [n, reason] if it is refused.
const ODD = `
            odds := odds || (
                select array_agg(case
                    when p.id = any(stopped) then json_build_array(first + p.n - 1, 6, 1)
                    when j.token = g.token and j.state = 2 then json_build_array(first + p.n - 1, 'not-expired')
                    when j.token = g.token then json_build_array(first + p.n - 1, j.state, 0)
                    when j.id is not null then json_build_array(first + p.n - 1, 'lost')
                    when a.token = g.token then json_build_array(first + p.n - 1, a.state, 0)
                    when a.id is null and p.id = any(array(
                            select x.id from discarded d, unnest(d.ids) as x(id) where d.token = g.token))
                        then json_build_array(first + p.n - 1, g.goes, 0)
                    else json_build_array(first + p.n - 1, 'gone') end)
                from unnest(part) with ordinality as p(id, n)
                    left join lateral (select x.id, x.token, x.state from jobs x where x.id = p.id) j on true
                    left join lateral (select x.id, x.token, x.state from archive x where x.id = p.id) a on true
                where not (p.id = any(hit)));`

// Most jobs were started once and nothing else ever happened to them; for those it stays null.
const COUNTERS = `case when x.starts <> 1 or x.generation <> 0 or x.errors <> 0 or x.timeouts <> 0 or x.lost <> 0
                    or x.snoozes <> 0 then concat_ws(',', x.starts, x.errors, x.timeouts, x.lost, x.snoozes,
                    x.generation) end`

function taking(where: string): string {
  return `
                return query
                with taken as (
                    update jobs j set state = 2, token = lease.token, worker = lease.worker,
                        lease_until = t + lease.ms, started_at = t, starts = j.starts + 1
                    where ${where}
                    returning j.id, j.payload, j.headers, j.overrides, j.priority, j.due_at, j.enqueued_at, j.starts,
                        j.errors, j.timeouts, j.lost, j.snoozes, j.generation, j.unique_scope
                ), freed as (
                    delete from uniques u where u.until is null
                        and u.job_id = any(array(select x.id from taken x where x.unique_scope = 0))
                ), counted as (
                    insert into deltas (space, queue, ready, running)
                    select s.space, s.queue, -count(*), count(*) from taken having count(*) > 0
                )
                select nth, x.id, x.payload, x.headers, x.overrides, x.priority, x.due_at, x.enqueued_at, ${COUNTERS}
                from taken x;`
}

// The rows that were just locked are found again by their place, which costs less than by their ids.
const CLAIM = taking(`j.ctid = any(array(
                        select c.ctid from jobs c
                        where c.space = s.space and c.queue = s.queue and c.state = 1
                            and (c.rank, c.id) >= (s.rank, s.id)
                        order by c.rank, c.id limit room for update skip locked))`)

const CLAIM_NAMED = `
                chosen := array(
                    select w.id from unnest(lease.ids) with ordinality as w(id, n),
                        lateral (select 1 from jobs k where k.id = w.id
                            and k.space = s.space and k.queue = s.queue
                            and k.state in (0, 1) and k.due_at <= t) k
                    order by w.n limit room);
                with promoted as (
                    update jobs j set state = 1
                    where j.id = any(chosen) and j.state + 0 = 0 and j.due_at <= t
                        and j.space = s.space and j.queue = s.queue
                    returning 1
                )
                insert into deltas (space, queue, delayed, ready)
                select s.space, s.queue, -count(*), count(*) from promoted having count(*) > 0;
                ${taking(`j.ctid = any(array(
                        select c.ctid from jobs c
                        where c.id = any(chosen) and c.state + 0 = 1 and c.due_at <= t
                        for update skip locked))`)}`

const PROMOTE = `
                with promoted as (
                    update jobs j set state = 1
                    where j.ctid = any(array(
                        select c.ctid from jobs c
                        where c.space = s.space and c.queue = s.queue and c.state = 0
                            and c.due_at >= s.due and c.due_at <= t
                        order by c.due_at limit 1000 for update skip locked))
                    returning 1
                ), counted as (
                    insert into deltas (space, queue, delayed, ready)
                    select s.space, s.queue, -count(*), count(*) from promoted having count(*) > 0
                )
                select count(*) = 1000 into crowded from promoted;`

/**
 * settle_and_claim: ends leases as their verdicts say, inserts what their handlers enqueued, and leases the next jobs,
 * each part only if asked for. One call, one transaction.
 *
 * `ids` are the jobs to settle, ordered by group; a group shares token and verdict. The last row has no job: its
 * payload is JSON with `now`, `next` (when the next delayed job is due), `crowded` (more were due than one
 * claim promotes), `odd` (settlements that did not go as said, see ODD), `fresh` (what the inserts of each round said)
 * and `waiting` (queues to which jobs went back: [space, queue, state, lowest rank, first due time]).
 * Settlements come in rounds: those of one round end before the jobs enqueued in it are inserted.
 *
 * Searching starts at (rank, id) and at the due time that each source names: below lie the dead entries of jobs long
 * gone, which nothing can clean while some transaction keeps its snapshot open.
 */
export function settleFunction(schema: string): string {
  return `
create function ${schema}.settle_and_claim(
    ids uuid[], groups json, results text[], failures text[], delays bigint[], fresh json, claim json, at bigint)
returns table (nth integer, id uuid, payload text, headers text, overrides text, priority smallint,
    due_at bigint, enqueued_at bigint, counters text)
language plpgsql ${pins(schema)}
as $function$
#variable_conflict use_column
declare
    t bigint := coalesce(at, ${CLOCK});
    has_texts boolean := cardinality(results) > 0 or cardinality(failures) > 0;
    g record;
    s record;
    lease record;
    first integer := 1;
    part uuid[];
    hit uuid[];
    stopped uuid[];
    odds json[];
    added json[];
    waiting json[];
    round integer := 0;
    chosen uuid[];
    room bigint;
    taken_in_all bigint := 0;
    n bigint;
    next_due bigint;
    due bigint;
    crowded boolean := false;
    any_crowded boolean := false;
begin
    if groups is not null then
        for g in
            select * from json_to_recordset(groups) as g(token text, size integer, goes smallint, keep bigint,
                counter smallint, refund boolean, place boolean, cancelled bigint, expired boolean,
                round integer)
        loop
            if g.round > round then
                if fresh is not null then
                    added := array_append(added, insert_for(fresh, round, odds, t));
                end if;
                round := g.round;
            end if;
            part := case when g.size = cardinality(ids) then ids else ids[first:first + g.size - 1] end;
            hit := null;
            stopped := null;
            if g.goes < 3 then ${WAIT}
                if cardinality(hit) is distinct from g.size then ${STOP_CANCELLED}
                end if;
            elsif g.keep is null then ${DISCARD}
            elsif has_texts then ${archive(true)}
            else ${archive(false)}
            end if;
            if cardinality(hit) is distinct from g.size then
                hit := coalesce(hit, '{}');${ODD}
            end if;
            first := first + g.size;
        end loop;
        if fresh is not null then
            added := array_append(added, insert_for(fresh, round, odds, t));
        end if;
    end if;

    if claim is not null then
        select c.* into lease from json_to_record(claim) as c(token text, worker text, ms bigint, most bigint,
            ids uuid[]);
        for s in
            select * from rows from (json_to_recordset(claim -> 'sources') as (space text, queue text, most bigint,
                rank bigint, id uuid, due bigint)) with ordinality as s(space, queue, most, rank, id, due, nth)
        loop
            nth := s.nth;
            room := greatest(0, least(s.most, lease.most - taken_in_all));
            if lease.ids is null then
                select j.due_at into due from jobs j
                where j.space = s.space and j.queue = s.queue and j.state = 0 and j.due_at >= s.due
                order by j.due_at limit 1;
                if due <= t then ${PROMOTE}
                    any_crowded := any_crowded or crowded;
                end if;
            end if;
            if room > 0 and lease.ids is null then ${CLAIM}
                get diagnostics n = row_count;
                taken_in_all := taken_in_all + n;
            elsif room > 0 then ${CLAIM_NAMED}
                get diagnostics n = row_count;
                taken_in_all := taken_in_all + n;
            end if;
        end loop;
        if taken_in_all < lease.most then
            select min(d.due_at) into next_due
            from json_to_recordset(claim -> 'sources') as s(space text, queue text, due bigint),
                lateral (select j.due_at from jobs j
                    where j.space = s.space and j.queue = s.queue and j.state = 0
                        and j.due_at >= s.due
                    order by j.due_at limit 1) d;
        end if;
    end if;

    nth := null;
    payload := json_build_object('now', t, 'next', next_due, 'crowded', any_crowded, 'odd', array_to_json(odds),
        'fresh', array_to_json(added),
        'waiting', array_to_json(waiting))::text;
    return next;
end $function$;
`
}

/**
 * insert_for: inserts the jobs that the accepted settlements of a round brought along. Returns what was odd, as
 * insert_jobs does, counting only those it inserted.
 */
export function insertForFunction(schema: string): string {
  return `
create function ${schema}.insert_for(fresh json, this_round integer, odds json[], t bigint) returns json
language plpgsql ${fixedPath(schema)}
as $function$
declare
    refused integer[] := array(
        select (o ->> 0)::integer from unnest(odds) as o where coalesce(o ->> 2, '0') <> '1');
    b record;
    odd text;
begin
    select array_agg(f.id order by n) as ids, array_agg(f.payload order by n) as payloads,
        array_agg(f.space order by n) as spaces, array_agg(f.queue order by n) as queues,
        array_agg(f.priority order by n) as priorities, array_agg(f.delay order by n) as delays,
        array_agg(f.run_at order by n) as run_ats, array_agg(f.headers order by n) as headers,
        array_agg(f.overrides order by n) as overrides,
        coalesce(array_agg(f.key order by n) filter (where f.keyed), '{}') as keys,
        array_agg(f.scope order by n) as scopes, array_agg(f.window_ms order by n) as windows,
        array_agg(f.conflict order by n) as conflicts, (array_agg(f.id order by f.id))[1] as lowest,
        count(*) > count(distinct f.id) as doubled
    into b
    from (
        select f.*, bool_or(f.key is not null) over () as keyed
        from rows from (json_to_recordset(fresh) as (round integer, parent integer, id uuid, payload text,
                space text, queue text, priority smallint, delay bigint, run_at bigint, headers text,
                overrides text, key text, scope smallint, window_ms bigint, conflict smallint))
            with ordinality as f(round, parent, id, payload, space, queue, priority, delay, run_at, headers,
                overrides, key, scope, window_ms, conflict, n)
        where f.round = this_round and not (f.parent = any(refused))
    ) f;
    if b.ids is null then
        return null;
    end if;
    select i.odd into odd from insert_jobs(b.ids, b.payloads, b.spaces, b.queues, b.priorities, b.delays, b.run_ats,
        b.headers, b.overrides, b.keys, b.scopes, b.windows, b.conflicts, b.lowest, false, b.doubled, t) as i;
    return odd::json;
end $function$;
`
}
