import type { Hold, HoldKind, HoldTarget } from '../../../core/lanes/holds.ts'
import type { HoldCall, ReleaseCall } from '../../../store/holds.ts'
import type { Param, Query } from '../connection/driver.ts'

/** Sends holds, see `migrations/hold-functions.ts`. */
export async function holdJobs(query: Query, schema: string, call: HoldCall): Promise<{ holds: Hold[] }> {
  if (call.holds.length === 0) return { holds: [] }
  const calls = call.holds.map(({ reason, by, forMs, ...target }) => ({
    ...keyOf(target),
    reason,
    by_whom: by,
    for_ms: forMs,
  }))
  const rows = await query(`select ${schema}.hold_jobs($1::text::json, $2::bigint)`, [
    JSON.stringify(calls),
    timeOf(call),
  ])
  return { holds: (JSON.parse(rows[0]?.[0] as string) as HoldRow[]).map(toHold) }
}

export async function releaseHolds(
  query: Query,
  schema: string,
  call: ReleaseCall,
): Promise<{ released: boolean[] }> {
  if (call.holds.length === 0) return { released: [] }
  const rows = await query(`select ${schema}.release_holds($1::text::json, $2::bigint)`, [
    JSON.stringify(call.holds.map(keyOf)),
    timeOf(call),
  ])
  return { released: JSON.parse(rows[0]?.[0] as string) as boolean[] }
}

export async function listHolds(
  query: Query,
  schema: string,
  call: { readonly space?: string; readonly now?: number },
): Promise<{ holds: Hold[] }> {
  const rows = await query(`select ${schema}.list_holds($1::text, $2::bigint)`, [
    call.space ?? null,
    timeOf(call),
  ])
  return { holds: (JSON.parse((rows[0]?.[0] as string | null) ?? '[]') as HoldRow[]).map(toHold) }
}

function timeOf({ now }: { readonly now?: number }): Param {
  return now === undefined ? null : String(now)
}

type HoldRow = [
  kind: HoldKind,
  space: string | null,
  queue: string | null,
  lane: string | null,
  reason: string | null,
  by: string | null,
  since: number,
  until: number | null,
]

function toHold([kind, space, queue, lane, reason, by, since, until]: HoldRow): Hold {
  return { kind, space, queue, lane, reason, by, since, until }
}

/** What names a hold in the table, and what the names of its queues are like. */
function keyOf({
  kind,
  space,
  queue,
  lane,
}: HoldTarget & { readonly kind: HoldKind }): Record<string, unknown> {
  return {
    kind,
    space: space ?? '',
    queue: queue ?? '',
    has_lane: lane !== null,
    lane: lane ?? '',
    pattern: queue === null ? null : queue.replace(/[\\%_]/g, '\\$&').replaceAll('*', '%'),
  }
}
