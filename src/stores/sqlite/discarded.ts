import { type FinalState, JOB_STATES } from '../../core/job.ts'
import { REMEMBER_DISCARDED_MS } from '../../store.ts'
import type { Handle } from './handle.ts'

interface Group {
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

  add(ids: readonly string[], by: Removal | null, now: number): void {
    const until = now + REMEMBER_DISCARDED_MS
    const last = this.#fresh.at(-1)
    if (last?.by?.token === by?.token && last?.by?.state === by?.state && last?.until === until) {
      last.ids.push(...ids)
    } else this.#fresh.push({ by, until, ids: [...ids] })
  }

  /** How a job was removed; undefined if it is not remembered. */
  find(id: string): Removal | null | undefined {
    this.write()
    // A match that begins in the middle of an id would need two ids to contain a third: never, for UUIDs.
    const row = this.#db.get(
      `select token, state from skep_discarded where last_id >= ? and first_id <= ? and instr(ids, ?) > 0
       order by d desc limit 1`,
      id,
      id,
      bytesOf(id),
    )
    if (row === undefined || row[0] === null) return row && null
    return { token: row[0] as string, state: JOB_STATES[row[1] as number] as FinalState }
  }

  write(): void {
    for (const { by, until, ids } of this.#fresh) {
      let first = ids[0] as string
      let last = first
      for (const id of ids) {
        if (id < first) first = id
        if (id > last) last = id
      }
      this.#db.run(
        'insert into skep_discarded (token, state, until, first_id, last_id, ids) values (?, ?, ?, ?, ?, ?)',
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

function bytesOf(ids: string): Uint8Array {
  return Buffer.from(ids.replaceAll('-', ''), 'hex')
}
