import type {
  GetRecordsCall,
  ListRecordsCall,
  ListRecordsReply,
  PutRecordResult,
  PutRecordsCall,
  RecordPlace,
  RemoveRecordsCall,
  StoredRecord,
} from '../../store/records.ts'

/** The records of all kinds: for each place a map by id. */
export class Records {
  readonly #places = new Map<string, Map<string, StoredRecord>>()

  put({ records, ...place }: PutRecordsCall, now: number): PutRecordResult[] {
    const known = this.#at(place)
    const results = records.map(({ id, revision, expect }): PutRecordResult => {
      const stored = this.#live(known.get(id), now)
      if (expect === undefined || stored?.revision === revision) return 'ok'
      return (stored?.revision ?? null) === expect ? 'ok' : 'refused'
    })
    if (results.includes('refused')) return results
    for (const { id, body, revision, expiresAt } of records)
      known.set(id, { id, body, revision, expiresAt, writtenAt: now })
    return results
  }

  get({ ids, ...place }: GetRecordsCall, now: number): (StoredRecord | null)[] {
    const known = this.#at(place)
    return ids.map((id) => this.#live(known.get(id), now) ?? null)
  }

  list({ from, before, backwards, limit, ...place }: ListRecordsCall, now: number): ListRecordsReply {
    const found = [...this.#at(place).values()]
      .filter(({ id }) => (from === undefined || id >= from) && (before === undefined || id < before))
      .filter((record) => this.#live(record, now) !== undefined)
      .sort((a, b) => (a.id < b.id ? -1 : 1))
    if (backwards) found.reverse()
    return { records: found.slice(0, limit), more: found.length > limit }
  }

  remove({ ids, ...place }: RemoveRecordsCall, now: number): string[] {
    const known = this.#at(place)
    return ids.filter((id) => {
      const stored = this.#live(known.get(id), now)
      known.delete(id)
      return stored !== undefined
    })
  }

  /** Removes those whose time is over. */
  prune(now: number): void {
    for (const known of this.#places.values())
      for (const record of known.values()) if (!this.#live(record, now)) known.delete(record.id)
  }

  #at({ scope, kind }: RecordPlace): Map<string, StoredRecord> {
    const key = `${scope}\n${kind}`
    const known = this.#places.get(key) ?? new Map<string, StoredRecord>()
    this.#places.set(key, known)
    return known
  }

  #live(record: StoredRecord | undefined, now: number): StoredRecord | undefined {
    return record && (record.expiresAt === null || record.expiresAt > now) ? record : undefined
  }
}
