import { clientMissing } from '../../../core/errors.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { PostgresConnection } from '../options.ts'
import type { Driver } from './driver.ts'
import { addressesOf, clientForHosts, type PgClientClass } from './hosts.ts'
import { type PgDriverOptions, type PgPool, pgDriver } from './pg-driver.ts'
import { type PostgresJs, postgresJsDriver } from './postgres-js-driver.ts'

type PgOwnClient = ReturnType<PgDriverOptions['newClient']>

interface PgModule {
  readonly Pool: new (options: object) => PgPool
  readonly Client: new (options: object) => PgOwnClient
}

/** Opens the driver at the first call, and again after it could not be opened. */
export function driverOpener(...args: Parameters<typeof openDriver>): DriverOpener {
  let opening: Promise<Driver> | undefined
  return {
    open() {
      opening ??= openDriver(...args).catch((error: unknown) => {
        opening = undefined
        throw error
      })
      return opening
    },
    async close() {
      await (await opening?.catch(() => undefined))?.close()
    },
  }
}

export interface DriverOpener {
  open(): Promise<Driver>
  /** Ends what was opened, if anything was. */
  close(): Promise<void>
}

/** The driver for what the user gave us. Nothing connects yet. */
async function openDriver(
  given: PostgresConnection,
  { runtime, callTimeoutMs, listen }: { runtime: Runtime; callTimeoutMs: number; listen: boolean },
): Promise<Driver> {
  if (given.sql) {
    const sql = given.sql
    const create = await load<(options: object) => PostgresJs>('postgres')
    return postgresJsDriver({ sql, newInstance: create, runtime })
  }
  if (given.pool) {
    const pool = given.pool as PgPool & { readonly Client?: PgModule['Client'] }
    const Client = pool.Client ?? (await load<PgModule>('pg')).Client
    return pgDriver({
      pool,
      newClient: () => new Client(pool.options ?? {}),
      owned: false,
      prepare: listen,
      runtime,
    })
  }
  const { Pool, Client: PlainClient } = await load<PgModule>('pg')
  const addresses = given.url === undefined ? null : addressesOf(given.url)
  const Client = addresses
    ? (clientForHosts(PlainClient as unknown as PgClientClass, addresses) as unknown as PgModule['Client'])
    : PlainClient
  const options = {
    connectionString: addresses?.[0] ?? given.url,
    keepAlive: true,
    application_name: 'skep',
    connectionTimeoutMillis: callTimeoutMs,
    // A call that was given up here shall not go on for ever there. A pooler would refuse to be told so.
    ...(listen ? { statement_timeout: callTimeoutMs + 1_000 } : {}),
  }
  // Idle connections do not keep a process alive that has nothing else to do.
  const pool = new Pool({ ...options, Client, max: given.connections ?? 4, allowExitOnIdle: true })
  return pgDriver({ pool, newClient: () => new Client(options), owned: true, prepare: listen, runtime })
}

async function load<T>(name: 'pg' | 'postgres'): Promise<T> {
  try {
    const module = (name === 'pg' ? await import('pg') : await import('postgres')) as { default?: unknown }
    return (module.default ?? module) as T
  } catch (cause) {
    throw clientMissing(
      name,
      cause,
      `The package "${name}" is not installed. Run "npm install ${name}", or give the store a client of yours.`,
    )
  }
}
