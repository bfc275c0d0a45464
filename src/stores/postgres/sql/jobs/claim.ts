/** The parts of `settle_and_claim` that lease jobs. They see one source and `room`, how many to take. */
import { NOBODY } from '../locks.ts'
import { secondOf } from '../plan-settings.ts'
import { inQueue } from '../queue-hash.ts'

// The counters of a job that has started before, or was made anew.
export const COUNTERS = `case when x.starts <> 1 or x.generation <> 0 or x.errors <> 0 or x.timeouts <> 0 or x.lost <> 0
                        or x.snoozes <> 0 then concat_ws(',', x.starts, x.errors, x.timeouts, x.lost, x.snoozes,
                        x.generation) end`

const LEASED = `x.id, x.payload, x.headers, x.overrides, nullif(x.priority, 0) as priority, x.due_at,
                        nullif(x.enqueued_at, x.due_at) as enqueued_at, ${COUNTERS} as counters, x.lane`

// Nothing but an id, a short payload and a time: it can be told together with others.
export const IS_PLAIN = `l.lane is null and l.counters is null and l.headers is null and l.overrides is null and l.priority is null
                        and l.enqueued_at is null and octet_length(l.payload) <= 4096
                        and strpos(l.payload, chr(30)) = 0`

// The same with headers: those that all have some are told together too.
const HAS_HEADERS = IS_PLAIN.replace(
  'l.headers is null',
  'octet_length(l.headers) between 1 and 4096 and strpos(l.headers, chr(30)) = 0',
)

/**
 * Runs an update that leases jobs and returns them: the plain ones, which are nearly all, together in one row, because
 * a row costs more than what is in it; each of the others in a row of its own. `n` is how many there are.
 */
function telling(leases: string, which = 'true'): string {
  return `
                    for id, payload, headers, overrides, priority, due_at, enqueued_at, counters, lanes, told in
                        with leased as (${leases}
                            returning ${LEASED})
                        select string_agg(l.id::text, ','), string_agg(l.payload, chr(30)), string_agg(l.headers, chr(30)),
                            max(l.overrides), max(l.priority), string_agg(l.due_at::text, ','),
                            max(l.enqueued_at), max(l.counters), max(l.lane), count(*)
                        from leased l where ${which}
                        group by case when ${IS_PLAIN} then null when ${HAS_HEADERS} then ${NOBODY}::uuid else l.id end
                    loop
                        n := n + told;
                        return next;
                    end loop;`
}

// Nothing but an id, a short payload, a time and perhaps headers (IS_PLAIN and HAS_HEADERS, of a job that waits).
const IS_USUAL = `c.starts = 0 and c.errors = 0 and c.timeouts = 0 and c.lost = 0 and c.snoozes = 0 and c.generation = 0
                        and c.priority = 0 and c.enqueued_at = c.due_at and c.overrides is null
                        and octet_length(c.payload) <= 4096 and strpos(c.payload, chr(30)) = 0
                        and (c.headers is null
                            or (octet_length(c.headers) between 1 and 4096 and strpos(c.headers, chr(30)) = 0))`

/**
 * Locks the jobs that `which` finds, and reads what is to be told of them: of plain ones in `plain`, of those with headers in
 * `headed`, each as lists. Read here it need not be kept until the update has ended. Of the others, `others`, the update tells.
 * `is_mixed`: some of them come after the first of those that this call brings along.
 */
function finding(which: string): string {
  const lists = (kind: number): string => `array[string_agg(c.id::text, ',') filter (where c.kind = ${kind}),
                        string_agg(c.payload, chr(30)) filter (where c.kind = ${kind}),
                        string_agg(c.due_at::text, ',') filter (where c.kind = ${kind})]`
  return `
                select array_agg(c.ctid), array_agg(c.id) filter (where c.unique_scope = 0), count(*),
                    bool_or((c.rank, c.id) > (t, fresh[12]::uuid)), ${lists(0)}, ${lists(1)},
                    string_agg(c.headers, chr(30)) filter (where c.kind = 1), count(*) filter (where c.kind = 2)
                into spots, keyed, n, is_mixed, plain, headed, their_headers, others
                from (
                    select c.ctid, c.id, c.unique_scope, c.rank, c.payload, c.headers, c.due_at,
                        case when ${IS_USUAL} then (c.headers is not null)::integer else 2 end as kind
                    from jobs c where ${which} for update skip locked
                ) c;`
}

const UPDATE = `update jobs x set state = 2, token = lease_token, worker = lease_worker,
                                lease_until = lease_end, started_at = t, starts = x.starts + 1
                            where x.ctid = any(spots)`

/** Tells of jobs that were read before their lease. */
const told = (lists: string, headers: string): string => `
                    if ${lists}[1] is not null then
                        id := ${lists}[1];
                        payload := ${lists}[2];
                        due_at := ${lists}[3];
                        headers := ${headers};
                        return next;
                    end if;`

/**
 * Leases what was found. Locked rows are found again by their place, which costs less than by their ids. Keys that are
 * held only until the start are let go of.
 */
const LEASE = `
                if spots is not null then
                    overrides := null;
                    priority := null;
                    enqueued_at := null;
                    counters := null;
                    lanes := null;${told('plain', 'null')}${told('headed', 'their_headers')}
                    if others > 0 then
                        n := n - others;${telling(
                          `
                            ${UPDATE}`,
                          `not (${IS_PLAIN}) and not (${HAS_HEADERS})`,
                        )}
                    else
                        ${UPDATE};
                    end if;
                    insert into deltas (space, queue, ready, running) values (in_space, in_queue, -n, n);
                    taken_in_all := taken_in_all + n;
                    if keyed is not null then
                        delete from uniques u where u.until is null and u.job_id = any(keyed) and u.space || '' = in_space;
                    end if;
                end if;`

/** The lowest ranks. */
const FIND: string = finding(`${inQueue('c', 'in_space', 'in_queue')} and c.state = 1 and c.lane is null
                        and (c.rank, c.id) >= (from_rank, from_id)
                    order by c.rank, c.id limit room`)

/** Those of `ahead` that are in this source, before all others. */
const LEASE_AHEAD = `${finding(`c.id = any(ahead) and c.space = in_space and c.queue = in_queue and c.state + 0 = 1 and c.lane is null
                    order by c.rank, c.id limit room`)}
                room := room - n;${LEASE}`

/** What the call brings along is put in, and what there is room for is written as leased. */
const LEASE_OWN = `
                select b.* into brought from insert_leased(fresh, odds, room, lease_token, lease_worker, lease_end, t) b;
                if brought.said is not null then
                    added := array_append(added, brought.said);
                end if;
                if brought.taken is not null then
                    -- Whoever sent them knows the rest.
                    id := array_to_string(brought.taken, ',');
                    payload := null;
                    headers := null;
                    overrides := null;
                    priority := null;
                    due_at := t;
                    enqueued_at := null;
                    counters := null;
                    lanes := null;
                    room := room - cardinality(brought.taken);
                    taken_in_all := taken_in_all + cardinality(brought.taken);
                    return next;
                end if;
                own := null;`

/**
 * The lowest ranks, from a source to which this call may bring jobs of its own (`own`). Those are written as leased, which
 * spares them an entry in the order, and a second version of the row, if they go before all others (`is_ahead`), or are
 * the last in line: as long as nobody waits with a rank of this moment or later. Otherwise they are put in by
 * `bring`, and found like all others.
 */
export function claiming(bring: string): string {
  return `
            if i = own and is_ahead then${LEASE_OWN}
                if brought.said is not null then
                    ahead := fresh[4];
                end if;
            elsif i = own and ahead is not null then${bring}
                own := null;
            end if;
            if room > 0 and ahead is not null then${LEASE_AHEAD}
            end if;
            if room > 0 or i = own then${FIND}
                if i = own and is_mixed and n + cardinality(fresh[4]::uuid[]) > room then${bring}
                    own := null;${FIND}
                end if;
                room := room - n;${LEASE}
                if i = own then${LEASE_OWN}
                end if;
            end if;`
}

/** Counts delayed jobs that are ready now, by when they were due. */
export const COUNT_PROMOTED: string = `if promoted_dues is not null then
                    insert into deltas (space, queue, delayed, ready, due_second)
                    select in_space, in_queue, -count(*), count(*), ${secondOf('p.due_at')} as due_second
                    from unnest(promoted_dues) as p(due_at) group by 5;
                end if;`

/** Those of the named jobs that are in this source and due. */
export const CLAIM_NAMED: string = `
                chosen := array(
                    select w.id from unnest(named) with ordinality as w(id, n),
                        lateral (select 1 from jobs k where k.id = w.id
                            and k.space = in_space and k.queue = in_queue
                            and k.state in (0, 1) and k.lane is null and k.due_at <= t) k
                    order by w.n limit room);
                with promoted as (
                    update jobs j set state = 1
                    where j.ctid = any(array(
                        select c.ctid from jobs c
                        where c.id = any(chosen) and c.state + 0 = 0 and c.due_at <= t
                            and c.space = in_space and c.queue = in_queue for update skip locked))
                    returning j.due_at)
                select array_agg(p.due_at) into promoted_dues from promoted p;
                ${COUNT_PROMOTED}${finding('c.id = any(chosen) and c.space = in_space and c.queue = in_queue and c.state + 0 = 1 and c.due_at <= t')}${LEASE}`

/** What the token of an earlier claim holds, with leases that begin anew. */
export const CLAIM_AGAIN: string = `
                    n := 0;${telling(`
                            update jobs x set lease_until = lease_end
                            where ${inQueue('x', 'in_space', 'in_queue')} and x.state = 2 and x.token = lease_token`)}
                taken_in_all := taken_in_all + n;`

const DUE = (which: string): string => `update jobs j set state = 1
                    where j.ctid = any(array(
                        select c.ctid from jobs c
                        where c.space = in_space and c.queue = in_queue and c.state = 0
                            and c.due_at >= from_due and c.due_at <= t${which}
                        order by c.due_at limit 1000 for update skip locked))`

/**
 * Delayed jobs whose time has come. Their rank, and so their place, stays. If that is before the place from which this
 * claim was to search, it searches from there, and so does the next one. A lane hears of it if the queue is limited.
 */
export const PROMOTE: string = `
                if limited[i] then
                    with due as (${DUE('')} returning j.lane, j.rank, j.due_at
                    ), told as (
                        insert into news (space, queue, lanes, ranks)
                        select in_space, in_queue, array_agg(d.lane), array_agg(d.rank) from due d
                        where d.lane is not null having count(*) > 0
                    )
                    select count(*), min(d.rank) filter (where d.lane is null), array_agg(d.due_at) into n, low, promoted_dues from due d;
                else
                    with promoted as (${DUE(' and c.lane is null')} returning j.rank, j.due_at)
                    select count(*), min(p.rank), array_agg(p.due_at) into n, low, promoted_dues from promoted p;
                end if;
                ${COUNT_PROMOTED}
                if low < from_rank then
                    from_rank := low;
                    from_id := '00000000-0000-0000-0000-000000000000';
                    waiting := array_append(waiting, json_build_array(in_space, in_queue, 1, low, t));
                end if;
                crowded := crowded or n = 1000;`

/** When the next delayed job of the source is due, if there is one. */
export const NEXT_DUE: string = `
                select j.due_at into due from jobs j
                where j.space = in_space and j.queue = in_queue and j.state = 0 and j.due_at >= from_due
                order by j.due_at limit 1;`

/** From a limited queue, lane by lane, or those of the named jobs that may start; and when to look again. */
export const CLAIM_LIMITED: string = `
            looked_at := null;
            for id, payload, headers, overrides, priority, due_at, enqueued_at, counters, lanes, places, told in
                select c.* from claim_line(in_space, in_queue, room, t, lease_token, lease_worker, lease_end, from_rank,
                    from_id, slices[2 * i - 1], slices[2 * i]) c where named is null
                union all
                select c.* from claim_named_of_line(in_space, in_queue, room, t, lease_token, lease_worker, lease_end,
                    from_rank, from_id, named, slices[2 * i - 1], slices[2 * i]) c where named is not null
            loop
                if id is not null then
                    taken_in_all := taken_in_all + told;
                    return next;
                else
                    looked_at := enqueued_at;
                    first_rank := due_at;
                    first_id := payload;
                end if;
            end loop;${NEXT_DUE}
            due := least(due, looked_at);`
