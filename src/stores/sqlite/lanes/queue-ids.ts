import type { Handle } from '../connection/connection.ts'

export interface QueueName {
  readonly space: string
  readonly queue: string
}

/** The numbers of queues. A queue that was made is never taken away, so what was read once stays true. */
export class QueueIds {
  readonly #byName = new Map<string, Map<string, number>>()
  readonly #byNumber = new Map<number, QueueName>()

  /** The number of a queue; undefined while no job was ever in it. */
  find(db: Handle, space: string, queue: string): number | undefined {
    const known = this.#byName.get(space)?.get(queue)
    if (known !== undefined) return known
    const row = db.get('select q from skep_queues where space = ? and name = ?', space, queue)
    return row === undefined ? undefined : this.#keep(row[0] as number, space, queue)
  }

  /** The number of a queue, which is made if need be. */
  make(db: Handle, space: string, queue: string): number {
    const known = this.find(db, space, queue)
    if (known !== undefined) return known
    db.run('insert into skep_queues (space, name) values (?, ?)', space, queue)
    return this.find(db, space, queue) as number
  }

  name(db: Handle, q: number): QueueName {
    const known = this.#byNumber.get(q)
    if (known) return known
    const [space, queue] = db.get('select space, name from skep_queues where q = ?', q) as [string, string]
    this.#keep(q, space, queue)
    return { space, queue }
  }

  /** After a rollback: a queue made in it does not exist. */
  forget(): void {
    this.#byName.clear()
    this.#byNumber.clear()
  }

  #keep(q: number, space: string, queue: string): number {
    const names = this.#byName.get(space) ?? new Map<string, number>()
    this.#byName.set(space, names.set(queue, q))
    this.#byNumber.set(q, { space, queue })
    return q
  }
}
