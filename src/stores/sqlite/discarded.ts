import { REMEMBER_DISCARDED_MS } from '../../store.ts'
import type { Handle } from './handle.ts'

interface Group {
  readonly token: string
  readonly until: number
  readonly ids: string[]
}

/**
 * The ids of jobs that were discarded, with the token that did it, remembered so that an insert or a settlement
 * can be repeated: one row for all jobs that a lease's token discarded in a transaction.
 */
export class Discarded {
  readonly #db: Handle
  #fresh: Group[] = []

  constructor(db: Handle) {
    this.#db = db
  }

  add(ids: readonly string[], token: string, now: number): void {
    const until = now + REMEMBER_DISCARDED_MS
    const last = this.#fresh.at(-1)
    if (last?.token === token && last.until === until) last.ids.push(...ids)
    else this.#fresh.push({ token, until, ids: [...ids] })
  }

  /** The token that discarded a job; undefined if it is not remembered. */
  tokenOf(id: string): string | undefined {
    this.write()
    // A match that begins in the middle of an id would need two ids to contain a third: never, for UUIDs.
    const row = this.#db.get(
      `select token from skep_discarded where last_id >= ? and first_id <= ? and instr(ids, ?) > 0
       order by d desc limit 1`,
      id,
      id,
      bytesOf(id),
    )
    return row?.[0] as string | undefined
  }

  write(): void {
    for (const { token, until, ids } of this.#fresh) {
      let first = ids[0] as string
      let last = first
      for (const id of ids) {
        if (id < first) first = id
        if (id > last) last = id
      }
      this.#db.run(
        'insert into skep_discarded (token, until, first_id, last_id, ids) values (?, ?, ?, ?, ?)',
        token,
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
