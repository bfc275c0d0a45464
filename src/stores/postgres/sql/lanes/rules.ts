/** The rules of `core/lanes.ts` and `core/rate.ts` as SQL, and the locks under which they are applied. */

import { FACTOR, KEYS, PRIME, SLICES } from '../../../../core/lanes/key-range.ts'

/** Later than any moment: of a hold without an end. */
export const NEVER = '8640000000000000'

/** Before and after every rank. */
export const LOWEST_RANK = '-9007199254740991'
export const HIGHEST_RANK = '9007199254740991'

/**
 * Every claim holds it shared; whoever changes holds or limits holds it alone, for one short transaction in which it
 * waits for nothing else. So a claim that was under way has ended when they are in force, and every later one sees them.
 */
export function gate(schema: string): string {
  return `hashtextextended('skep:gate:${schema}', 0)`
}

/** The lock of a limited queue; queues that share a limit have one together. */
export function lineLock(schema: string, space: string, queue: string): string {
  return `hashtextextended('skep:line:${schema}:' || ${space} || ' ' || coalesce((select '=' || l.shared from limits l
                where l.space = ${space} and l.kind = 0 and l.name = ${queue} and l.lane = ''), ${queue}), 0)`
}

/** Plans that go from a few rows to others by their index or their place, whatever the statistics say. */
export function lanePins(schema: string): string {
  return `
    set search_path = ${schema}, pg_temp
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set enable_material = off
    set jit = off`
}

/** starts_at: from when on a job of this cost may start, in milliseconds; 0 when there is no rate. */
export function rateFunction(schema: string): string {
  return `
create function ${schema}.starts_at(full_us bigint, cost bigint, spacing bigint, burst bigint) returns bigint
language sql immutable parallel safe
as $function$
    select case when spacing is null then 0 else
        ceil((full_us + (least(cost, burst) - burst) * spacing - least(spacing / 2, 20000))::float8 / 1000)::bigint end
$function$;
`
}

/** slice_of: the slice of a lane's key, see `core/key-range.ts`. */
export function sliceFunction(schema: string): string {
  return `
create function ${schema}.slice_of(lane text) returns smallint
language plpgsql immutable parallel safe
as $function$
declare
    bytes bytea := convert_to(lane, 'UTF8');
    hash bigint := 0;
begin
    for i in 0..length(bytes) - 1 loop
        hash := (hash + get_byte(bytes, i) + 1) * ${FACTOR} % ${PRIME};
    end loop;
    return hash * ${KEYS} / ${PRIME} / ${KEYS / SLICES};
end $function$;
`
}

/** A lane's own limits, where it has some: joined to the lane `of`. They see `q`, the limits of the queue, and `has_own`. */
export function ownLimits(of: string): string {
  return `left join lateral (
                select own.* from limits own
                where has_own and own.space = in_space and own.kind = 1 and own.name = in_queue and own.lane = ${of}.lane
            ) own on true`
}

export const CAP = `case when q.is_strict then 1 when own.has_concurrency then own.concurrency else q.lane_concurrency end`
export const SPACING = 'case when own.has_rate then own.spacing else q.lane_spacing end'
export const BURST = 'case when own.has_rate then own.burst else q.lane_burst end'
export const WEIGHT = 'coalesce(own.weight, q.weight, 1)'

/**
 * A lane as it is now, with what follows from it. `rows` gives the lanes: spot, ver, lane, turn, running, full_us,
 * wait_until, held_until, head_at, head, active, occupant, generation, and whether its turn stays if it is eligible.
 */
export function evaluated(rows: string): string {
  return `
            select e.*, e.has_room and e.wakes <= t as is_eligible,
                case when e.has_room and e.wakes > t and e.wakes < ${NEVER} then e.wakes end as wakes_at,
                case when e.has_room and e.wakes <= t and not e.stays then greatest(e.turn, line.clock - 1) else e.turn end
                    as new_turn
            from (
                select k.*, greatest(k.wait_until, k.held_until, k.head_at) as wakes,
                    k.active and coalesce(k.running < ${CAP}, true) as has_room
                from (${rows}) k ${ownLimits('k')}
            ) e`
}

/** Writes evaluated lanes `n` over what they were. */
export const PUT_LANES = `update lanes l set ver = n.ver + 1, turn = n.new_turn, running = n.running, full_us = n.full_us,
            wait_until = n.wait_until, held_until = n.held_until, head_at = n.head_at, head = n.head, active = n.active,
            occupant = n.occupant, generation = n.generation, eligible = n.is_eligible, wake_at = n.wakes_at`
