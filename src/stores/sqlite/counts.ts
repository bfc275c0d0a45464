import { JOB_STATES, type JobState } from '../../core/job.ts'
import type { CountsCall, QueueCounts } from '../../store.ts'
import type { SqlValue } from './client.ts'
import type { Turn } from './turn.ts'

const COUNTS = `
  select name, (select j.due_at from skep_waiting w cross join skep_jobs j on j.n = w.n
    where w.q = s.q and w.state >= 1 order by w.state, w.place, w.id limit 1), ${JOB_STATES.join(', ')}
  from skep_queues s where space = ?`

/** How many jobs each queue has in each state: kept with the queue, so that nothing is counted. */
export function counts(
  turn: Pick<Turn, 'db'>,
  call: CountsCall,
): { readonly queues: readonly QueueCounts[] } {
  const { space, queues } = call
  if (!queues) return { queues: turn.db.all(`${COUNTS} order by name`, space).map(countsOf) }
  return {
    queues: queues.map((queue) => {
      const row = turn.db.get(`${COUNTS} and name = ?`, space, queue)
      return countsOf(row ?? [queue, null, ...JOB_STATES.map(() => 0)])
    }),
  }
}

function countsOf([queue, oldestDueAt, ...numbers]: readonly SqlValue[]): QueueCounts {
  const states = Object.fromEntries(JOB_STATES.map((state, i) => [state, numbers[i]]))
  return {
    queue: queue as string,
    states: states as Record<JobState, number>,
    oldestDueAt: oldestDueAt as number | null,
  }
}
