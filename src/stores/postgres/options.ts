import { SkepError } from '../../core/errors.ts'
import { assertIdentifier } from '../../core/names.ts'
import { assertFlags, assertOptions, optionKeys } from '../../core/options.ts'
import { type Runtime, systemRuntime } from '../../runtime/runtime.ts'
import type { PgPool } from './connection/pg-driver.ts'
import type { PostgresJs } from './connection/postgres-js-driver.ts'
import type { UnsafeOptions } from './durability.ts'

/** How to reach the database: one of the three. */
export interface PostgresConnection {
  /**
   * `postgres://user:password@host:port/database`. Opens a small pool of its own, with the package `pg`. With several hosts,
   * `postgres://user:password@one:5432,two:5432/database`, each connection goes to the one that is the primary then.
   */
  readonly url?: string
  /** How many connections that pool has at most. @default 4 */
  readonly connections?: number
  /** A `pg.Pool`. You made it, so closing the store leaves it open. */
  readonly pool?: PgPool
  /** An instance of postgres.js. You made it, so closing the store leaves it open. */
  readonly sql?: PostgresJs
}

export interface PostgresStoreOptions extends PostgresConnection {
  /** The schema in which Skep's tables are. @default 'skep' */
  readonly schema?: string
  /** Bring the schema up to date at the start. Without it an old schema is refused. @default false */
  readonly migrate?: boolean
  /**
   * Keep one connection beside the pool, to LISTEN and to tell other processes that this one lives. Turn it off behind
   * a pooler in transaction mode (PgBouncer), where neither can work. @default true
   */
  readonly listen?: boolean
  /** Accept a server that loses acknowledged jobs. */
  readonly unsafe?: UnsafeOptions
  /** The longest a call may take, waiting for a connection included. @default 15000 */
  readonly callTimeoutMs?: number
  readonly runtime?: Runtime
}

const KEYS = optionKeys<PostgresStoreOptions>('postgresStore()', {
  url: true,
  connections: true,
  pool: true,
  sql: true,
  schema: true,
  migrate: true,
  listen: true,
  unsafe: true,
  callTimeoutMs: true,
  runtime: true,
})
const UNSAFE_KEYS = optionKeys<UnsafeOptions>('unsafe', { noFsync: true, asyncCommit: true })

export type ResolvedOptions = Required<
  Pick<PostgresStoreOptions, 'schema' | 'migrate' | 'listen' | 'unsafe' | 'callTimeoutMs' | 'runtime'>
> & { readonly connection: PostgresConnection }

export function resolveOptions(options: PostgresStoreOptions): ResolvedOptions {
  assertOptions(KEYS, options ?? null)
  assertOptions(UNSAFE_KEYS, options.unsafe)
  const { schema = 'skep', migrate = false, listen = true, unsafe = {}, callTimeoutMs = 15_000 } = options
  assertFlags('postgresStore()', { migrate, listen, ...unsafe })
  const given = [options.url, options.pool, options.sql].filter((way) => way !== undefined)
  if (given.length !== 1) {
    throw new SkepError('OPTION_INVALID', 'Give the Postgres store one of url, pool or sql.')
  }
  assertIdentifier('schema', schema)
  if (!(Number.isInteger(callTimeoutMs) && callTimeoutMs >= 100)) {
    throw new SkepError('OPTION_INVALID', `callTimeoutMs is ${callTimeoutMs}; use 100 or more.`)
  }
  return Object.freeze({
    schema,
    migrate,
    listen,
    unsafe,
    callTimeoutMs,
    runtime: options.runtime ?? systemRuntime(),
    connection: options,
  })
}

/** Sends a hint. The commit of a transaction that writes no row does not wait for the disk. */
export const NOTIFY = 'select pg_notify($1::text, $2::text)'

/** The one channel of a schema. */
export function channelOf(schema: string): string {
  return `skep_${schema}`
}
