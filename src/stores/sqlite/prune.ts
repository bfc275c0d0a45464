import { FORGET_WORKER_MS, REMEMBER_DISCARDED_MS } from '../../store.ts'
import { pruneNotes, removeNotes } from './notes.ts'
import type { Turn } from './turn.ts'

/** Removes finished jobs whose time is over, oldest first, and what nobody needs any more. */
export function prune(turn: Turn, limit: number, now: number): { readonly pruned: number } {
  const { db } = turn
  const over = db.all(
    'select a, q, state, id, finished_at from skep_archive where expires_at <= ? order by expires_at, id limit ?',
    now,
    limit,
  ) as [number, number, number, string, number][]
  for (const [, q, state] of over) turn.count(q, state, -1)
  const numbers = JSON.stringify(over.map(([a]) => a))
  db.run('delete from skep_archive where a in (select value from json_each(?))', numbers)
  removeNotes(
    turn,
    over.map(([, , , id]) => id),
  )
  pruneNotes(turn, limit, now)
  // The insert of a job that finished just now may yet be repeated.
  const fresh = over.filter(([, , , , finishedAt]) => finishedAt > now - REMEMBER_DISCARDED_MS)
  if (fresh.length > 0)
    turn.discarded.add(
      fresh.map(([, , , id]) => id),
      null,
      now,
    )
  turn.discarded.write()
  db.run('delete from skep_discarded where until <= ?', now)
  db.run('delete from skep_uniques where until is not null and until <= ?', now)
  db.run('delete from skep_workers where seen_at <= ?', now - FORGET_WORKER_MS)
  return { pruned: over.length }
}
