/** What the functions that claim from a limited queue begin and end with, and how they tell what they took. */
import { COUNTERS, IS_PLAIN } from '../jobs/claim.ts'

export const LINE_VARIABLES = `
    q limits%rowtype;
    s limits%rowtype;
    has_own boolean;
    -- Whether anybody has to know how many run. If not, the end of a lease concerns no lane.
    counts_leases boolean;
    line lines%rowtype;
    line_spot tid;
    is_changed boolean;
    -- Of the limit that the queue shares with others.
    meter lines%rowtype;
    meter_spot tid;
    others_running bigint := 0;
    other record;
    folded record;
    -- Lanes that fold_line has not written.
    kept_spots tid[];
    kept_turns bigint[];
    kept_freed bigint[];
    kept_ranks bigint[];
    taken bigint := 0;
    keyed uuid[];`

/**
 * Reads the limits and folds the news: those of the queues that share a limit with it too, for they free its room. `keeps`:
 * whether it writes the lanes itself that fold_line kept.
 */
export const openLine = (keeps: string): string => `
    select l.* into q from limits l where l.space = in_space and l.kind = 0 and l.name = in_queue and l.lane = '';
    has_own := exists (select 1 from limits l where l.space = in_space and l.kind = 1 and l.name = in_queue);
    if q.is_strict then
        -- A job that comes late may have any number.
        from_rank := -9007199254740991;
    end if;
    folded := fold_line(in_space, in_queue, t, from_rank, from_id, ${keeps});
    line := folded.line;
    line_spot := folded.spot;
    is_changed := folded.is_changed;
    kept_spots := folded.kept_spots;
    kept_turns := folded.kept_turns;
    kept_freed := folded.kept_freed;
    kept_ranks := folded.kept_ranks;
    if q.shared is not null then
        select l.* into s from limits l where l.space = in_space and l.kind = 2 and l.name = q.shared and l.lane = '';
        for other in
            select l.name from limits l
            where l.space = in_space and l.kind = 0 and l.shared = q.shared and l.name <> in_queue
        loop
            folded := fold_line(in_space, other.name, t, 9007199254740991, from_id, false);
            if folded.is_changed then
                perform save_line(folded.spot, folded.line);
            end if;
            others_running := others_running + (folded.line).running;
        end loop;
        if s.spacing is not null then
            select l.* into meter from lines l where l.space = in_space and l.queue = '=' || q.shared
            order by l.ver desc limit 1;
            if not found then
                insert into lines (space, queue, ver) values (in_space, '=' || q.shared, 1) returning * into meter;
            end if;
            select l.ctid into meter_spot from lines l where l.space = in_space and l.queue = '=' || q.shared
            order by l.ver desc limit 1;
        end if;
    end if;
    -- Nothing may have been said about the queue.
    counts_leases := q.is_strict is true or q.concurrency is not null or q.lane_concurrency is not null
        or s.concurrency is not null or (has_own and exists (select 1 from limits l
            where l.space = in_space and l.kind = 1 and l.name = in_queue and l.concurrency is not null));`

/** How many more leases the queue and the limit it shares have room for; null when neither has a limit. */
export const ROOM_IN_LINE = `least(q.concurrency - line.running, s.concurrency - others_running - line.running)`

export const CLOSE_LINE = `
    if taken > 0 then
        insert into deltas (space, queue, ready, running) values (in_space, in_queue, -taken, taken);
        if keyed is not null then
            delete from uniques u where u.until is null and u.job_id = any(keyed) and u.space || '' = in_space;
        end if;
        if meter_spot is not null then
            perform save_line(meter_spot, meter);
        end if;
    end if;
    if is_changed or taken > 0 then
        perform save_line(line_spot, line);
    end if;`

/** What a job is told as; the columns of the functions' rows. */
export const TOLD_COLUMNS = `id text, payload text, headers text, overrides text, priority integer, due_at text,
    enqueued_at bigint, counters text, lanes text, places text, told bigint`

/**
 * Leases the jobs in these places, of which it is locked that they are so, and returns them, plain ones in one row, in any order. Rows are
 * found by one list of places: a join with them would begin a scan for each.
 */
export function leasing(spots: string): string {
  return `with leased as (
                update jobs x set state = 2, token = lease_token, worker = lease_worker, lease_until = lease_end,
                    started_at = t, starts = x.starts + 1, counted = case when counts_leases then true end
                where x.ctid = any(${spots})
                returning x.id, x.payload, x.headers, x.overrides, nullif(x.priority, 0) as priority, x.due_at,
                    nullif(x.enqueued_at, x.due_at) as enqueued_at, ${COUNTERS} as counters, null as lane,
                    coalesce(x.lane, '') as in_lane, x.unique_scope
            )
            select string_agg(l.id::text, ','), string_agg(l.payload, chr(30)),
                max(l.headers), max(l.overrides), max(l.priority), string_agg(l.due_at::text, ','),
                max(l.enqueued_at), max(l.counters), string_agg(l.in_lane, chr(30)),
                count(*),
                array_agg(l.id) filter (where l.unique_scope = 0)
            from leased l group by case when ${IS_PLAIN} then null else l.id end`
}
