/**
 * What every function on the hot path is created with.
 *
 * A queue's table is the worst case for a planner: empty one moment, a million rows the next, and statistics that
 * are always late. So the plans are pinned instead: one plan per session, on the index meant for it. Without
 * this, a claim on a fresh backlog sorts all of it (measured: 33 ms instead of 3). Arrays are guessed to have ten
 * elements, so joins with them are hash joins; where a loop is wanted, LATERAL leaves no choice. `jit` is off
 * because the cost of a pinned plan is meaningless, and a large one would start the compiler.
 */
export function pins(schema: string): string {
  return `
    set search_path = ${schema}, pg_temp
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_sort = off
    set enable_mergejoin = off
    set enable_nestloop = off
    set jit = off`
}

/** For functions that are not called often: names are looked up here and nowhere else. */
export function fixedPath(schema: string): string {
  return `
    set search_path = ${schema}, pg_temp
    set jit = off`
}

/** For functions about groups and runs: no plan may read a whole table, however small it is believed to be. */
export function flowPins(schema: string): string {
  return `
    set search_path = ${schema}, pg_temp
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off`
}

/** The store's clock, in milliseconds. */
export const CLOCK = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint'

/** The day of a moment, as `deltas.day` and the archive count them. */
export function dayOf(moment: string): string {
  return `(${moment} / 86400000)::integer`
}

/** The second of a due time, as `deltas.due_second` counts delayed jobs. */
export function secondOf(moment: string): string {
  return `(${moment}) / 1000 * 1000`
}
