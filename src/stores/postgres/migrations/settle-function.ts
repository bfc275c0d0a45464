import { CLAIM, CLAIM_NAMED, NEXT_DUE, PROMOTE } from './claiming.ts'
import { ARCHIVE, ARCHIVE_WITH_TEXTS, DISCARD, ODD, STOP_CANCELLED, WAIT } from './ending.ts'
import { CLOCK, fixedPath, pins } from './pins.ts'

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
    q record;
    lands smallint;
    held_back uuid[];
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
            elsif has_texts then ${ARCHIVE_WITH_TEXTS}
            else ${ARCHIVE}
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
            if lease.ids is null then ${NEXT_DUE}
                if due <= t then ${PROMOTE}${NEXT_DUE}
                end if;
                if room > 0 then ${CLAIM}
                end if;
            else
                if room > 0 then ${CLAIM_NAMED}
                end if;${NEXT_DUE}
            end if;
            next_due := least(next_due, due);
        end loop;
        if taken_in_all >= lease.most then
            next_due := null;
        end if;
    end if;

    nth := null;
    payload := json_build_object('now', t, 'next', next_due, 'crowded', crowded, 'odd', array_to_json(odds),
        'fresh', array_to_json(added), 'waiting', array_to_json(waiting))::text;
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
    said text;
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
    said := insert_jobs(b.ids, b.payloads, b.spaces, b.queues, b.priorities, b.delays, b.run_ats,
        b.headers, b.overrides, b.keys, b.scopes, b.windows, b.conflicts, b.lowest, false, false, b.doubled, t);
    return case when strpos(said, ' ') > 0 then substr(said, strpos(said, ' ') + 1)::json end;
end $function$;
`
}
