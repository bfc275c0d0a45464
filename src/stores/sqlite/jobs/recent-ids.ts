import { type FinalState, JOB_STATES } from '../../../core/jobs/job.ts'
import { REMEMBER_DISCARDED_MS } from '../../../store/store.ts'
import type { Handle } from '../connection/connection.ts'

interface Group {
  readonly q: number
  readonly by: Removal | null
  readonly until: number
  readonly ids: string[]
}

/** The settlement that removed a job: its token, and the state in which the job ended. */
export interface Removal {
  readonly token: string
  readonly state: FinalState
}

/**
 * The ids of jobs that were discarded, with the settlement that did it, remembered so that an insert or a settlement
 * can be repeated: one row for all jobs that a lease's token discarded in a transaction. `null` stands for what was
 * removed otherwise than by its holder: by a rescue, by prune, by a person.
 */
export class Discarded {
  readonly #db: Handle
  #fresh: Group[] = []

  constructor(db: Handle) {
    this.#db = db
  }

  /** `q` is the number of the queue in which the jobs were. */
  add(q: number, ids: readonly string[], by: Removal | null, now: number): void {
    const until = now + REMEMBER_DISCARDED_MS
    const last = this.#fresh.at(-1)
    const isAlike = last?.q === q && last.by?.token === by?.token && last.by?.state === by?.state
    if (isAlike && last.until === until) last.ids.push(...ids)
    else this.#fresh.push({ q, by, until, ids: [...ids] })
  }

  /** How a job was removed, if it was this token that removed it last from its queue; null otherwise. */
  find({ space, id }: { readonly space: string; readonly id: string }, token: string): Removal | null {
    this.write()
    const sql = `select q, token, state from skep_discarded where ${REMEMBERS}
      and q in (select q from skep_queues where space = ?) order by d desc`
    const seen = new Set<unknown>()
    for (const [q, by, state] of this.#db.all(sql, ...sought(id), space)) {
      if (by === token && !seen.has(q)) return { token, state: JOB_STATES[state as number] as FinalState }
      seen.add(q)
    }
    return null
  }

  /** Whether a job of this queue is remembered. */
  has(id: string, q: number): boolean {
    this.write()
    return (
      this.#db.get(`select 1 from skep_discarded where ${REMEMBERS} and q = ?`, ...sought(id), q) !==
      undefined
    )
  }

  write(): void {
    for (const { q, by, until, ids } of this.#fresh) {
      let first = ids[0] as string
      let last = first
      for (const id of ids) {
        if (id < first) first = id
        if (id > last) last = id
      }
      this.#db.run(
        'insert into skep_discarded (q, token, state, until, first_id, last_id, ids) values (?, ?, ?, ?, ?, ?, ?)',
        q,
        by?.token ?? null,
        by ? JOB_STATES.indexOf(by.state) : null,
        until,
        first,
        last,
        bytesOf(ids.join('')),
      )
    }
    if (this.#fresh.length > 0) this.#fresh = []
  }
}

// A match that begins in the middle of an id would need two ids to contain a third: never, for UUIDs.
const REMEMBERS = 'last_id >= ? and first_id <= ? and instr(ids, ?) > 0'

function sought(id: string): readonly [string, string, Uint8Array] {
  return [id, id, bytesOf(id)]
}

function bytesOf(ids: string): Uint8Array {
  return Buffer.from(ids.replaceAll('-', ''), 'hex')
}
