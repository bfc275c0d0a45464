/**
 * The contract for records: small documents that are not jobs, such as access tokens, audit entries, error
 * groups, minutes of metrics and bulk actions. A store need not know what they are.
 *
 * A record is identified by scope, kind and id. The scope is the name of a space, or {@link EVERY_SPACE}.
 * Lists are ordered by id, byte by byte; callers that need another order choose their ids accordingly.
 */

/** The scope of records that belong to no space. It is not a valid name of a space. */
export const EVERY_SPACE = '*'

export interface RecordStore {
  /**
   * Writes records, all of a call or none. If an `expect` differs from the stored revision, the record is
   * refused and nothing is written. One with the stored revision was put by an earlier attempt: it is `ok`.
   * Redis: for each HGET revision, compare; then HSET record; ZADD index; ZADD expiry.
   */
  putRecords(call: PutRecordsCall): Promise<{ readonly results: readonly PutRecordResult[] }>

  /** Records by id; null if missing or expired. Redis: HGETALL each. */
  getRecords(call: GetRecordsCall): Promise<{ readonly records: readonly (StoredRecord | null)[] }>

  /** One page of the records of a kind, by id. Redis: ZRANGE BYLEX of the index, HGETALL each. */
  listRecords(call: ListRecordsCall): Promise<ListRecordsReply>

  /** Removes records. Returns the ids of those that existed, in the order of the call. Redis: HDEL, ZREM. */
  removeRecords(call: RemoveRecordsCall): Promise<{ readonly removed: readonly string[] }>
}

export interface RecordPlace {
  /** A space, or {@link EVERY_SPACE}. */
  readonly scope: string
  /** The kind: a keyword such as `token`. */
  readonly kind: string
}

export interface PutRecordsCall extends RecordPlace {
  /** Each id at most once. */
  readonly records: readonly NewRecord[]
  readonly now?: number
}

export interface NewRecord {
  /** Up to 256 bytes of printable ASCII. */
  readonly id: string
  /** JSON text. */
  readonly body: string
  /** Chosen by the writer, different for each change. */
  readonly revision: string
  /** The required stored revision; null: the record must not exist. Omitted: any. */
  readonly expect?: string | null
  /** When it expires; null: never. Expired records are invisible. */
  readonly expiresAt: number | null
}

export type PutRecordResult = 'ok' | 'refused'

export interface StoredRecord {
  readonly id: string
  readonly body: string
  readonly revision: string
  readonly expiresAt: number | null
  /** The last write, by the store's clock. */
  readonly writtenAt: number
}

export interface GetRecordsCall extends RecordPlace {
  readonly ids: readonly string[]
  readonly now?: number
}

export interface ListRecordsCall extends RecordPlace {
  /** Only ids from this one on. */
  readonly from?: string
  /** Only ids before this one. */
  readonly before?: string
  /** The greatest id first. @default false */
  readonly backwards?: boolean
  readonly limit: number
  readonly now?: number
}

export interface ListRecordsReply {
  readonly records: readonly StoredRecord[]
  /** Whether there are more records after the last. */
  readonly more: boolean
}

export interface RemoveRecordsCall extends RecordPlace {
  readonly ids: readonly string[]
  readonly now?: number
}
