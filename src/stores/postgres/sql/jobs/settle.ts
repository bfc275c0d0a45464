import { gate, lineLock, NEVER } from '../lanes/rules.ts'
import { untilFree } from '../locks.ts'
import { CLOCK, fixedPath, pins } from '../plan-settings.ts'
import { CLAIM_AGAIN, CLAIM_LIMITED, CLAIM_NAMED, claiming, NEXT_DUE, PROMOTE } from './claim.ts'
import { ARCHIVE, ARCHIVE_WITH_TEXTS, DISCARD, ODD, STOP_CANCELLED, WAIT } from './finish.ts'
import { REFUSED } from './insert-simple.ts'

/** What the settlements of a round brought along. */
const BRING = `
                select b.* into brought from insert_for(fresh, round, is_single, odds, t) b;
                added := array_append(added, brought.said);
                ended := ended || brought.ended;
                due_jobs := due_jobs || brought.due;
                enqueued := enqueued || brought.enqueued;`

/**
 * settle_and_claim: ends leases as their verdicts say, inserts what their handlers enqueued, and leases the next jobs,
 * each part only if asked for. One call, one transaction.
 *
 * `ids` are the jobs to settle, ordered by group; a group shares token and verdict, written as text: size, state, keep,
 * counter, refund, place, keep if cancelled, only if expired, round, the token that is kept ("=" if it is theirs), notes, for how long the lane waits, whether
 * its place in its group is handed on, and the space of the jobs;
 * `pauses` has the reason if it is paused. Settlements come in rounds: those of one round end
 * before what they brought along (`fresh`, each JSON or null: jobs they enqueued, groups, and moves of runs; or, if nothing
 * is unusual about the jobs, their columns, see insert_simple) is put in.
 *
 * `lease` is token, worker, length and limit, a fifth if an earlier claim with this token is asked about, and a sixth if some
 * jobs go before all others: their ids, or "all" that the settlements bring along. Of each source `numbers` has three: limit, rank and due time from which to
 * search. Below those lie the dead entries of jobs long gone, which nothing can clean while some transaction keeps its
 * snapshot open. If some are about ranges of keys, `slices` has two of each source, the first slice and the one before
 * which it ends; null for all keys.
 *
 * A row is one job, or many that are plain (see IS_PLAIN): then id, payload and due_at are lists, and headers if they have some. Null stands for what is
 * usual: no priority, due when it was enqueued, started once. Without a payload they are jobs that came with this very call, and id is a list.
 *
 * The last row has no job, but the time in due_at, the next due time in enqueued_at, and in counters whether more jobs
 * were due than one claim promotes. Its payload is JSON, if there is something to tell: `odd` (settlements that did
 * not go as said, see ODD), `fresh` (what the inserts of each round said), and `waiting` (queues to which jobs went
 * back: [space, queue, state, lowest rank, first due time]), and `limited` (sources that are limited: [n, and the rank
 * and id of the first job without a lane]), `enqueued` (what groups and moves have enqueued, see insert_given), and `held` (sources that are held: [n]).
 *
 * Of a job in a lane `lanes` has the lane; of jobs of limited queues it is a list like the others, and `places` of some rows has ids: in the
 * order in which jobs of their source were taken.
 */
export function settleFunction(schema: string): string {
  return `
create function ${schema}.settle_and_claim(
    ids uuid[], groups text[], tokens text[], pauses text[], results text[], failures text[], delays bigint[], fresh text[],
    lease text[], named uuid[], spaces text[], queues text[], numbers bigint[], from_ids uuid[], slices integer[], at bigint,
    inside boolean default false)
returns table (nth integer, id text, payload text, headers text, overrides text, priority integer,
    due_at text, enqueued_at bigint, counters text, lanes text, places text)
language plpgsql ${pins(schema)}
as $function$
#variable_conflict use_column
declare
    t bigint := coalesce(at, ${CLOCK});
    -- Of settlements.
    has_texts boolean := cardinality(results) > 0 or cardinality(failures) > 0;
    fields text[];
    my_space text;
    my_token text;
    -- Identifies the settlement when it is repeated; null if nothing does, after a rescue.
    kept_token text;
    size integer;
    goes smallint;
    keep bigint;
    counter smallint;
    refund integer;
    stays boolean;
    keep_cancelled bigint;
    only_expired boolean;
    lane_wait bigint;
    lane_pause text;
    hands_on boolean;
    concerns_lane boolean;
    round integer := 0;
    first integer := 1;
    part uuid[];
    free uuid[];
    q record;
    lands smallint;
    hit uuid[];
    held_back uuid[];
    stopped uuid[];
    odds json[];
    added json[];
    waiting json[];
    -- Members that ended, jobs that groups have to enqueue, and what was enqueued by them and by moves.
    ended outcomes[];
    due_jobs json[];
    enqueued json[];
    brought record;
    -- The source from which this call claims, and to whose queue alone the settlements bring jobs, with nothing unusual.
    own integer;
    is_mixed boolean;
    -- Jobs that go before all others; and whether they are what the settlements bring along.
    ahead uuid[];
    is_ahead boolean := coalesce(lease[6] = 'all', false);
    -- What they bring takes more than one kind of lock, or the same in several steps.
    busy text;
    is_single boolean := split_part(groups[cardinality(groups)], ',', 9) = '0';
    is_careful boolean := fresh is not null
        and (not is_single or strpos(array_to_string(fresh[1:3], ''), '"unique":{') > 0);
    -- Of claims.
    lease_token text := lease[1];
    lease_worker text := lease[2];
    lease_end bigint := t + lease[3]::bigint;
    most bigint := lease[4];
    in_space text;
    in_queue text;
    from_rank bigint;
    from_id uuid;
    from_due bigint;
    chosen uuid[];
    spots tid[];
    promoted_dues bigint[];
    keyed uuid[];
    -- What is told of jobs that were found: lists of ids, payloads and times.
    plain text[];
    headed text[];
    their_headers text;
    others bigint;
    room bigint;
    taken_in_all bigint := 0;
    n bigint;
    told bigint;
    low bigint;
    next_due bigint;
    due bigint;
    crowded boolean;
    -- Of holds and limits, by source.
    held bigint[];
    held_until bigint;
    -- Sources that were left as they are: nobody has looked for delayed jobs there.
    skipped integer[];
    is_limited boolean;
    limited boolean[];
    locks bigint[];
    firsts json[];
    first_rank bigint;
    first_id uuid;
    looked_at bigint;
begin
    if is_careful and not inside then ${untilFree(`return query select s.* from settle_and_claim(ids, groups, tokens, pauses, results, failures, delays, fresh,
                lease, named, spaces, queues, numbers, from_ids, slices, at, true) s;
            return;`)}
    end if;
    if is_careful then
        perform prepare_given(ids, json_strip_nulls(json_build_object(
            'jobs', fresh[1]::json, 'groups', fresh[2]::json, 'moves', fresh[3]::json)), t);
    end if;
    for i in 1..cardinality(groups) loop
        fields := string_to_array(groups[i], ',', '');
        my_token := tokens[i];
        size := fields[1];
        goes := fields[2];
        keep := fields[3];
        counter := fields[4];
        refund := fields[5];
        stays := fields[6]::integer;
        keep_cancelled := fields[7];
        only_expired := fields[8]::integer;
        kept_token := case when fields[10] = '=' then my_token else fields[10] end;
        lane_wait := fields[12];
        hands_on := fields[13] = '1';
        my_space := fields[14];
        lane_pause := pauses[i];
        concerns_lane := lane_wait is not null or lane_pause is not null;
        if fields[9]::integer > round then
            if fresh is not null then ${BRING}
            end if;
            round := fields[9];
        end if;
        part := case when size = cardinality(ids) then ids else ids[first:first + size - 1] end;
        hit := null;
        stopped := null;
        if only_expired then
            -- Whoever has locked it is ending the lease, or prolongs it.
            free := array(select x.id from jobs x where x.id = any(part) and x.space = my_space for update skip locked);
        end if;
        if goes < 3 then ${WAIT}
            if cardinality(hit) is distinct from size then ${STOP_CANCELLED}
            end if;
        elsif keep is null then ${DISCARD}
        elsif has_texts then ${ARCHIVE_WITH_TEXTS}
        else ${ARCHIVE}
        end if;
        if cardinality(hit) is distinct from size then
            hit := coalesce(hit, '{}');${ODD}
        end if;
        first := first + size;
    end loop;
    if fresh[4] is not null and named is null and slices is null and lease[5] is null then
        own := (select s.n from unnest(spaces, queues) with ordinality as s(space, queue, n)
            where array[s.space] = fresh[7]::text[] and array[s.queue] = fresh[8]::text[] limit 1);
    end if;
    if fresh is not null and own is null then ${BRING}
    end if;
    if not is_ahead then
        ahead := lease[6];
    elsif own is null then
        ahead := coalesce(fresh[4]::uuid[], array(select (e ->> 'id')::uuid from json_array_elements(fresh[1]::json) as e));
    end if;
    -- Before the claim, which may take what groups have enqueued.
    if ended is not null or due_jobs is not null then
        enqueued := enqueued || case when is_careful then count_and_fire(ended, due_jobs, true, t)
            else count_members(ended, due_jobs, t) end;
    end if;
    if is_careful then
        perform forget_keys(t);
    end if;

    if cardinality(spaces) > 0 then
        if lease[5] is null then
            perform pg_advisory_xact_lock_shared(${gate(schema)});
        end if;
        for i in 1..cardinality(spaces) loop
            select (select max(coalesce(h.until, ${NEVER})) from holds h
                    where not h.has_lane and h.space in ('', spaces[i]) and (h.until is null or h.until > t)
                        and (h.pattern is null or queues[i] like h.pattern)),
                (select l.ver from lines l where l.space = spaces[i] and l.queue = queues[i]
                    order by l.ver desc limit 1) is not null
                or exists (select 1 from news w where w.space = spaces[i] and w.queue = queues[i])
            into held_until, is_limited;
            held[i] := held_until;
            limited[i] := is_limited;
            if is_limited and lease[5] is null then
                locks := locks || ${lineLock(schema, 'spaces[i]', 'queues[i]')};
            end if;
        end loop;
        if locks is not null then
            -- In one order, so that nobody waits in a circle. Then time has gone by.
            for q in select k from unnest(locks) as k group by k order by k loop
                perform pg_advisory_xact_lock(q.k);
            end loop;
            t := coalesce(at, ${CLOCK});
            lease_end := t + lease[3]::bigint;
        end if;
    end if;

    for i in 1..cardinality(spaces) loop
        nth := nullif(i, 1);
        places := null;
        in_space := spaces[i];
        in_queue := queues[i];
        room := greatest(0, least(numbers[3 * i - 2], most - taken_in_all));
        if slices[2 * i - 1] > 0 and not limited[i] then
            -- All jobs without a lane are in the first slice.
            room := 0;
        end if;
        from_rank := numbers[3 * i - 1];
        from_due := numbers[3 * i];
        from_id := from_ids[i];
        due := null;
        if i = own and (held[i] is not null or limited[i]) then ${BRING}
            own := null;
        end if;
        if lease[5] is not null then ${CLAIM_AGAIN}${NEXT_DUE}
        elsif held[i] is not null then
            due := nullif(held[i], ${NEVER});
            skipped := array_append(skipped, i);
        elsif limited[i] then
            if named is null then ${NEXT_DUE}
                if due <= t then ${PROMOTE}
                end if;
            end if;${CLAIM_LIMITED}
        elsif named is null then ${NEXT_DUE}
            if due <= t then ${PROMOTE}${NEXT_DUE}
            end if;${claiming(BRING)}
        else
            if room > 0 then ${CLAIM_NAMED}
            end if;
            -- Who got all that was named does not ask when to look again, and so nothing is searched for.
            if taken_in_all < most then ${NEXT_DUE}
            end if;
        end if;
        next_due := least(next_due, due);
        if limited[i] then
            firsts := firsts || json_build_array(i, first_rank, first_id);
            first_rank := null;
            first_id := null;
        end if;
    end loop;

    nth := null;
    id := null;
    payload := null;
    headers := null;
    overrides := null;
    priority := null;
    due_at := t;
    enqueued_at := case when taken_in_all < most then next_due end;
    counters := crowded::text;
    lanes := null;
    places := null;
    if odds is not null or added is not null or waiting is not null or firsts is not null or enqueued is not null
        or skipped is not null then
        payload := json_build_object('odd', array_to_json(odds), 'fresh', array_to_json(added),
            'waiting', array_to_json(waiting), 'limited', array_to_json(firsts), 'enqueued', array_to_json(enqueued),
            'held', array_to_json(skipped));
    end if;
    return next;
end $function$;
`
}

/**
 * insert_for: what the accepted settlements of a round brought along: moves of runs, groups, and jobs. Returns what was odd
 * about the jobs, as insert_given does; what count_members has to count and to enqueue; and what it enqueued itself.
 */
export function insertForFunction(schema: string): string {
  const accepted = (
    n: number,
  ): string => `case when is_single and cardinality(refused) = 0 then fresh[${n}]::json else (
            select json_agg(e order by n) from json_array_elements(fresh[${n}]::json) with ordinality as x(e, n)
            where (e ->> 'round')::integer = this_round and not ((e ->> 'parent')::integer = any(refused))) end`
  return `
create function ${schema}.insert_for(fresh text[], this_round integer, is_single boolean, odds json[], t bigint,
    out said json, out ended ${schema}.outcomes[], out due json[], out enqueued json[])
language plpgsql ${fixedPath(schema)}
as $function$
declare
    refused integer[] := ${REFUSED};
    a record;
    given record;
begin
    if fresh[3] is not null then
        select x.* into a from apply_moves(${accepted(3)}, t) x;
        ended := a.ended;
        due := a.due;
        enqueued := a.enqueued;
    end if;
    if fresh[2] is not null then
        due := due || make_groups(${accepted(2)}, t);
    end if;
    if fresh[1] is not null then
        select x.* into given from insert_given(fresh[1]::json, this_round, refused, t) x;
        said := given.odds;
        ended := ended || given.ended;
    end if;
    if fresh[4] is not null then
        said := insert_simple(fresh, odds, t);
    end if;
end $function$;
`
}
