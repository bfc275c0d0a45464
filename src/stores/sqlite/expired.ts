import { claimedPart } from '../../core/transitions.ts'
import type { ExpiredCall, ExpiredLease, ExpiredReply } from '../../store.ts'
import { HOT_COLUMNS, hotJob } from './record.ts'
import type { Turn } from './turn.ts'

/**
 * Leases that are over, or whose workers are gone. It reads all leases: there are only as many as handlers
 * run, and an index by their ends would have to be moved with every claim and heartbeat.
 */
export function expired(turn: Pick<Turn, 'db' | 'queues'>, call: ExpiredCall, now: number): ExpiredReply {
  const queues = call.sources.map(({ space, queue }) => turn.queues.find(turn.db, space, queue))
  const rows = turn.db.all(
    `select ${HOT_COLUMNS} from skep_leases l cross join skep_jobs j on j.n = l.n
     where (l.until <= ? or l.worker in (select value from json_each(?)))
       and l.q in (select value from json_each(?))
     order by l.until, j.id limit ?`,
    now,
    JSON.stringify(call.workerIds),
    JSON.stringify(queues.filter((q) => q !== undefined)),
    call.limit,
  )
  return {
    leases: rows.map((row): ExpiredLease => {
      const { job } = hotJob(turn, row)
      return {
        ...claimedPart(job),
        workerId: job.worker as string,
        cancelReason: job.cancelReason,
        over: (job.leaseUntil as number) <= now,
      }
    }),
  }
}
