import { PORTIONS } from '../../../../core/lanes/lanes.ts'
import { evaluated, lanePins, PUT_LANES } from './rules.ts'
import { FEW_EACH, ONE_EACH, PICKED, SIMPLE } from './select.ts'
import { CLOSE_LINE, LINE_VARIABLES, leasing, openLine, ROOM_IN_LINE, TOLD_COLUMNS } from './state.ts'

/** One claim looks so often for lanes that have something. If that is not enough, the caller is told to come back at once. */
const ROUNDS = 12

// The lanes that were looked at, as they are afterwards.
const SERVED = `select k.ctid as spot, k.ver, k.lane,
                    case when u.count = 0 then u.turn
                        else greatest(u.turn, line.clock - 1 - u.first_stride) + u.strides end
                        as turn,
                    greatest(0, k.running - coalesce(u.freed, 0)) + case when counts_leases then u.count else 0 end as running,
                    case when u.count > 0 and u.spacing is not null
                        then greatest(k.full_us, t * 1000) + u.costs * u.spacing else k.full_us end as full_us,
                    greatest(k.wait_until, u.waits, case when u.count > 0 and u.spacing is not null then starts_at(
                        greatest(k.full_us, t * 1000) + u.costs * u.spacing, 1, u.spacing, u.burst) end) as wait_until,
                    k.held_until, coalesce(u.due, case when u.freed is null then k.head_at else 0 end) as head_at,
                    greatest(least(k.head, u.rank), u.head) as head, u.has_more as active,
                    case when u.count = 0 then k.occupant when q.is_strict then u.occupant end as occupant,
                    case when u.count = 0 then k.generation when q.is_strict then u.generation end as generation,
                    false as stays
                from unnest(lane_spots, lane_turns, lane_freed, lane_ranks, lane_counts, lane_strides, lane_firsts, lane_costs, lane_waits, lane_dues, lane_heads,
                        lane_more, lane_occupants, lane_generations, lane_spacings, lane_bursts)
                    as u(spot, turn, freed, rank, count, strides, first_stride, costs, waits, due, head, has_more, occupant, generation,
                        spacing, burst), lateral (select x.ctid, x.* from lanes x where x.ctid = u.spot) k`

// The same after ONE_EACH and FEW_EACH: a lane is full now, or has nothing, unless no more was wanted; so nothing has to follow from
// the rest.
const PUT_EACH = `
                update lanes l set ver = l.ver + 1, running = greatest(0, l.running - coalesce(u.freed, 0)) + u.count,
                    turn = case when u.count = 0 then u.turn
                        else greatest(u.turn, line.clock - 1 - u.first_stride) + u.strides end,
                    head_at = case when u.freed is null then l.head_at else 0 end,
                    head = greatest(least(l.head, u.rank), u.head), active = u.has_more,
                    occupant = case when u.count = 0 then l.occupant else u.occupant end,
                    generation = case when u.count = 0 then l.generation else u.generation end,
                    eligible = u.is_left is true, wake_at = null
                from unnest(lane_spots, lane_turns, lane_freed, lane_ranks, lane_counts, lane_strides, lane_firsts, lane_heads,
                        lane_more, lane_left, lane_occupants, lane_generations)
                    as u(spot, turn, freed, rank, count, strides, first_stride, head, has_more, is_left, occupant, generation)
                where l.ctid = u.spot;`

// The lanes that were kept and are not among those.
const PUT_KEPT = `
            update lanes l set ver = l.ver + 1, turn = u.turn, running = greatest(0, l.running - u.freed), head_at = 0,
                head = least(l.head, u.rank), active = l.active or u.rank is not null, eligible = true, wake_at = null
            from unnest(kept_spots, kept_turns, kept_freed, kept_ranks) as u(spot, turn, freed, rank)
            where l.ctid = u.spot and u.spot not in (select x.spot from unnest(lane_spots) as x(spot));`

/**
 * claim_line: leases up to \`room\` jobs of a limited queue, each portion from the lane whose turn it is, as \`Line.serve\` of
 * the memory store does one by one. Here whole rounds are taken at once: the tag of a job is the turn its lane will have
 * when it starts, a portion begins at the tag of its first job, and the n jobs of a claim are the first n by (beginning,
 * lane). A round takes of them what it can be sure of; the next round sees the lanes that have moved on.
 *
 * From a range of keys it takes only of the lanes in the slices from `first_slice` on and before `end_slice`.
 *
 * A row is one job or many plain ones, in any order; one of them has in \`places\` the ids of all that were taken, in the order in
 * which they were. The last row has no job, but in enqueued_at when to look
 * again, and in due_at and payload the rank and id of the first job without a lane.
 */
export function serveLineFunction(schema: string): string {
  return `
create function ${schema}.claim_line(in_space text, in_queue text, room bigint, t bigint, lease_token text,
    lease_worker text, lease_end bigint, from_rank bigint, from_id uuid, first_slice integer, end_slice integer)
returns table (${TOLD_COLUMNS})
language plpgsql ${lanePins(schema)}
as $function$
#variable_conflict use_column
declare${LINE_VARIABLES}
    wanted bigint;
    portion constant bigint := greatest(1, room / ${PORTIONS});
    -- What a lane may be expected to give.
    per_lane float8;
    most_lanes bigint;
    rounds integer := 0;
    spots tid[];
    picks uuid[];
    held tid[];
    in_order tid[];
    skipped uuid[] := '{}';
    asides text[] := '{}';
    stuck text[] := '{}';
    lane_spots tid[];
    lane_turns bigint[];
    lane_freed bigint[];
    lane_ranks bigint[];
    lane_counts bigint[];
    lane_strides bigint[];
    lane_firsts bigint[];
    lane_costs bigint[];
    lane_waits bigint[];
    lane_dues bigint[];
    lane_heads bigint[];
    lane_more boolean[];
    -- Those that are eligible still.
    lane_left boolean[];
    lane_occupants uuid[];
    lane_generations integer[];
    lane_spacings bigint[];
    lane_bursts bigint[];
    aside text[];
    first_turn bigint;
    last_tag bigint;
    cost_in_all bigint;
    ends_at bigint;
    wakes bigint;
    first_rank bigint;
    first_id uuid;
    kept_rank bigint;
    kept_id uuid;
    -- Every lane gives all that it may at once.
    is_each boolean;
    is_odd boolean;
    is_contended boolean := false;
    free_ids uuid[];
    n bigint;
begin${openLine('first_slice is null')}
    if first_slice is not null and not line.is_sliced then
        update lanes x set slice = slice_of(x.lane) where x.space = in_space and x.queue = in_queue;
        line.is_sliced := true;
        is_changed := true;
    end if;
    is_each := q.is_strict is true or (q.lane_concurrency <= portion and not has_own) is true;
    per_lane := least(portion, case when q.is_strict then 1 else q.lane_concurrency end);
    loop
        wanted := least(room - taken, ${ROOM_IN_LINE});
        exit when wanted <= 0;
        rounds := rounds + 1;
        if rounds > ${ROUNDS} then
            ends_at := t;
            exit;
        end if;
        is_odd := q.spacing is not null or s.spacing is not null or is_contended or cardinality(skipped) + cardinality(asides) > 0;
        most_lanes := case when q.is_strict and not is_odd then wanted
            else greatest(ceil(wanted / per_lane), 16) end;
        if not is_odd then
            kept_rank := first_rank;
            kept_id := first_id;
            if q.is_strict then${ONE_EACH}
            elsif is_each then${FEW_EACH}
            else${SIMPLE}
            end if;
        end if;
        if is_odd then
            first_rank := kept_rank;
            first_id := kept_id;
        select array_agg(p.at order by p.g) filter (where p.is_taken),
            array_agg(p.id order by p.g) filter (where p.is_taken),
            array_agg(p.spot) filter (where p.is_told), array_agg(p.turn) filter (where p.is_told),
            array_agg(p.freed) filter (where p.is_told), array_agg(p.told_rank) filter (where p.is_told),
            array_agg(p.count) filter (where p.is_told),
            array_agg(p.strides) filter (where p.is_told), array_agg(p.stride) filter (where p.is_told),
            array_agg(p.costs) filter (where p.is_told), array_agg(p.waits) filter (where p.is_told),
            array_agg(case when p.is_refused and p.state = 0 then p.due_at end) filter (where p.is_told),
            array_agg(p.new_head) filter (where p.is_told), array_agg(p.has_more) filter (where p.is_told),
            array_agg(p.id) filter (where p.is_told), array_agg(p.job_generation) filter (where p.is_told),
            array_agg(p.spacing) filter (where p.is_told), array_agg(p.burst) filter (where p.is_told),
            array_agg(p.lane) filter (where p.is_aside),
            min(p.turn), max(p.begins) filter (where p.is_taken), coalesce(sum(p.cost) filter (where p.is_taken), 0),
            min(p.queue_at) filter (where p.is_end),
            coalesce(first_rank, (array_agg(p.rank order by p.g) filter (where p.is_taken and p.lane = ''))[1]),
            coalesce(first_id, (array_agg(p.id order by p.g) filter (where p.is_taken and p.lane = ''))[1])
        into spots, picks, lane_spots, lane_turns, lane_freed, lane_ranks, lane_counts, lane_strides, lane_firsts, lane_costs, lane_waits, lane_dues, lane_heads,
            lane_more, lane_occupants, lane_generations, lane_spacings, lane_bursts, aside, first_turn, last_tag,
            cost_in_all, ends_at, first_rank, first_id
        from (
            select v.*, v.n = 1 and (v.is_asleep or (v.allot > 0 and (v.count > 0 or v.found = 0
                    or v.waits is not null or (v.is_refused and v.state = 0 and v.due_at > t)))) as is_told,
                v.n = 1 and v.is_refused and (v.state = 2 or (v.state = 0 and v.due_at <= t)) as is_aside
            from (
                select w.*, count(*) filter (where w.is_taken) over of_lane as count,
                    coalesce(sum(w.stride) filter (where w.is_taken) over of_lane, 0)::bigint as strides,
                    coalesce(sum(w.cost) filter (where w.is_taken) over of_lane, 0)::bigint as costs,
                    max(w.lane_at) filter (where w.is_refused and w.state = 1 and w.lane_at > t) over of_lane as waits,
                    case when w.is_occupied or w.lane = any(stuck) then w.head else coalesce(
                        min(w.rank) filter (where not w.is_taken) over of_lane, max(w.rank) over of_lane) end as new_head,
                    w.found > count(*) filter (where w.is_taken) over of_lane or w.is_asleep
                        or w.is_occupied or w.lane = any(stuck) as has_more
                from (${PICKED}
                ) w window of_lane as (partition by w.nth)
            ) v
        ) p;
        end if;
        exit when first_turn is null;
        if aside is not null then
            asides := asides || aside;
        end if;
        if spots is not null then
            held := array(select j.ctid from jobs j where j.ctid = any(spots) and j.state + 0 = 1
                for update skip locked);
            in_order := array(select x from unnest(spots) as x order by x);
            if held is distinct from in_order
                and array(select x from unnest(held) as x order by x) is distinct from in_order then
                -- Somebody else is at one of them, or was.
                if not is_odd then
                    is_contended := true;
                    first_rank := kept_rank;
                    first_id := kept_id;
                    continue;
                end if;
                -- Its lane is not empty, and a strict one waits for it.
                picks := array(select x.id from unnest(spots, picks) as x(spot, id) where not (x.spot = any(held)));
                skipped := skipped || picks;
                stuck := stuck || array(select coalesce(j.lane, '') from jobs j
                    where j.id = any(picks) and j.space = in_space);
                if q.is_strict then
                    asides := stuck;
                end if;
                continue;
            end if;
            places := array_to_string(picks, ',');
            for id, payload, headers, overrides, priority, due_at, enqueued_at, counters, lanes, told, free_ids in
                ${leasing('spots')}
            loop
                keyed := keyed || free_ids;
                return next;
                places := null;
            end loop;
            taken := taken + cardinality(spots);
            if counts_leases then
                line.running := line.running + cardinality(spots);
            end if;
            if q.spacing is not null then
                line.full_us := greatest(line.full_us, t * 1000) + cost_in_all * q.spacing;
            end if;
            if s.spacing is not null then
                meter.full_us := greatest(meter.full_us, t * 1000) + cost_in_all * s.spacing;
            end if;
        end if;
        if lane_spots is not null then
            is_changed := true;
            if is_each and not is_odd then${PUT_EACH}
            else
                with put as (
                    ${PUT_LANES}
                    from (${evaluated(SERVED)}) n where l.ctid = n.spot
                    returning l.wake_at
                )
                select min(p.wake_at) into wakes from put p;
                line.woken_to := least(line.woken_to, wakes);
            end if;
        end if;
        if cardinality(kept_spots) > (select count(*) from unnest(lane_freed) as x(freed) where x.freed is not null) then${PUT_KEPT}
        end if;
        kept_spots := null;
        per_lane := greatest(1, least(per_lane, cardinality(spots)::float8 / cardinality(lane_spots)));
        line.clock := greatest(line.clock, last_tag);
        if cardinality(asides) = 0 and first_slice is null then
            line.scan_from := least(first_turn, line.clock - 1);
        end if;
        exit when ends_at is not null or (spots is null and lane_spots is null and aside is null);
        -- All that were eligible have given what they may.
        exit when is_each and not is_odd and cardinality(lane_spots) < most_lanes;
    end loop;
    if kept_spots is not null then
        lane_spots := null;${PUT_KEPT}
    end if;${CLOSE_LINE}

    select x.wake_at into wakes from lanes x
    where x.space = in_space and x.queue = in_queue and x.wake_at >= line.woken_to order by x.wake_at limit 1;
    id := null;
    payload := first_id;
    due_at := first_rank;
    enqueued_at := least(ends_at, wakes);
    told := 0;
    return next;
end $function$;
`
}
