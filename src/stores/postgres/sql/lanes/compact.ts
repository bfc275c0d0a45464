import { inQueue } from '../queue-hash.ts'
import { evaluated, LOWEST_RANK, lanePins, NEVER, PUT_LANES } from './rules.ts'

/** So many waiting lanes are looked at again in one claim. */
const WAKE_LIMIT = 2_000

// The lanes of which there are news, as they are after them: those that are known, and those that are new. With the offset each
// column is made once, and not again wherever it is used.
const TOLD = `select k.ctid as spot, coalesce(k.ver, 0) as ver, u.lane, coalesce(k.turn, line.clock - 1) as turn,
                    greatest(0, coalesce(k.running, 0) - u.freed) as running, coalesce(k.full_us, 0) as full_us,
                    greatest(coalesce(k.wait_until, 0), u.wait_until) as wait_until,
                    case when u.held then coalesce((
                        select max(coalesce(h.until, ${NEVER})) from holds h
                        where h.has_lane and h.space = in_space and h.queue = in_queue and h.lane = u.lane
                            and (h.until is null or h.until > t)), 0)
                        else coalesce(k.held_until, 0) end as held_until,
                    case when u.freed > 0 or u.rank is not null then 0 else coalesce(k.head_at, 0) end as head_at,
                    least(coalesce(k.head, u.rank, ${LOWEST_RANK}), u.rank) as head,
                    coalesce(k.active, false) or u.rank is not null as active, k.occupant, k.generation,
                    coalesce(k.eligible, false) and u.rank is null as stays, u.freed, u.rank,
                    keeps and k.ctid is not null and not k.eligible and k.wake_at is null and u.freed >= 0
                        and (u.freed > 0 or u.rank is not null) and u.wait_until is null and u.held is not true as may_wait
                from unnest(names, ended, ranks, waits, holding) as u(lane, freed, rank, wait_until, held)
                    left join lateral (
                        select x.ctid, x.* from lanes x
                        where x.space = in_space and x.queue = in_queue and x.lane = u.lane
                        order by x.ver desc limit 1
                    ) k on true offset 0`

const stored = (
  where: string,
  stays = 'x.eligible',
): string => `select x.ctid as spot, x.ver, x.lane, x.turn, x.running, x.full_us,
                    x.wait_until, x.held_until, x.head_at, x.head, x.active, x.occupant, x.generation, x.wake_at,
                    ${stays} as stays
                from lanes x where x.space = in_space and x.queue = in_queue and ${where}`

/**
 * fold_line: brings a limited queue up to date, under its lock: makes it limited if it was not, folds the news into its
 * lanes, and looks again at the lanes whose time has come. `from_rank` and `from_id`: where to look for jobs without a
 * lane, of whose arrival nobody tells. The caller writes the line back, with save_line, if it has changed.
 *
 * Most claims come with the ends of the leases before, and take the next job of the very lanes in which they ended. If the
 * caller says that it `keeps` such lanes (full or idle until now, and eligible from now on), they are not written here: it gets
 * where they are, their new turns, how many of their leases ended and the lowest rank that came, and writes each of them once.
 *
 * save_line: writes a line back. Neither pins anything: whoever calls them has done so, and to do it again takes as long as a
 * short statement.
 *
 * count_running: tells of the leases of a queue that nobody has counted: they began before it was limited, or no limit is
 * about them. A job that somebody is just settling is
 * passed over, and so is the end of its lease.
 */
export function foldLineFunction(schema: string): string {
  return `
create function ${schema}.fold_line(in_space text, in_queue text, t bigint, from_rank bigint, from_id uuid, keeps boolean,
    out line ${schema}.lines, out spot tid, out is_changed boolean,
    out kept_spots tid[], out kept_turns bigint[], out kept_freed bigint[], out kept_ranks bigint[])
language plpgsql
as $function$
#variable_conflict use_variable
declare
    q ${schema}.limits%rowtype;
    has_own boolean;
    names text[];
    ended bigint[];
    ranks bigint[];
    waits bigint[];
    holding boolean[];
    is_new boolean;
    is_dirty boolean;
    seen_to xid8;
    wakes bigint;
    n bigint;
begin
    select l.* into line from lines l where l.space = in_space and l.queue = in_queue order by l.ver desc limit 1;
    is_changed := false;
    if not found then
        insert into lines (space, queue, ver) values (in_space, in_queue, 1) returning * into line;
        perform count_running(in_space, in_queue);
    end if;
    select l.ctid into spot from lines l where l.space = in_space and l.queue = in_queue order by l.ver desc limit 1;
    select l.* into q from limits l where l.space = in_space and l.kind = 0 and l.name = in_queue and l.lane = '';
    has_own := exists (select 1 from limits l where l.space = in_space and l.kind = 1 and l.name = in_queue);

    -- A database that was restored elsewhere counts its transactions anew.
    if line.from_xid > pg_snapshot_xmax(pg_current_snapshot()) then
        line.from_xid := '0';
    end if;
    if (select x.active from lanes x where x.space = in_space and x.queue = in_queue and x.lane = ''
            order by x.ver desc limit 1) is not true
        and exists (select 1 from jobs j where ${inQueue('j', 'in_space', 'in_queue')} and j.state = 1
            and j.lane is null and (j.rank, j.id) >= (from_rank, from_id)) then
        insert into news (space, queue, lane, rank) values (in_space, in_queue, '', ${LOWEST_RANK});
    end if;

    with gone as (
        delete from news x where x.space = in_space and x.queue = in_queue and x.xid >= line.from_xid returning x.*
    ), paused as (
        insert into holds (kind, space, queue, has_lane, lane, reason, by_whom, since)
        select distinct on (g.lane) 'pause', in_space, in_queue, true, g.lane, g.pause, 'skep',
            min(g.at) over (partition by g.lane)
        from gone g where g.pause is not null order by g.lane, g.xid desc
        on conflict (kind, space, queue, has_lane, lane) do update
            set reason = excluded.reason, by_whom = excluded.by_whom, until = null,
                since = case when holds.until <= excluded.since then excluded.since else holds.since end
    )
    select array_agg(p.lane), array_agg(p.freed), array_agg(p.rank), array_agg(p.wait_until), array_agg(p.held),
        (select bool_or(g.lane is null and g.lanes is null) from gone g), pg_snapshot_xmin(pg_current_snapshot())
    into names, ended, ranks, waits, holding, is_dirty, seen_to
    from (
        select g.lane, sum(g.freed) as freed, min(g.rank) as rank, max(g.wait_until) as wait_until,
            bool_or(g.held) as held
        from (
            select g.lane, g.freed, g.rank, g.wait_until, g.held or g.pause is not null as held
            from gone g where g.lane is not null
            union all
            select u.lane, coalesce(u.frees, false)::integer, u.rank, null, null
            from gone g, unnest(g.lanes, g.frees, g.ranks) as u(lane, frees, rank)
            where u.frees or u.rank is not null
        ) g group by g.lane
    ) p;

    if names is not null then
        is_changed := true;
        line.running := greatest(0, line.running - (select sum(e.n) from unnest(ended) as e(n)));
        -- Limits that have changed concern all lanes, as they are stored.
        keeps := keeps and is_dirty is not true;
        with told as materialized (
            select e.*, e.may_wait and e.is_eligible as is_kept from (${evaluated(TOLD)}) e
        ), put as (
            ${PUT_LANES}
            from told n where l.ctid = n.spot and not n.is_kept
            returning l.wake_at
        ), made as (
            insert into lanes (space, queue, lane, ver, turn, running, wait_until, held_until, head, active,
                eligible, wake_at, slice)
            select in_space, in_queue, n.lane, 1, n.new_turn, n.running, n.wait_until, n.held_until, n.head,
                n.active, n.is_eligible, n.wakes_at, case when line.is_sliced then slice_of(n.lane) end
            from told n where n.spot is null
            returning wake_at
        )
        select least((select min(p.wake_at) from put p), (select min(m.wake_at) from made m)),
            array_agg(n.spot) filter (where n.is_kept), array_agg(n.new_turn) filter (where n.is_kept),
            array_agg(n.freed) filter (where n.is_kept), array_agg(n.rank) filter (where n.is_kept)
        into wakes, kept_spots, kept_turns, kept_freed, kept_ranks
        from told n;
        line.woken_to := least(line.woken_to, wakes);
    end if;
    if is_dirty then
        is_changed := true;
        with put as (
            ${PUT_LANES}
            from (${evaluated(stored('x.active'))}) n where l.ctid = n.spot
                and (n.is_eligible, n.wakes_at, n.new_turn) is distinct from (l.eligible, l.wake_at, l.turn)
            returning l.wake_at
        )
        select min(p.wake_at) into wakes from put p;
        line.woken_to := least(line.woken_to, wakes);
    end if;
    if is_changed then
        line.from_xid := seen_to;
    end if;
    if line.is_sliced then
        ${PUT_LANES}
        from (${evaluated(stored("x.lane = '' and x.eligible", 'false'))}) n where l.ctid = n.spot and n.new_turn > l.turn;
    end if;

    -- Mostly none waits, and to look costs less than to begin.
    if exists (select 1 from lanes x where x.space = in_space and x.queue = in_queue
        and x.wake_at >= line.woken_to and x.wake_at <= t) then
        with put as (
            ${PUT_LANES}
            from (${evaluated(
              `${stored(`x.wake_at >= line.woken_to and x.wake_at <= t
                    order by x.wake_at limit ${WAKE_LIMIT}`)}`,
            )}) n where l.ctid = n.spot
            returning n.wake_at
        )
        select count(*), max(p.wake_at) into n, wakes from put p;
        if n > 0 then
            is_changed := true;
            line.woken_to := case when n = ${WAKE_LIMIT} then wakes else greatest(line.woken_to, t) end;
        end if;
    end if;
end $function$;

create function ${schema}.save_line(spot tid, line ${schema}.lines) returns tid
language plpgsql
as $function$
#variable_conflict use_variable
begin
    update lines l set ver = line.ver + 1, clock = line.clock, scan_from = line.scan_from, running = line.running,
        full_us = line.full_us, woken_to = line.woken_to, from_xid = line.from_xid, is_sliced = line.is_sliced
    where l.ctid = spot returning l.ctid into spot;
    return spot;
end $function$;

create function ${schema}.count_running(in_space text, in_queue text) returns void
language sql ${lanePins(schema)}
as $function$
    with found as (
        update jobs x set counted = true
        where x.ctid = any(array(
            select j.ctid from jobs j
            where ${inQueue('j', 'in_space', 'in_queue')} and j.state = 2 and j.counted is not true
            for update skip locked))
        returning x.lane
    )
    insert into news (space, queue, lane, freed)
    select in_space, in_queue, coalesce(f.lane, ''), -count(*) from found f group by 3;
$function$;
`
}
