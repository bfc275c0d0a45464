import { JOB_STATES, type JobState } from '../../core/job.ts'
import {
  type CountsCall,
  type CountsReply,
  OVERDUE_LIMIT,
  PRIORITIES_PASSED,
  type QueueCounts,
  type SpaceCounts,
} from '../../store.ts'
import { byTheClock, STRICT_RANKS_MS, spacesOf } from '../shared/counts.ts'
import type { SqlValue } from './client.ts'
import { DEFAULT_NUMBER } from './line.ts'
import type { Turn } from './turn.ts'

// Each of these reads the beginning of an index: overdue jobs, the oldest of them, the oldest ready job that has a lane or a
// priority, and the first that has neither, whose place is its due time.
const COUNTS = `
  select name, ${JOB_STATES.join(', ')},
    (select count(*) from (select 1 from skep_waiting w
      where w.q = s.q and w.state = 0 and w.place <= ? limit ${OVERDUE_LIMIT})),
    (select w.place from skep_waiting w where w.q = s.q and w.state = 0 and w.place <= ? order by w.place limit 1),
    (select w.due from skep_waiting w where w.q = s.q and w.due is not null order by w.due limit 1),
    (select place from (select w.place, w.due from skep_waiting w where w.q = s.q and w.state = ${DEFAULT_NUMBER} and w.place > ? - ${STRICT_RANKS_MS}
      order by w.place, w.id limit ${PRIORITIES_PASSED + 1}) where due is null limit 1)
  from skep_queues s where space = ?`

/** How many jobs each queue has in each state: kept with the queue, so that nothing is counted but the overdue ones. */
export function counts(turn: Pick<Turn, 'db'>, call: CountsCall, now: number): CountsReply {
  const reply = countsOfSpace(turn, call, now)
  return call.spaces ? { ...reply, spaces: spaces(turn) } : reply
}

function spaces({ db }: Pick<Turn, 'db'>): SpaceCounts[] {
  const rows = db.all(`select space, ${JOB_STATES.join(', ')} from skep_queues`)
  return spacesOf(
    rows.map(([space, ...states]) => ({ space: space as string, states: states as readonly number[] })),
  )
}

function countsOfSpace(turn: Pick<Turn, 'db'>, { space, queues }: CountsCall, now: number): CountsReply {
  if (!queues) {
    const rows = turn.db.all(`${COUNTS} order by name`, now, now, now, space)
    return { queues: rows.map(([name, ...numbers]) => countsOf(name as string, numbers)), now }
  }
  return {
    queues: queues.map((queue) => {
      const row = turn.db.get(`${COUNTS} and name = ?`, now, now, now, space, queue)
      return countsOf(queue, row?.slice(1) ?? [])
    }),
    now,
  }
}

function countsOf(queue: string, numbers: readonly SqlValue[]): QueueCounts {
  const stored = JOB_STATES.map((state, i) => [state, (numbers[i] ?? 0) as number])
  const [overdue, ...dues] = numbers.slice(JOB_STATES.length)
  const oldest = Math.min(...dues.map((due) => (due ?? Infinity) as number))
  return {
    queue,
    states: byTheClock(Object.fromEntries(stored) as Record<JobState, number>, (overdue ?? 0) as number),
    overdue: (overdue ?? 0) as number,
    oldestDueAt: oldest === Infinity ? null : oldest,
  }
}
