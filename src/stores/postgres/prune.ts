import { FORGET_WORKER_MS, REMEMBER_DISCARDED_MS } from '../../store.ts'
import type { Query } from './driver.ts'

/** Sends one prune, see `migrations/upkeep-functions.ts`. */
export async function prune(
  query: Query,
  schema: string,
  call: { readonly limit: number; readonly now?: number },
): Promise<{ pruned: number }> {
  const rows = await query(`select ${schema}.prune_jobs($1::bigint, $2::bigint, $3::bigint, $4::bigint)`, [
    String(call.limit),
    String(REMEMBER_DISCARDED_MS),
    String(FORGET_WORKER_MS),
    call.now === undefined ? null : String(call.now),
  ])
  return { pruned: Number(rows[0]?.[0]) }
}
