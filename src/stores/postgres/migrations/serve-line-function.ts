import { PORTIONS } from '../../../core/lanes.ts'
import { BURST, CAP, evaluated, lanePins, ownLimits, PUT_LANES, SPACING, WEIGHT } from './lane-rules.ts'
import { CLOSE_LINE, LINE_VARIABLES, leasing, OPEN_LINE, ROOM_IN_LINE, TOLD_COLUMNS } from './line-frame.ts'

/** One claim looks so often for lanes that have something. If that is not enough, the caller is told to come back at once. */
const ROUNDS = 12

// The lanes whose turn it is, the first of them first. `few`: there are no others.
const CANDIDATES = `
                            select l.ctid as spot, l.lane, l.turn, l.full_us, l.head, l.running, l.occupant,
                                l.generation, greatest(l.wait_until, l.held_until, l.head_at) > t as is_asleep,
                                ${CAP} - l.running as room_left, ${SPACING} as spacing, ${BURST} as burst,
                                ${WEIGHT} as weight
                            from (
                                select x.ctid, x.* from lanes x
                                where x.space = in_space and x.queue = in_queue and x.eligible
                                    and x.turn >= line.scan_from and not (x.lane = any(asides))
                                order by x.turn, x.lane limit most_lanes
                            ) l ${ownLimits('l')}`

// How many jobs each would get if all had enough and each cost 1: the portions that begin below the level to which the
// wanted number fills the lanes. Others are not looked at yet, and nothing beyond their turn is taken.
const ALLOTTED = `
                    select b.*, case when b.is_asleep or b.turn >= b.level then 0
                            -- A little less, or the last bit of the level would be worth a job.
                            else least(b.room_left, portion * greatest(1,
                                ceil((b.level - b.turn) * b.weight / 1e6 / portion - 1e-3)::bigint)) end as allot,
                        max(b.turn) filter (where b.nth = most_lanes) over () as last_turn,
                        max(b.lane) filter (where b.nth = most_lanes) over () as last_lane
                    from (
                        select a.*, line.scan_from + min((wanted + a.drawn) / a.share) over () as level
                        from (
                            select c.*, row_number() over by_turn as nth,
                                sum(c.weight / 1e6::float8) over by_turn as share,
                                sum(c.weight / 1e6::float8 * (c.turn - line.scan_from)) over by_turn as drawn
                            from (${CANDIDATES}
                            ) c window by_turn as (order by c.turn, c.lane rows unbounded preceding)
                        ) a
                    ) b`

const HEAD_OF_LANE = `select j.ctid, j.id, j.rank, j.state, j.due_at, j.cost, j.generation from jobs j`

// What they have. One more than they get, so that a lane which has no more is known at once. A strict lane has nothing
// but the job that occupies it, as long as that has not ended.
const WITH_JOBS = `
                select a.*, j.ctid as at, j.id, j.rank, j.state, j.due_at, coalesce(j.cost, 1)::bigint as cost,
                    j.generation as job_generation, o.id is not null as is_occupied, count(j.id) over whole_lane as found, row_number() over whole_lane as n
                from (${ALLOTTED}
                ) a
                left join lateral (
                    select o.id from jobs o
                    where q.is_strict and o.id = a.occupant and o.generation = a.generation
                ) o on true
                left join lateral (
                    (${HEAD_OF_LANE} where a.allot > 0 and j.id = o.id)
                    union all
                    (${HEAD_OF_LANE}
                    where a.allot > 0 and o.id is null and a.lane <> '' and j.space = in_space and j.queue = in_queue
                        and j.lane = a.lane and j.state = 1 and j.rank >= a.head and not (j.id = any(skipped))
                    order by j.rank, j.id limit a.allot + 1)
                    union all
                    (${HEAD_OF_LANE}
                    where a.allot > 0 and o.id is null and a.lane = '' and j.space = in_space and j.queue = in_queue
                        and j.lane is null and j.state = 1 and (j.rank, j.id) >= (from_rank, from_id)
                        and not (j.id = any(skipped))
                    order by j.rank, j.id limit a.allot + 1)
                ) j on true
                window whole_lane as (partition by a.nth order by j.rank, j.id
                    rows between unbounded preceding and unbounded following)`

// The tag of each, and whether its own lane lets it start.
const TAGGED = `
            select f.*, case when f.n = 1 then f.turn
                    else greatest(f.turn, line.clock - 1 - f.first_of_earlier) + f.before end as tag,
                f.id is not null and f.state = 1 and f.n <= coalesce(f.room_left, f.n) and f.lane_at <= t as fits,
                f.n <= coalesce(f.room_left, f.n) and (f.n = 1 or starts_at(f.full_then, 1, f.spacing, f.burst) <= t)
                    as is_looked_at
            from (
                select y.*, starts_at(y.full_then, y.cost, y.spacing, y.burst) as lane_at
                from (
                    select e.*, e.cost * 1000000 / e.weight as stride,
                        coalesce(sum(e.cost * 1000000 / e.weight) over earlier, 0)::bigint as before,
                        first_value(e.cost * 1000000 / e.weight) over earlier as first_of_earlier,
                        greatest(e.full_us, t * 1000) + coalesce(sum(e.cost) over earlier, 0)::bigint * e.spacing
                            as full_then
                    from (
                        select x.* from (${WITH_JOBS}
                        ) x where x.n <= greatest(x.allot, 1)
                    ) e window earlier as (partition by e.nth order by e.n
                        rows between unbounded preceding and 1 preceding)
                ) y
            ) f`

// In the order in which the portions begin: whether the limits of the queue let each start, and whether all that could
// come before it is known. \`ok\` of a lane ends at the first of its jobs that does not fit.
const JUDGED = `
        select i.*, i.begins < coalesce(i.bound, i.begins + 1)
                and (i.last_lane is null or (i.begins, i.lane) <= (i.last_turn, i.last_lane)) as is_known,
            coalesce(bool_and(i.queue_at <= t or not i.ok) over (order by i.begins, i.lane, i.n
                rows between unbounded preceding and 1 preceding), true) as goes_on
        from (
            select h.*, h.g_before + h.ok::integer as g,
                greatest(
                    starts_at(greatest(line.full_us, t * 1000) + h.spent * q.spacing, h.cost, q.spacing, q.burst),
                    starts_at(greatest(meter.full_us, t * 1000) + h.spent * s.spacing, h.cost, s.spacing, s.burst))
                    as queue_at,
                min(case when h.id is null then case when h.allot = 0 and not h.is_asleep then h.turn end
                    when h.ok and h.n = h.allot and h.found > h.allot then h.tag + h.stride end) over () as bound
            from (
                select d.*, coalesce(sum(d.cost) filter (where d.ok) over before, 0)::bigint as spent,
                    count(*) filter (where d.ok) over before as g_before
                from (
                    select m.*, m.fits and m.is_next as ok
                    from (
                        select c.*, coalesce(bool_and(c.fits) over (partition by c.nth order by c.n
                            rows between unbounded preceding and 1 preceding), true) as is_next,
                            first_value(c.tag) over (partition by c.nth, (c.n - 1) / portion order by c.n) as begins
                        from (${TAGGED}
                        ) c
                    ) m
                ) d window before as (order by d.begins, d.lane, d.n rows between unbounded preceding and 1 preceding)
            ) h
        ) i`

const PICKED = `
    select p.*, p.ok and p.g <= wanted and p.is_known and p.goes_on and p.queue_at <= t as is_taken,
        p.id is not null and p.is_next and p.is_looked_at and not p.ok and p.g < wanted and p.is_known and p.goes_on as is_refused,
        p.ok and p.g <= wanted and p.is_known and p.goes_on and p.queue_at > t as is_end
    from (${JUDGED}
    ) p`

// Most claims meet nothing but jobs of cost 1 in lanes without a rate. Then the tags of a lane follow from its turn alone:
// its portions are put in the order in which they begin, until there are as many jobs as are wanted.
const HEADS = (which: string): string => `(select j.ctid, j.id, j.rank, j.cost, j.generation from jobs j
                                                where ${which} and j.space = in_space and j.queue = in_queue and j.state = 1`

const WITH_HEADS = `
                                        select a.*, f.*, 1000000 / a.weight as stride
                                        from (${ALLOTTED}
                                        ) a
                                        left join lateral (
                                            select array_agg(j.ctid) as ats, array_agg(j.id) as ids,
                                                array_agg(j.rank) as ranks,
                                                (array_agg(j.generation))[1] as job_generation, count(*) as found,
                                                bool_or(j.cost is not null) as has_costs
                                            from (
                                                ${HEADS("a.allot > 0 and a.lane <> '' and j.lane = a.lane and j.rank >= a.head")}
                                                order by j.rank, j.id limit a.allot + 1)
                                                union all
                                                ${HEADS("a.allot > 0 and a.lane = '' and j.lane is null and (j.rank, j.id) >= (from_rank, from_id)")}
                                                order by j.rank, j.id limit a.allot + 1)
                                            ) j
                                        ) f on true`

const FOUND = `is_odd, spots, picks, lane_spots, lane_counts, lane_strides, lane_firsts, lane_costs, lane_waits,
                lane_dues, lane_heads, lane_more, lane_occupants, lane_generations, lane_spacings, lane_bursts, aside,
                first_turn, last_tag, cost_in_all, ends_at, first_rank, first_id`

const SIMPLE = `
            with served as materialized (
                select d.*, d.is_asleep or d.spacing is not null or d.turn < line.clock - 1 or coalesce(d.has_costs, false)
                        as is_odd,
                    d.count > 0 or (d.allot > 0 and d.found = 0) as is_told
                from (
                    select c.*, sum(c.given) over (partition by c.nth) as count
                    from (
                        select b.*, greatest(0, least(b.amount, wanted - coalesce(sum(b.amount) over
                            (order by b.begins, b.lane rows between unbounded preceding and 1 preceding), 0))) as given
                        from (
                            select x.*, case when x.begins < coalesce(x.bound, x.begins + 1)
                                and (x.last_lane is null or (x.begins, x.lane) <= (x.last_turn, x.last_lane))
                                then least(portion, least(x.allot, x.found) - x.k * portion) else 0 end as amount
                            from (
                                select h.*, k.k, h.turn + k.k * portion * h.stride as begins
                                from (
                                    -- A portion that was not looked at begins here.
                                    select g.*, min(case when g.found > g.allot and g.allot is distinct from g.room_left
                                        or (g.allot = 0 and not g.is_asleep)
                                        then g.turn + g.allot * g.stride end) over () as bound
                                    from (${WITH_HEADS}
                                    ) g
                                ) h, generate_series(0, greatest(0, (least(h.allot, h.found) - 1) / portion)) as k(k)
                            ) x
                        ) b
                    ) c
                ) d where d.k = 0
            ), picked as materialized (
                select s.lane, o.at, o.id, o.n, s.turn + (o.n - 1) / portion * portion * s.stride as begins
                from served s, unnest(s.ats[1:s.count], s.ids[1:s.count]) with ordinality as o(at, id, n)
            )
            select coalesce(bool_or(s.is_odd), false),
                (select array_agg(x.at order by x.begins, x.lane, x.n) from picked x),
                (select array_agg(x.id order by x.begins, x.lane, x.n) from picked x),
                array_agg(s.spot) filter (where s.is_told), array_agg(s.count) filter (where s.is_told),
                array_agg(s.count * s.stride) filter (where s.is_told), array_agg(s.stride) filter (where s.is_told),
                array_agg(s.count) filter (where s.is_told), '{}', '{}',
                array_agg(s.ranks[least(s.found, s.count + 1)]) filter (where s.is_told),
                array_agg(s.found > s.count) filter (where s.is_told), array_agg(s.ids[1]) filter (where s.is_told),
                array_agg(s.job_generation) filter (where s.is_told), '{}', '{}', null,
                min(s.turn), (select max(x.begins) from picked x), coalesce(sum(s.count), 0), null,
                coalesce(first_rank, max(s.ranks[1]) filter (where s.lane = '' and s.count > 0)),
                coalesce(first_id, (array_agg(s.ids[1]) filter (where s.lane = '' and s.count > 0))[1])
            into ${FOUND}
            from served s;`

// A strict lane without a rate has one job to give, its turn is its tag, and nothing else has to be known. Whether it has
// another is seen when that one has ended.
const ONE_EACH = `
            with served as materialized (
                select l.*, j.ctid as at, j.id, j.rank, j.generation as job_generation, coalesce(j.cost, 1)::bigint as cost,
                    coalesce(j.cost, 1) * 1000000 / l.weight as stride,
                    l.is_asleep or l.spacing is not null or exists (select 1 from jobs o
                        where o.id = l.occupant and o.generation = l.generation) as is_odd
                from (${CANDIDATES}
                ) l
                left join lateral (
                    ${HEADS("l.lane <> '' and j.lane = l.lane and j.rank >= l.head")}
                    order by j.rank, j.id limit 1)
                    union all
                    ${HEADS("l.lane = '' and j.lane is null and (j.rank, j.id) >= (from_rank, from_id)")}
                    order by j.rank, j.id limit 1)
                ) j on true
            )
            select coalesce(bool_or(s.is_odd), false),
                array_agg(s.at order by s.turn, s.lane) filter (where s.id is not null),
                array_agg(s.id order by s.turn, s.lane) filter (where s.id is not null),
                array_agg(s.spot), array_agg((s.id is not null)::integer), array_agg(s.stride), array_agg(s.stride),
                array_agg(s.cost), '{}', '{}', array_agg(s.rank), array_agg(s.id is not null), array_agg(s.id),
                array_agg(s.job_generation), '{}', '{}', null,
                min(s.turn), max(s.turn) filter (where s.id is not null), 0, null,
                coalesce(first_rank, max(s.rank) filter (where s.lane = '')),
                coalesce(first_id, (array_agg(s.id) filter (where s.lane = '' and s.id is not null))[1])
            into ${FOUND}
            from served s;`

// The lanes that were looked at, as they are afterwards.
const SERVED = `select k.ctid as spot, k.ver, k.lane,
                    case when u.count = 0 then k.turn
                        else greatest(k.turn, line.clock - 1 - u.first_stride) + u.strides end
                        as turn,
                    k.running + case when counts_leases then u.count else 0 end as running,
                    case when u.count > 0 and u.spacing is not null
                        then greatest(k.full_us, t * 1000) + u.costs * u.spacing else k.full_us end as full_us,
                    greatest(k.wait_until, u.waits, case when u.count > 0 and u.spacing is not null then starts_at(
                        greatest(k.full_us, t * 1000) + u.costs * u.spacing, 1, u.spacing, u.burst) end) as wait_until,
                    k.held_until, coalesce(u.due, k.head_at) as head_at, greatest(k.head, u.head) as head, u.has_more as active,
                    case when u.count = 0 then k.occupant when q.is_strict then u.occupant end as occupant,
                    case when u.count = 0 then k.generation when q.is_strict then u.generation end as generation
                from unnest(lane_spots, lane_counts, lane_strides, lane_firsts, lane_costs, lane_waits, lane_dues, lane_heads,
                        lane_more, lane_occupants, lane_generations, lane_spacings, lane_bursts)
                    as u(spot, count, strides, first_stride, costs, waits, due, head, has_more, occupant, generation,
                        spacing, burst), lateral (select x.ctid, x.* from lanes x where x.ctid = u.spot) k`

/**
 * claim_line: leases up to \`room\` jobs of a limited queue, each portion from the lane whose turn it is, as \`Line.serve\` of
 * the memory store does one by one. Here whole rounds are taken at once: the tag of a job is the turn its lane will have
 * when it starts, a portion begins at the tag of its first job, and the n jobs of a claim are the first n by (beginning,
 * lane). A round takes of them what it can be sure of; the next round sees the lanes that have moved on.
 *
 * A row is one job or many plain ones, in the order of \`places\`. The last row has no job, but in enqueued_at when to look
 * again, and in due_at and payload the rank and id of the first job without a lane.
 */
export function serveLineFunction(schema: string): string {
  return `
create function ${schema}.claim_line(in_space text, in_queue text, room bigint, t bigint, lease_token text,
    lease_worker text, lease_end bigint, from_rank bigint, from_id uuid)
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
    skipped uuid[] := '{}';
    asides text[] := '{}';
    stuck text[] := '{}';
    lane_spots tid[];
    lane_counts bigint[];
    lane_strides bigint[];
    lane_firsts bigint[];
    lane_costs bigint[];
    lane_waits bigint[];
    lane_dues bigint[];
    lane_heads bigint[];
    lane_more boolean[];
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
    is_odd boolean;
    free_ids uuid[];
    n bigint;
begin${OPEN_LINE}
    per_lane := least(portion, case when q.is_strict then 1 else q.lane_concurrency end);
    loop
        wanted := least(room - taken, ${ROOM_IN_LINE});
        exit when wanted <= 0;
        rounds := rounds + 1;
        if rounds > ${ROUNDS} then
            ends_at := t;
            exit;
        end if;
        is_odd := q.spacing is not null or s.spacing is not null or cardinality(skipped) + cardinality(asides) > 0;
        most_lanes := case when q.is_strict and not is_odd then wanted
            else greatest(ceil(wanted / per_lane), 16) end;
        if not is_odd then
            kept_rank := first_rank;
            kept_id := first_id;
            if q.is_strict then${ONE_EACH}
            else${SIMPLE}
            end if;
        end if;
        if is_odd then
            first_rank := kept_rank;
            first_id := kept_id;
        select array_agg(p.at order by p.g) filter (where p.is_taken),
            array_agg(p.id order by p.g) filter (where p.is_taken),
            array_agg(p.spot) filter (where p.is_told), array_agg(p.count) filter (where p.is_told),
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
        into spots, picks, lane_spots, lane_counts, lane_strides, lane_firsts, lane_costs, lane_waits, lane_dues, lane_heads,
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
                    case when w.lane = any(stuck) then w.head else coalesce(
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
            if array(select x from unnest(held) as x order by x)
                is distinct from array(select x from unnest(spots) as x order by x) then
                -- Somebody else is at one of them, or was. Its lane is not empty, and a strict one waits for it.
                picks := array(select x.id from unnest(spots, picks) as x(spot, id) where not (x.spot = any(held)));
                skipped := skipped || picks;
                stuck := stuck || array(select coalesce(j.lane, '') from jobs j where j.id = any(picks));
                if q.is_strict then
                    asides := stuck;
                end if;
                continue;
            end if;
            for id, payload, headers, overrides, priority, due_at, enqueued_at, counters, lanes, places, told, free_ids in
                ${leasing('(select u.spot, u.n + taken as n from unnest(spots) with ordinality as u(spot, n)) p')}
            loop
                keyed := keyed || free_ids;
                return next;
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
            with put as (
                ${PUT_LANES}
                from (${evaluated(SERVED)}) n where l.ctid = n.spot
                returning l.wake_at
            )
            select min(p.wake_at) into wakes from put p;
            line.woken_to := least(line.woken_to, wakes);
        end if;
        per_lane := greatest(1, least(per_lane, cardinality(spots)::float8 / cardinality(lane_spots)));
        line.clock := greatest(line.clock, last_tag);
        if cardinality(asides) = 0 then
            line.scan_from := least(first_turn, line.clock - 1);
        end if;
        exit when ends_at is not null or (spots is null and lane_spots is null and aside is null);
    end loop;${CLOSE_LINE}

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
