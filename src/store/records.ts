/**
 * What a store promises about records: small documents that are no jobs, such as access tokens, lines of the audit, error
 * groups, minutes of metrics and bulk actions. One contract for all of them, because a store need not know what they are.
 *
 * A record is found by its scope, its kind and its id. The scope is the name of a space, or {@link EVERY_SPACE}. A list is in
 * the order of the ids, byte by byte; whoever wants another order makes ids accordingly.
 */

/** The scope of records that belong to no space. No space can have this name. */
export const EVERY_SPACE = '*'

export interface RecordStore {
  /**
   * Writes records, all of a call or none. One whose `expect` is not what is stored is refused and changes nothing, and then
   * nothing of the call is written. One that is stored with this very revision already was put by an earlier try: it is `ok`.
   * Redis: for each HGET revision, compare; then HSET record; ZADD index; ZADD expiry.
   */
  putRecords(call: PutRecordsCall): Promise<{ readonly results: readonly PutRecordResult[] }>

  /** Records by id; null where there is none, or its time is over. Redis: HGETALL each. */
  getRecords(call: GetRecordsCall): Promise<{ readonly records: readonly (StoredRecord | null)[] }>

  /** One page of the records of a kind, by id. Redis: ZRANGE BYLEX of the index, HGETALL each. */
  listRecords(call: ListRecordsCall): Promise<ListRecordsReply>

  /** Removes records. Returns the ids of those that were there, in the order of the call. Redis: HDEL, ZREM. */
  removeRecords(call: RemoveRecordsCall): Promise<{ readonly removed: readonly string[] }>
}

export interface RecordPlace {
  /** A space, or {@link EVERY_SPACE}. */
  readonly scope: string
  /** What it is: a word such as `token`. */
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
  /** Another text after each change, made by whoever writes. */
  readonly revision: string
  /** The revision that must be stored; null: there must be none. Left out: whatever is there is replaced. */
  readonly expect?: string | null
  /** When it may be removed; null: never by itself. From then on nobody sees it. */
  readonly expiresAt: number | null
}

export type PutRecordResult = 'ok' | 'refused'

export interface StoredRecord {
  readonly id: string
  readonly body: string
  readonly revision: string
  readonly expiresAt: number | null
  /** When it was written last, by the store's clock. */
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
  /** Whether there are more beyond the last. */
  readonly more: boolean
}

export interface RemoveRecordsCall extends RecordPlace {
  readonly ids: readonly string[]
  readonly now?: number
}
