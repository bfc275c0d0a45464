/**
 * How a claim of a limited queue chooses: queries that the function of `serve-line-function.ts` runs, and whose words are its
 * variables. PICKED does it for all cases; SIMPLE, FEW_EACH and ONE_EACH for most, at a fraction of the cost.
 */

import { inQueue } from '../queue-hash.ts'
import { BURST, CAP, ownLimits, SPACING, WEIGHT } from './rules.ts'

const columnsOf = (
  lane: string,
): string => `${lane}.ctid, ${lane}.lane, ${lane}.turn, ${lane}.full_us, ${lane}.head,
                                    ${lane}.running, ${lane}.occupant, ${lane}.generation, ${lane}.wait_until,
                                    ${lane}.held_until, ${lane}.head_at, null::bigint as freed, null::bigint as told_rank`

// The lanes whose turn it is, the first of them first: of all, or of the slices from first_slice on and before end_slice.
// Nothing of the other half is looked at. Those that were kept are not in the index yet.
const CANDIDATES = `
                            select l.ctid as spot, l.lane, l.turn, l.full_us, l.head, l.running, l.occupant,
                                l.generation, greatest(l.wait_until, l.held_until, l.head_at) > t as is_asleep,
                                ${CAP} - l.running as room_left, ${SPACING} as spacing, ${BURST} as burst,
                                ${WEIGHT} as weight, l.freed, l.told_rank
                            from (
                                (select ${columnsOf('x')} from lanes x
                                where first_slice is null and x.space = in_space and x.queue = in_queue and x.eligible
                                    and x.turn >= line.scan_from and not (x.lane = any(asides))
                                order by x.turn, x.lane limit most_lanes)
                                union all
                                (select y.* from generate_series(first_slice, end_slice - 1) as s(slice), lateral (
                                    select ${columnsOf('z')} from lanes z
                                    where z.space = in_space and z.queue = in_queue and z.eligible
                                        and z.slice = s.slice and z.turn >= line.scan_from and not (z.lane = any(asides))
                                    order by z.turn, z.lane limit most_lanes
                                ) y where first_slice is not null
                                order by y.turn, y.lane limit most_lanes)
                                union all
                                (select u.spot, x.lane, u.turn, x.full_us, least(x.head, u.rank), greatest(0, x.running - u.freed),
                                    x.occupant, x.generation, x.wait_until, x.held_until, 0, u.freed, u.rank
                                from unnest(kept_spots, kept_turns, kept_freed, kept_ranks) as u(spot, turn, freed, rank),
                                    lateral (select y.* from lanes y where y.ctid = u.spot) x
                                where not (x.lane = any(asides)))
                                order by turn, lane limit most_lanes
                            ) l ${ownLimits('l')}`

// How many jobs each would get if all had enough and each cost 1: the portions that begin below the level to which the
// wanted number fills the lanes. Others are not looked at yet, and nothing beyond their turn is taken. But a lane that just came in
// mostly has one job. So if the first has, the last of all may give as many as are wanted, or another round would be needed for those.
const ALLOTTED = `
                    select b.*, case when b.is_asleep then 0
                            when b.nth = b.lanes and b.nth between 2 and most_lanes - 1 and b.first = line.clock - 1
                                then least(b.room_left, wanted)
                            when b.turn >= b.level then 0
                            -- A little less, or the last bit of the level would be worth a job.
                            else least(b.room_left, portion * greatest(1,
                                ceil((b.level - b.turn) * b.weight / 1e6 / portion - 1e-3)::bigint)) end as allot,
                        max(b.turn) filter (where b.nth = most_lanes) over () as last_turn,
                        max(b.lane) filter (where b.nth = most_lanes) over () as last_lane
                    from (
                        select a.*, line.scan_from + min((wanted + a.drawn) / a.share) over () as level, count(*) over () as lanes,
                            min(a.turn) over () as first
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
                    where q.is_strict and o.id = a.occupant and o.space = in_space and o.generation = a.generation
                ) o on true
                left join lateral (
                    (${HEAD_OF_LANE} where a.allot > 0 and j.id = o.id and j.space = in_space)
                    union all
                    (${HEAD_OF_LANE}
                    where a.allot > 0 and o.id is null and a.lane <> '' and j.space = in_space and j.queue = in_queue
                        and j.lane = a.lane and j.state = 1 and j.rank >= a.head and not (j.id = any(skipped))
                    order by j.rank, j.id limit a.allot + 1)
                    union all
                    (${HEAD_OF_LANE}
                    where a.allot > 0 and o.id is null and a.lane = '' and ${inQueue('j', 'in_space', 'in_queue')}
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

export const PICKED: string = `
    select p.*, p.ok and p.g <= wanted and p.is_known and p.goes_on and p.queue_at <= t as is_taken,
        p.id is not null and p.is_next and p.is_looked_at and not p.ok and p.g < wanted and p.is_known and p.goes_on as is_refused,
        p.ok and p.g <= wanted and p.is_known and p.goes_on and p.queue_at > t as is_end
    from (${JUDGED}
    ) p`

// Those without a lane are in another index.
const WITHOUT_LANE = inQueue('j', 'in_space', 'in_queue')

// Most claims meet nothing but jobs of cost 1 in lanes without a rate. Then the tags of a lane follow from its turn alone:
// its portions are put in the order in which they begin, until there are as many jobs as are wanted.
const HEADS = (
  which: string,
  of = 'j.space = in_space and j.queue = in_queue',
): string => `(select j.ctid, j.id, j.rank, j.cost, j.generation, j.is_strict from jobs j
                                                where ${which} and ${of} and j.state = 1`

/** The first jobs of the lane `of`, as arrays. */
const firstJobs = (of: string, condition: string, limit: string): string => `lateral (
                                            select array_agg(j.ctid) as ats, array_agg(j.id) as ids, array_agg(j.rank) as ranks,
                                                count(*) as found, bool_or(j.cost is not null) as has_costs
                                            from (
                                                ${HEADS(`${condition} and ${of}.lane <> '' and j.lane = ${of}.lane and j.rank >= ${of}.head`)}
                                                order by j.rank, j.id limit ${limit})
                                                union all
                                                ${HEADS(`${condition} and ${of}.lane = '' and j.lane is null and (j.rank, j.id) >= (from_rank, from_id)`, WITHOUT_LANE)}
                                                order by j.rank, j.id limit ${limit})
                                            ) j
                                        ) f on true`

const WITH_HEADS = `
                                        select a.*, f.*, 1000000 / a.weight as stride
                                        from (${ALLOTTED}
                                        ) a
                                        left join ${firstJobs('a', 'a.allot > 0', 'a.allot + 1')}`

const FOUND = `is_odd, spots, picks, lane_spots, lane_turns, lane_freed, lane_ranks, lane_counts, lane_strides, lane_firsts, lane_costs, lane_waits,
                lane_dues, lane_heads, lane_more, lane_left, lane_occupants, lane_generations, lane_spacings, lane_bursts, aside,
                first_turn, last_tag, cost_in_all, ends_at, first_rank, first_id`

export const SIMPLE: string = `
            with heads as materialized (
                -- A portion that was not looked at begins at the bound.
                select g.*, g.stride * portion as pace, least(g.allot, g.found) as most,
                    min(case when g.found > g.allot and g.allot is distinct from g.room_left or (g.allot = 0 and not g.is_asleep)
                        then g.turn + g.allot * g.stride end) over () as bound
                from (${WITH_HEADS}
                ) g
            ), cut as materialized (
                -- The last portion of which something is taken. The jobs themselves are left out: they would be sorted along.
                select c.begins, c.lane, least(c.amount, wanted - c.before) as given
                from (
                    select b.*, coalesce(sum(b.amount) over
                        (order by b.begins, b.lane rows between unbounded preceding and 1 preceding), 0)::bigint as before
                    from (
                        select h.lane, h.turn + k.k * h.pace as begins, least(portion, h.most - k.k * portion) as amount
                        from heads h, generate_series(0, (h.most - 1) / portion) as k(k)
                        where h.most > 0 and h.turn + k.k * h.pace < coalesce(h.bound, h.turn + k.k * h.pace + 1)
                            and (h.last_lane is null or (h.turn + k.k * h.pace, h.lane) <= (h.last_turn, h.last_lane))
                    ) b
                ) c where c.before < wanted order by c.begins desc, c.lane desc limit 1
            ), served as materialized (
                select d.*, d.is_asleep or d.spacing is not null or d.turn < line.clock - 1 or coalesce(d.has_costs, false)
                        as is_odd,
                    d.count > 0 or (d.allot > 0 and d.found = 0) as is_told
                from (
                    -- All portions that begin before that one, and what is taken of it.
                    select h.*, case when x.begins is null or h.turn > x.begins then 0
                        when h.lane = x.lane then (x.begins - h.turn) / h.pace * portion + x.given
                        else least(h.most, portion * ((x.begins - h.turn + h.pace - (h.lane > x.lane)::integer) / h.pace)) end as count
                    from heads h left join cut x on true
                ) d
            ), picked as materialized (
                select array_agg(o.at order by o.begins, o.lane, o.n) as ats, array_agg(o.id order by o.begins, o.lane, o.n) as ids
                from (
                    select u.at, u.id, u.n, p.lane, p.turn + (u.n - 1) / portion * p.pace as begins
                    from served p, unnest(p.ats[1:p.count], p.ids[1:p.count]) with ordinality as u(at, id, n)
                    where p.count > 0
                ) o
            )
            select coalesce(bool_or(s.is_odd), false),
                (select x.ats from picked x), (select x.ids from picked x),
                array_agg(s.spot) filter (where s.is_told), array_agg(s.turn) filter (where s.is_told),
                array_agg(s.freed) filter (where s.is_told), array_agg(s.told_rank) filter (where s.is_told),
                array_agg(s.count) filter (where s.is_told),
                array_agg(s.count * s.stride) filter (where s.is_told), array_agg(s.stride) filter (where s.is_told),
                array_agg(s.count) filter (where s.is_told), '{}', '{}',
                array_agg(s.ranks[least(s.found, s.count + 1)]) filter (where s.is_told),
                array_agg(s.found > s.count) filter (where s.is_told), '{}', '{}', '{}', '{}', '{}', null,
                min(s.turn), (select x.begins from cut x), coalesce(sum(s.count), 0), null,
                coalesce(first_rank, max(s.ranks[1]) filter (where s.lane = '' and s.count > 0)),
                coalesce(first_id, (array_agg(s.ids[1]) filter (where s.lane = '' and s.count > 0))[1])
            into ${FOUND}
            from served s;`

// A lane with a limit that is no larger than a portion gives all that it has room for at once, and then it is full or has no more: its
// turn is the tag of its only portion. Whether a full one has more is seen when it has room again.
export const FEW_EACH: string = `
            with served as materialized (
                select d.*, d.count > 0 or d.found = 0 as is_told
                from (
                    select c.*, greatest(0, least(c.found, wanted - coalesce(sum(c.found) over
                        (order by c.turn, c.lane rows between unbounded preceding and 1 preceding), 0))) as count
                    from (
                        select l.*, f.*, 1000000 / l.weight as stride,
                            l.is_asleep or l.spacing is not null or l.turn < line.clock - 1 or coalesce(f.has_costs, false) as is_odd
                        from (${CANDIDATES}
                        ) l
                        left join ${firstJobs('l', 'true', 'l.room_left')}
                    ) c
                ) d
            ), picked as materialized (
                select array_agg(o.at) as ats, array_agg(o.id) as ids
                from (select s.* from served s where s.count > 0 order by s.turn, s.lane) p,
                    unnest(p.ats[1:p.count], p.ids[1:p.count]) as o(at, id)
            )
            select coalesce(bool_or(s.is_odd), false),
                (select x.ats from picked x), (select x.ids from picked x),
                array_agg(s.spot) filter (where s.is_told), array_agg(s.turn) filter (where s.is_told),
                array_agg(s.freed) filter (where s.is_told), array_agg(s.told_rank) filter (where s.is_told),
                array_agg(s.count) filter (where s.is_told),
                array_agg(s.count * s.stride) filter (where s.is_told), array_agg(s.stride) filter (where s.is_told),
                array_agg(s.count) filter (where s.is_told), '{}', '{}',
                array_agg(s.ranks[least(s.found, s.count + 1)]) filter (where s.is_told),
                array_agg(s.found >= s.room_left or s.found > s.count) filter (where s.is_told),
                array_agg(s.found > s.count) filter (where s.is_told), '{}', '{}', '{}', '{}', null,
                min(s.turn), max(s.turn) filter (where s.count > 0), coalesce(sum(s.count), 0), null,
                coalesce(first_rank, max(s.ranks[1]) filter (where s.lane = '' and s.count > 0)),
                coalesce(first_id, (array_agg(s.ids[1]) filter (where s.lane = '' and s.count > 0))[1])
            into ${FOUND}
            from served s;`

// A strict lane without a rate has one job to give, its turn is its tag, and nothing else has to be known. Whether it has
// another is seen when that one has ended. No other has the number of a job that came to a strict lane, so the next is behind it.
export const ONE_EACH: string = `
            with served as materialized (
                select l.*, j.ctid as at, j.id, j.rank, j.is_strict, j.generation as job_generation, coalesce(j.cost, 1)::bigint as cost,
                    coalesce(j.cost, 1) * 1000000 / l.weight as stride,
                    l.is_asleep or l.spacing is not null or exists (select 1 from jobs o
                        where o.id = l.occupant and o.space = in_space and o.generation = l.generation) as is_odd
                from (${CANDIDATES}
                ) l
                left join lateral (
                    ${HEADS("l.lane <> '' and j.lane = l.lane and j.rank >= l.head")}
                    order by j.rank, j.id limit 1)
                    union all
                    ${HEADS("l.lane = '' and j.lane is null and (j.rank, j.id) >= (from_rank, from_id)", WITHOUT_LANE)}
                    order by j.rank, j.id limit 1)
                ) j on true
            )
            select coalesce(bool_or(s.is_odd), false),
                array_agg(s.at order by s.turn, s.lane) filter (where s.id is not null),
                array_agg(s.id order by s.turn, s.lane) filter (where s.id is not null),
                array_agg(s.spot), array_agg(s.turn), array_agg(s.freed), array_agg(s.told_rank), array_agg((s.id is not null)::integer), array_agg(s.stride), array_agg(s.stride),
                array_agg(s.cost), '{}', '{}', array_agg(s.rank + (s.is_strict is true)::integer), array_agg(s.id is not null), '{}', array_agg(s.id),
                array_agg(s.job_generation), '{}', '{}', null,
                min(s.turn), max(s.turn) filter (where s.id is not null), 0, null,
                coalesce(first_rank, max(s.rank) filter (where s.lane = '')),
                coalesce(first_id, (array_agg(s.id) filter (where s.lane = '' and s.id is not null))[1])
            into ${FOUND}
            from served s;`
