import type { Membership } from '../../../core/flows/groups.ts'
import { isFinal } from '../../../core/jobs/job.ts'
import { claimedPart } from '../../../core/jobs/transitions.ts'
import type {
  ExpiredCall,
  ExpiredLease,
  ExpiredReply,
  ExtendCall,
  ExtendReply,
  ExtendResult,
} from '../../../store/store.ts'
import type { Turn } from '../connection/write-batch.ts'
import { find, HOT_COLUMNS, hotJob } from './job-row.ts'

/** So many jobs are remembered at most; one that was forgotten is looked up by its id. */
const MOST = 50_000

/** The jobs one claim took from one queue, by id, with their numbers. */
export interface HeldBatch {
  readonly token: string
  readonly space: string
  readonly q: number
  readonly numbers: Map<string, number>
  /** The keys of their lanes, for those that are in one. */
  readonly lanes: ReadonlyMap<string, string>
  /** Which members they are, for those that are in a group. */
  readonly members: ReadonlyMap<string, Membership>
}

/**
 * The numbers of the plain jobs (no unique key) that this process has claimed, so that the end of many leases
 * need not look up every id. It is only a shortcut: the lease is always checked by number and token in the
 * database, and a token belongs to one claim.
 */
export class HeldJobs {
  readonly #batches = new Map<string, HeldBatch[]>()
  #size = 0
  #claimed: HeldBatch[] = []
  #settled: { readonly batch: HeldBatch; readonly ids: readonly string[] }[] = []

  /** The batch a job was claimed in. */
  find(token: string, space: string, id: string): HeldBatch | undefined {
    const batches = this.#batches.get(token)
    return batches?.find((batch) => batch.space === space && batch.numbers.has(id))
  }

  /** Takes effect at the commit. */
  claimed(batch: HeldBatch): void {
    this.#claimed.push(batch)
  }

  /** Takes effect at the commit. */
  settled(batch: HeldBatch, ids: readonly string[]): void {
    this.#settled.push({ batch, ids })
  }

  commit(): void {
    for (const { batch, ids } of this.#settled) this.#remove(batch, ids)
    for (const batch of this.#claimed) {
      if (batch.numbers.size === 0) continue
      this.#batches.set(batch.token, [...(this.#batches.get(batch.token) ?? []), batch])
      this.#size += batch.numbers.size
    }
    // The oldest claims go first: their leases are the likeliest to be over.
    for (const [token, batches] of this.#batches) {
      if (this.#size <= MOST) break
      this.#batches.delete(token)
      for (const { numbers } of batches) this.#size -= numbers.size
    }
    this.rollback()
  }

  rollback(): void {
    this.#claimed = []
    this.#settled = []
  }

  #remove(batch: HeldBatch, ids: readonly string[]): void {
    const { token, numbers } = batch
    for (const id of ids) if (numbers.delete(id)) this.#size--
    if (numbers.size > 0) return
    const others = this.#batches.get(token)?.filter((other) => other !== batch) ?? []
    if (others.length > 0) this.#batches.set(token, others)
    else this.#batches.delete(token)
  }
}

export function extend(turn: Turn, call: ExtendCall, now: number): ExtendReply {
  return {
    results: call.leases.map(({ space, id, token }) => extendOne(turn, space, id, token, now + call.leaseMs)),
  }
}

function extendOne(turn: Turn, space: string, id: string, token: string, until: number): ExtendResult {
  const { db, held } = turn
  const known = held.find(token, space, id)?.numbers.get(id)
  const n = known ?? db.get('select n from skep_jobs where id = ? and space = ?', id, space)?.[0]
  if (n !== undefined) {
    const lease = db.get(
      'update skep_leases set until = ? where n = ? and token = ? returning cancel_reason',
      until,
      n,
      token,
    )
    if (lease) return { status: 'ok', cancelReason: lease[0] as string | null }
  }
  const job = find(turn, space, id)?.job
  return { status: 'refused', reason: job === undefined || isFinal(job.state) ? 'gone' : 'lost' }
}

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
