import type { Job } from '../../../core/jobs/job.ts'
import type { Turn } from '../connection/write-batch.ts'

/** The job that holds a unique key at `now`; undefined when the key is free. */
export function keyHolder(turn: Turn, q: number, key: string, now: number): string | undefined {
  const row = turn.db.get('select id, until from skep_uniques where q = ? and key = ?', q, key)
  if (!row) return undefined
  const [id, until] = row as [string, number | null]
  return until === null || until > now ? id : undefined
}

/** Gives a key to a job, until a moment or until it is released. */
export function holdKey(turn: Turn, q: number, key: string, id: string, until: number | null): void {
  turn.db.run(
    'insert or replace into skep_uniques (q, key, id, until) values (?, ?, ?, ?)',
    q,
    key,
    id,
    until,
  )
}

/** Gives up the unique key of a job that has reached the end of the key's scope. */
export function releaseKey(
  turn: Turn,
  q: number,
  job: Pick<Job, 'id' | 'uniqueKey' | 'uniqueScope'>,
  at: 'claim' | 'end',
): void {
  if (job.uniqueKey === null || job.uniqueScope === 'window') return
  if (at === 'claim' && job.uniqueScope !== 'queued') return
  // Only the holder lets go: the key may belong to a later job by now.
  turn.db.run('delete from skep_uniques where q = ? and key = ? and id = ?', q, job.uniqueKey, job.id)
}
