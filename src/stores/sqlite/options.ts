import { SkepError } from '../../core/errors.ts'
import { assertIdentifier } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import { type Runtime, systemRuntime } from '../../runtime/runtime.ts'
import { isClient, type SqliteClient } from './connection/client.ts'

interface CommonOptions {
  /** Put before every table name. @default 'skep_' */
  readonly tablePrefix?: string
  /**
   * `full`: a commit is on the disk when it returns. `normal`: it survives the end of the process; a power cut
   * may lose the last ones. @default 'full'
   */
  readonly synchronous?: 'full' | 'normal'
  /** How long a call waits for other writers before it fails. @default 5000 */
  readonly busyTimeoutMs?: number
  /** Where time, timers and chance come from. @default the process's own */
  readonly runtime?: Runtime
}

export type SqliteStoreOptions =
  | (CommonOptions & {
      /** The database's file; made if it does not exist, in a folder that does. ':memory:' ends with the process. */
      readonly file: string
      readonly client?: never
    })
  | (CommonOptions & {
      /**
       * An open database of node:sqlite, @photostructure/sqlite or better-sqlite3. Your own tables may be in it.
       * You opened it, so closing the store leaves it open.
       */
      readonly client: SqliteClient
      readonly file?: never
    })

const KEYS = optionKeys<SqliteStoreOptions>('sqliteStore()', {
  file: true,
  client: true,
  tablePrefix: true,
  synchronous: true,
  busyTimeoutMs: true,
  runtime: true,
})

export interface ResolvedOptions {
  readonly file: string
  readonly client: SqliteClient | null
  readonly tablePrefix: string
  readonly synchronous: 'full' | 'normal'
  readonly busyTimeoutMs: number
  readonly runtime: Runtime
}

export function resolveOptions(options: SqliteStoreOptions): ResolvedOptions {
  assertOptions(KEYS, options ?? null)
  const {
    file = '',
    client = null,
    tablePrefix = 'skep_',
    synchronous = 'full',
    busyTimeoutMs = 5_000,
  } = options
  assertIdentifier('tablePrefix', tablePrefix)
  if (client !== null ? !isClient(client) || file !== '' : typeof file !== 'string' || file === '') {
    throw new SkepError(
      'OPTION_INVALID',
      "A SQLite store needs { file: 'jobs.db' } or { client }, an open database, and not both.",
    )
  }
  if (synchronous !== 'full' && synchronous !== 'normal') {
    throw new SkepError('OPTION_INVALID', `synchronous is ${String(synchronous)}; use 'full' or 'normal'.`)
  }
  if (!Number.isInteger(busyTimeoutMs) || busyTimeoutMs < 0 || busyTimeoutMs > 600_000) {
    throw new SkepError('OPTION_INVALID', `busyTimeoutMs is ${busyTimeoutMs}; use 0 to 600000.`)
  }
  const runtime = options.runtime ?? systemRuntime()
  return Object.freeze({ file, client, tablePrefix, synchronous, busyTimeoutMs, runtime })
}
