import type { RecordStore, Runtime, StoredRecord } from '../../index.ts'

export interface RecordCacheOptions<T> {
  readonly records: Pick<RecordStore, 'getRecords'>
  readonly runtime: Runtime
  readonly scope: string
  readonly kind: string
  /** What a record says; null if it cannot be read, which counts as none. */
  readonly read: (record: StoredRecord) => T | null
  /** How long what was read counts. */
  readonly freshMs: number
  /** How much longer it counts while the store does not answer. */
  readonly staleMs: number
  /** How many are remembered. @default 10000 */
  readonly size?: number
}

interface Entry<T> {
  readonly value: T | null
  readonly readAt: number
}

/**
 * Records that are asked for with every request, read once in a few seconds. That there is none is remembered as well, so that asking
 * for what does not exist is no way to keep the store busy, and takes as long as asking for what does.
 */
export class RecordCache<T> {
  readonly #options: RecordCacheOptions<T>
  readonly #entries = new Map<string, Entry<T>>()
  readonly #reading = new Map<string, Promise<T | null>>()
  #forgets = 0

  constructor(options: RecordCacheOptions<T>) {
    this.#options = options
  }

  get(id: string): Promise<T | null> {
    const { runtime, freshMs } = this.#options
    const entry = this.#entries.get(id)
    if (entry && runtime.mono() - entry.readAt < freshMs) return Promise.resolve(entry.value)
    const under = this.#reading.get(id)
    if (under) return under
    const reading = this.#read(id, entry).finally(() => {
      if (this.#reading.get(id) === reading) this.#reading.delete(id)
    })
    this.#reading.set(id, reading)
    return reading
  }

  /** Whether it is remembered that there is such a record. */
  has(id: string): boolean {
    return (this.#entries.get(id)?.value ?? null) !== null
  }

  /** What is remembered of this one is read again, and a read that is under way is not remembered. */
  forget(id: string): void {
    this.#forgets += 1
    this.#entries.delete(id)
    this.#reading.delete(id)
  }

  async #read(id: string, known: Entry<T> | undefined): Promise<T | null> {
    const { records, runtime, scope, kind, read, freshMs, staleMs } = this.#options
    const readAt = runtime.mono()
    const forgets = this.#forgets
    try {
      const { records: found } = await records.getRecords({ scope, kind, ids: [id] })
      const value = found[0] ? read(found[0]) : null
      if (forgets === this.#forgets) this.#remember(id, { value, readAt })
      return value
    } catch (error) {
      if (known && runtime.mono() - known.readAt < freshMs + staleMs) return known.value
      throw error
    }
  }

  #remember(id: string, entry: Entry<T>): void {
    this.#entries.delete(id)
    this.#entries.set(id, entry)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > (this.#options.size ?? 10_000)) this.#entries.delete(oldest as string)
  }
}
