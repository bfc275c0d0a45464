import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import {
  type NatsServer,
  type PostgresServer,
  type RedisServer,
  startNats,
  startPostgres,
  startRedis,
} from '../test/servers/index.ts'
import type { Address, Contestant } from './contest.ts'
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
  readonly #nats: NatsServer | null
  #made = 0
  #onRedis = 0

  private constructor(postgres: PostgresServer | null, redis: RedisServer | null, nats: NatsServer | null) {
    this.#postgres = postgres
    this.#redis = redis
    this.#nats = nats
  }

  static async start(contestants: readonly Contestant[]): Promise<Servers> {
    const wants = (test: (contestant: Contestant) => boolean): boolean => contestants.some(test)
    const started: { stop(): Promise<void> }[] = []
    const orThrow = async <Server extends { stop(): Promise<void> }>(
      server: Server | undefined,
      name: string,
      reason: string | undefined,
    ): Promise<Server> => {
      if (server !== undefined) return server
      await Promise.all(started.map((one) => one.stop()))
      throw new Error(
        `There is no ${name}: ${reason}. Leave its contestants out with --only postgres,sqlite.`,
      )
    }
    const postgres = wants(({ store }) => store === 'postgres') ? await startPostgres() : null
    if (postgres) started.push(postgres)
    let redis: RedisServer | null = null
    if (wants(({ store }) => store === 'redis')) {
      const result = await startRedis({ appendfsync: 'everysec' })
      redis = await orThrow(result.redis, 'Redis', result.reason)
      started.push(redis)
    }
    let nats: NatsServer | null = null
    if (wants(usesNats)) {
      const result = await startNats()
      nats = await orThrow(result.nats, 'NATS', result.reason)
    }
    return new Servers(postgres, redis, nats)
  }

  fresh(contestant: Contestant): Promise<FreshStore> {
    switch (contestant.store) {
      case 'postgres':
        return this.#freshPostgres(usesNats(contestant))
      case 'sqlite':
        return this.#freshSqlite()
      case 'redis':
        return this.#freshRedis(contestant.options['appendfsync'] === 'always' ? 'always' : 'everysec')
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
    await Promise.all([this.#postgres?.stop(), this.#redis?.stop(), this.#nats?.stop()])
  }

  async #freshPostgres(withNats: boolean): Promise<FreshStore> {
    const server = started(this.#postgres)
    const name = `bench_${process.pid}_${this.#made++}`
    await administer(server.url, `create database ${name}`)
    const url = new URL(server.url)
    url.pathname = `/${name}`
    return {
      address: {
        kind: 'postgres',
        url: url.href,
        ...(withNats && { nats: { servers: started(this.#nats).urls, prefix: name } }),
      },
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

function usesNats({ options }: Contestant): boolean {
  return options['notifier'] === 'nats'
}

function started<Server>(server: Server | null): Server {
  if (server === null) throw new Error('This server was not started.')
  return server
}

export async function administer<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end()
  }
}
