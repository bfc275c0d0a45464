import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type PostgresServer, type RedisServer, startPostgres, startRedis } from '../test/servers/index.ts'
import type { Address, StoreKind } from './contest.ts'
import { ask } from './redis.ts'

/** A store with nothing in it, for one measurement. */
export interface FreshStore {
  readonly address: Address
  remove(): Promise<void>
}

/** The servers of a run: only those that somebody needs, with the settings they come with. */
export class Servers {
  readonly #postgres: PostgresServer | null
  readonly #redis: RedisServer | null
  #made = 0
  #onRedis = 0

  private constructor(postgres: PostgresServer | null, redis: RedisServer | null) {
    this.#postgres = postgres
    this.#redis = redis
  }

  static async start(stores: ReadonlySet<StoreKind>): Promise<Servers> {
    const postgres = stores.has('postgres') ? await startPostgres() : null
    if (!stores.has('redis')) return new Servers(postgres, null)
    const { redis, reason } = await startRedis({ appendfsync: 'everysec' })
    if (redis === undefined) {
      await postgres?.stop()
      throw new Error(`There is no Redis: ${reason}. Leave its contestants out with --only postgres,sqlite.`)
    }
    return new Servers(postgres, redis)
  }

  /** `appendfsync` is about Redis: when it syncs its log. */
  fresh(store: StoreKind, appendfsync: string = 'everysec'): Promise<FreshStore> {
    switch (store) {
      case 'postgres':
        return this.#freshPostgres()
      case 'sqlite':
        return this.#freshSqlite()
      case 'redis':
        return this.#freshRedis(appendfsync)
    }
  }

  /** What runs, for people. */
  async versions(): Promise<string[]> {
    const versions: string[] = []
    if (this.#postgres) {
      const [row] = await administer<{ server_version: string }>(this.#postgres.url, 'show server_version')
      versions.push(`PostgreSQL ${row?.server_version.split(' ')[0]}`)
    }
    if (this.#redis) {
      const info = await ask(this.#redis.url, 'INFO server')
      versions.push(`Redis ${/redis_version:(\S+)/.exec(info)?.[1]}`)
    }
    return versions
  }

  async stop(): Promise<void> {
    await Promise.all([this.#postgres?.stop(), this.#redis?.stop()])
  }

  async #freshPostgres(): Promise<FreshStore> {
    const server = started(this.#postgres)
    const name = `bench_${process.pid}_${this.#made++}`
    await administer(server.url, `create database ${name}`)
    const url = new URL(server.url)
    url.pathname = `/${name}`
    return {
      address: { kind: 'postgres', url: url.href },
      remove: async () => void (await administer(server.url, `drop database ${name} with (force)`)),
    }
  }

  async #freshSqlite(): Promise<FreshStore> {
    const folder = mkdtempSync(join(tmpdir(), 'skep-bench-'))
    return {
      address: { kind: 'sqlite', file: join(folder, 'jobs.db') },
      remove: async () => rmSync(folder, { recursive: true, force: true }),
    }
  }

  /** Redis has one room for all. Two at the same time keep apart by the names of their keys. */
  async #freshRedis(appendfsync: string): Promise<FreshStore> {
    const { url } = started(this.#redis)
    if (this.#onRedis++ === 0) await ask(url, 'FLUSHALL')
    await ask(url, `CONFIG SET appendfsync ${appendfsync}`)
    return {
      address: { kind: 'redis', url },
      remove: async () => void this.#onRedis--,
    }
  }
}

function started<Server>(server: Server | null): Server {
  if (server === null) throw new Error('This server was not started.')
  return server
}

async function administer<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end()
  }
}
