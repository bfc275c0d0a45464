import { FORGET_WORKER_MS, REMEMBER_DISCARDED_MS } from '../../../store/store.ts'
import type { Turn } from '../connection/write-batch.ts'
import { pruneFlows } from '../flows/prune.ts'
import { pruneRecords } from '../records.ts'
import { pruneNotes, removeNotes } from './job-log.ts'

/** Lanes with nothing to remember: as new ones would be. */
const BLANK_LANES = `
  delete from skep_lanes where standing = 0 and running = 0 and occupant is null and own is null
    and wait_until <= ? and held_until <= ? and full_at <= ?
    and turn < (select clock from skep_lines s where s.q = skep_lanes.q)`

/** Removes finished jobs whose time is over, oldest first, and what nobody needs any more. */
export function prune(turn: Turn, limit: number, now: number): { readonly pruned: number } {
  const { db } = turn
  const over = db.all(
    'select a, q, state, id, finished_at, space from skep_archive where expires_at <= ? order by expires_at, id limit ?',
    now,
    limit,
  ) as [number, number, number, string, number, string][]
  for (const [, q, state] of over) turn.count(q, state, -1)
  const numbers = JSON.stringify(over.map(([a]) => a))
  db.run('delete from skep_archive where a in (select value from json_each(?))', numbers)
  removeNotes(
    turn,
    over.map(([, , , id, , space]) => ({ id, space })),
  )
  pruneNotes(turn, limit, now)
  pruneRecords(turn, limit, now)
  // The insert of a job that finished just now may yet be repeated.
  const fresh = over.filter(([, , , , finishedAt]) => finishedAt > now - REMEMBER_DISCARDED_MS)
  for (const [, q, , id] of fresh) turn.discarded.add(q, [id], null, now)
  turn.discarded.write()
  db.run('delete from skep_discarded where until <= ?', now)
  db.run('delete from skep_uniques where until is not null and until <= ?', now)
  pruneLanes(turn, now)
  db.run('delete from skep_workers where seen_at <= ?', now - FORGET_WORKER_MS)
  // Whoever calls comes again when it was as many as they asked for.
  const isMore = pruneFlows(turn, limit, now)
  return { pruned: isMore ? limit : over.length }
}

/** Forgets holds that ended and lanes that have nothing to remember. */
function pruneLanes(turn: Turn, now: number): void {
  turn.lanes.write()
  if (turn.db.run('delete from skep_holds where until <= ?', now) > 0) turn.lanes.holdsChanged()
  turn.db.run(BLANK_LANES, now, now, now * 1_000)
  turn.lanes.forget()
}
