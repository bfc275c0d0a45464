import type { PriorityMode } from '../../core/jobs/priority.ts'
import type { RecordPlace, StoredRecord } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'

/** What a bulk action does. `retry` starts finished jobs anew (the store's word is retry). */
export const BULK_ACTIONS = [
  'retry',
  'cancel',
  'bury',
  'promote',
  'reschedule',
  'move',
  'remove',
  'prioritize',
] as const
export type BulkAction = (typeof BULK_ACTIONS)[number]

/** `failed`: the store refuses it, and `error` says why. */
export type BulkStatus = 'running' | 'done' | 'stopped' | 'failed'

/** A bulk action as people see it. */
export interface BulkView {
  readonly id: string
  readonly name: string
  readonly action: BulkAction
  readonly query: string
  /** Who started it. */
  readonly by: string
  readonly status: BulkStatus
  /** How many jobs were looked at, and of these changed and refused. Running jobs that were asked to stop count as changed. */
  readonly searched: number
  readonly changed: number
  readonly refused: number
  /** How many fitted when it began; null if that was not counted to the end. */
  readonly expected: number | null
  readonly startedAt: Date
  /** Nothing is changed before this: until then a stop undoes it. */
  readonly beginsAt: Date
  /** When it began by the store's clock: the jobs that it retries are due then. Null until a process took it up. */
  readonly boundAt: Date | null
  readonly endedAt: Date | null
  readonly error: string | null
}

/** What is stored of it. Moments are milliseconds. */
export interface BulkRecord extends Omit<BulkView, 'id' | 'startedAt' | 'beginsAt' | 'boundAt' | 'endedAt'> {
  readonly startedAt: number
  readonly beginsAt: number
  readonly endedAt: number | null
  readonly reason: string | null
  readonly priority: number
  readonly priorityMode: PriorityMode
  /** For `reschedule`. */
  readonly dueAt: number | null
  /** For `move`. */
  readonly queue: string | null
  /** Jobs that are about to be moved. Written before the first of them is touched, so that they are found again. */
  readonly moving: readonly string[] | null
  readonly perSecond: number | null
  /** Whether a retry has set jobs of strict order aside, in the memory of its holder. Another begins its walk anew to find them. */
  readonly isAside?: boolean
  /** Where its next page begins. */
  readonly cursor: string | null
  /** The moment of its beginning by the store's clock: jobs that come to fit later are left alone. Null until somebody took it up. */
  readonly bound: number | null
  /** Who works it off; null: nobody. */
  readonly holder: string | null
}

/** A record with what is needed to write it again. */
export interface Kept {
  readonly id: string
  readonly record: BulkRecord
  readonly revision: string
  readonly writtenAt: number
}

/** Ended ones are shown for so long. */
const KEPT_MS = 7 * 86_400_000

/** In one call of a list. */
const PAGE = 200

/** The records of bulk actions, one space. */
export class BulkBook {
  readonly #store: Pick<Store, 'getRecords' | 'listRecords' | 'putRecords'>
  readonly #place: RecordPlace

  constructor(store: Pick<Store, 'getRecords' | 'listRecords' | 'putRecords'>, space: string) {
    this.#store = store
    this.#place = { scope: space, kind: 'bulk' }
  }

  async get(id: string): Promise<Kept | null> {
    const { records } = await this.#store.getRecords({ ...this.#place, ids: [id] })
    return records[0] ? keptOf(records[0]) : null
  }

  /** Newest first: their ids begin with the time. With `most`, no more than that. */
  async list(most: number = Infinity): Promise<Kept[]> {
    const found: Kept[] = []
    let before: string | undefined
    for (;;) {
      const call = { ...this.#place, backwards: true, limit: Math.min(PAGE, most - found.length) }
      const { records, more } = await this.#store.listRecords(
        before === undefined ? call : { ...call, before },
      )
      found.push(...records.map(keptOf))
      before = records.at(-1)?.id
      if (!more || before === undefined || found.length >= most) return found
    }
  }

  /** Writes it if nobody has since; false if somebody has. It can be repeated with the same revision. */
  async put(id: string, record: BulkRecord, revision: string, expect: string | null): Promise<boolean> {
    const expiresAt = record.endedAt === null ? null : record.endedAt + KEPT_MS
    const records = [{ id, body: JSON.stringify(record), revision, expect, expiresAt }]
    const { results } = await this.#store.putRecords({ ...this.#place, records })
    return results[0] === 'ok'
  }
}

function keptOf({ id, body, revision, writtenAt }: StoredRecord): Kept {
  return { id, record: JSON.parse(body) as BulkRecord, revision, writtenAt }
}

export function bulkView({ id, record }: Pick<Kept, 'id' | 'record'>): BulkView {
  const { name, action, query, by, status, searched, changed, refused, expected, bound, error } = record
  return {
    id,
    name,
    action,
    query,
    by,
    status,
    searched,
    changed,
    refused,
    expected,
    startedAt: new Date(record.startedAt),
    beginsAt: new Date(record.beginsAt),
    boundAt: bound === null ? null : new Date(bound),
    endedAt: record.endedAt === null ? null : new Date(record.endedAt),
    error,
  }
}
