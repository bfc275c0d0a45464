import { COUNT_PROMOTED } from '../jobs/claim.ts'
import { inQueue } from '../queue-hash.ts'
import { BURST, CAP, evaluated, lanePins, ownLimits, PUT_LANES, SPACING, WEIGHT } from './rules.ts'
import { CLOSE_LINE, LINE_VARIABLES, leasing, openLine, ROOM_IN_LINE, TOLD_COLUMNS } from './state.ts'

// The lane of the job, as it is after the job has started.
const SERVED = `select lane.spot, lane.ver, lane.lane, lane.turn + job.cost * 1000000 / lane.weight as turn,
                    lane.running + counts_leases::integer as running,
                    case when lane.spacing is null then lane.full_us
                        else greatest(lane.full_us, t * 1000) + job.cost * lane.spacing end as full_us,
                    greatest(lane.wait_until, starts_at(greatest(lane.full_us, t * 1000) + job.cost * lane.spacing, 1,
                        lane.spacing, lane.burst)) as wait_until,
                    lane.held_until, lane.head_at, lane.head, lane.active,
                    case when q.is_strict then job.id end as occupant,
                    case when q.is_strict then job.generation end as generation, false as stays`

const IN_RANGE = (of: string): string => `(first_slice is null
            or (slice_of(coalesce(${of}.lane, '')) >= first_slice and slice_of(coalesce(${of}.lane, '')) < end_slice))`

/**
 * claim_named_of_line: leases those of the named jobs of a limited queue against which nothing stands, one after the
 * other. Its rows are those of claim_line.
 */
export function namedLineFunction(schema: string): string {
  return `
create function ${schema}.claim_named_of_line(in_space text, in_queue text, room bigint, t bigint, lease_token text,
    lease_worker text, lease_end bigint, from_rank bigint, from_id uuid, named uuid[],
    first_slice integer, end_slice integer)
returns table (${TOLD_COLUMNS})
language plpgsql ${lanePins(schema)}
as $function$
#variable_conflict use_column
declare${LINE_VARIABLES}
    job record;
    lane record;
    occupant record;
    wakes bigint;
    promoted_dues bigint[];
    free_ids uuid[];
begin
    insert into news (space, queue, lane, rank)
    select in_space, in_queue, coalesce(j.lane, ''), min(j.rank) from jobs j
    where j.id = any(named) and j.space = in_space and j.queue = in_queue and j.state + 0 in (0, 1) and j.due_at <= t
        and ${IN_RANGE('j')}
    group by 3;${openLine('false')}
    for job in
        select j.id, coalesce(j.lane, '') as lane, j.state, j.due_at, coalesce(j.cost, 1)::bigint as cost, j.generation
        from unnest(named) with ordinality as w(id, n), lateral (
            select k.* from jobs k where k.id = w.id and k.space = in_space and k.queue = in_queue
                and k.state + 0 in (0, 1) and k.due_at <= t and ${IN_RANGE('k')}) j
        order by w.n
    loop
        exit when taken >= room or ${ROOM_IN_LINE} <= 0;
        select x.ctid as spot, x.*, ${SPACING} as spacing, ${BURST} as burst, ${WEIGHT} as weight,
            x.active and coalesce(x.running < ${CAP}, true) and greatest(x.wait_until, x.held_until, x.head_at) <= t as is_open
        into lane
        from (
            select y.ctid, y.* from lanes y where y.space = in_space and y.queue = in_queue and y.lane = job.lane
            order by y.ver desc limit 1
        ) x ${ownLimits('x')};
        continue when not lane.is_open or starts_at(lane.full_us, job.cost, lane.spacing, lane.burst) > t;
        if q.is_strict then
            -- Only the head of the lane: the job that occupies it, otherwise the first to arrive.
            select k.id, k.state into occupant from jobs k 
            where k.id = lane.occupant and k.space = in_space and k.generation = lane.generation;
            if not found then
                select f.* into occupant from (
                    (select k.id, k.state from jobs k
                    where job.lane <> '' and k.space = in_space and k.queue = in_queue and k.state = 1
                        and k.lane = job.lane order by k.rank, k.id limit 1)
                    union all
                    (select k.id, k.state from jobs k
                    where job.lane = '' and ${inQueue('k', 'in_space', 'in_queue')} and k.state = 1
                        and k.lane is null order by k.rank, k.id limit 1)
                ) f;
            end if;
            continue when occupant.id is distinct from job.id or occupant.state <> 1;
        end if;
        continue when greatest(starts_at(line.full_us, job.cost, q.spacing, q.burst),
            starts_at(meter.full_us, job.cost, s.spacing, s.burst)) > t;
        for id, payload, headers, overrides, priority, due_at, enqueued_at, counters, lanes, told, free_ids in
            ${leasing(`array(select k.ctid from jobs k
                    where k.id = job.id and k.space = in_space and k.state + 0 in (0, 1) for update skip locked)`)}
        loop
            places := id;
            keyed := keyed || free_ids;
            taken := taken + 1;
            return next;
        end loop;
        continue when not found;
        if job.state = 0 then
            promoted_dues := array_append(promoted_dues, job.due_at);
        end if;
        is_changed := true;
        line.running := line.running + counts_leases::integer;
        if q.spacing is not null then
            line.full_us := greatest(line.full_us, t * 1000) + job.cost * q.spacing;
        end if;
        if s.spacing is not null then
            meter.full_us := greatest(meter.full_us, t * 1000) + job.cost * s.spacing;
        end if;
        ${PUT_LANES}
        from (${evaluated(SERVED)}) n where l.ctid = n.spot
        returning l.wake_at into wakes;
        line.woken_to := least(line.woken_to, wakes);
    end loop;
    ${COUNT_PROMOTED}${CLOSE_LINE}

    select x.wake_at into wakes from lanes x
    where x.space = in_space and x.queue = in_queue and x.wake_at >= line.woken_to order by x.wake_at limit 1;
    id := null;
    payload := null;
    due_at := null;
    enqueued_at := wakes;
    told := 0;
    return next;
end $function$;
`
}
