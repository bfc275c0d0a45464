/** What a run needs to know about its store: where it is, how it is audited, what can go wrong with it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import type { Store } from '../../src/store/store.ts'
import type { Random } from '../../src/testing/random.ts'
import { dumpPostgres, installPostgresAudit, readPostgresAudit } from '../proof/audit/postgres.ts'
import { installSqliteAudit, readSqliteAudit, readSqliteFinal, SYSTEM_CLOCK } from '../proof/audit/sqlite.ts'
import type { AuditEntry, AuditRow } from '../proof/history.ts'
import { FaultProxy, postgresReply } from './fault-proxy.ts'
import { type MortalPostgres, startMortalPostgres } from './mortal-postgres.ts'
import type { MortalRedis } from './mortal-redis.ts'
import { networkFaults } from './network-faults.ts'
import { type Address, openStore } from './program.ts'
import { redisStage } from './redis-stage.ts'

export interface Stage {
  readonly store: StoreName
  /** Where the process of this slot finds the store. */
  address(slot: string): Address
  /** A store for the run itself, beside every fault. */
  open(): Store
  /** What can happen to the store or to the way to it. Each resolves when it is over and mended. */
  readonly faults: readonly StageFault[]
  /** The store is away for this long. Resolves when it is back. */
  outage(nth: number, ms: number): Promise<void>
  /** Ends every fault for good. */
  heal(): Promise<void>
  /** What the audit says, what is in the store, and what is wrong with the way it is kept. Nobody may work meanwhile. */
  read(): Promise<{
    readonly audit: AuditEntry[]
    readonly final: Map<string, AuditRow>
    readonly faults?: readonly string[]
  }>
  remove(): Promise<void>
}

export type StoreName = 'sqlite' | 'postgres' | 'redis'

/** The servers that a stage may be given. */
export interface Servers {
  readonly postgres?: MortalPostgres
  readonly redis?: MortalRedis
}

export interface StageFault {
  readonly name: string
  readonly weight: number
  run(random: Random, slots: readonly string[], lengthMs: number): Promise<void>
}

/** A new, empty store. On a server: one of its own, or a part of the one given, which stays. */
export function openStage(store: StoreName, folder: string, servers: Servers = {}): Promise<Stage> {
  if (store === 'redis') return redisStage(servers.redis)
  return store === 'sqlite' ? sqliteStage(folder) : postgresStage(servers.postgres)
}

// ── SQLite ───────────────────────────────────────────────────────────────────────────────────────

async function sqliteStage(folder: string): Promise<Stage> {
  const file = join(folder, 'jobs.db')
  const address = { file }
  const store = openStore(address)
  await store.ready()
  await store.close()
  const db = new DatabaseSync(file, { timeout: 5_000 })
  db.exec('pragma synchronous = normal')
  installSqliteAudit(db, SYSTEM_CLOCK)
  db.close()

  const lock = (ms: number): Promise<void> => holdLock(file, ms)
  return {
    store: 'sqlite',
    address: () => address,
    open: () => openStore(address),
    faults: [
      {
        name: 'another process holds the lock',
        weight: 2,
        run: (random, _slots, lengthMs) => lock(random.int(50, lengthMs)),
      },
    ],
    outage: (_nth, ms) => lock(ms),
    heal: async () => {},
    async read() {
      const reader = new DatabaseSync(file, { readOnly: true })
      try {
        return { audit: readSqliteAudit(reader), final: readSqliteFinal(reader) }
      } finally {
        reader.close()
      }
    },
    remove: async () => {},
  }
}

const LOCKER = `
import { DatabaseSync } from '@photostructure/sqlite'
const [file, ms] = process.argv.slice(1)
const db = new DatabaseSync(file, { timeout: 60_000 })
db.exec('begin immediate')
setTimeout(() => { db.exec('rollback'); db.close(); process.exit() }, Number(ms))
process.on('disconnect', () => process.exit())
`

/** Takes the only right to write, in a process of its own, for this long. */
async function holdLock(file: string, ms: number): Promise<void> {
  const root = new URL('../..', import.meta.url)
  const child: ChildProcess = spawn(
    process.execPath,
    ['--input-type=module', '--eval', LOCKER, file, String(ms)],
    { cwd: root, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  )
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`The process that holds the lock ended with code ${code}.`)
}

// ── Postgres ─────────────────────────────────────────────────────────────────────────────────────

export interface PostgresStage extends Stage {
  readonly server: MortalPostgres
  /** Where the database is, beside every fault. */
  readonly url: string
  /** What stands between the process of a slot and the server. */
  proxyOf(slot: string): FaultProxy
  /** Ends the server's side of connections, a share of them. */
  terminate(share: number): Promise<void>
}

const REPLIES = ['settle_and_claim', 'insert_job'].map(postgresReply)

async function postgresStage(given?: MortalPostgres): Promise<PostgresStage> {
  const server = given ?? (await startMortalPostgres())
  const url = await newDatabase(server.url)
  const address = { url }
  const store = openStore(address)
  await store.ready()
  await store.close()
  await withClient(url, (client) => installPostgresAudit(client))

  const proxies = new Map<string, FaultProxy>()
  const proxyOf = (slot: string): FaultProxy => proxies.get(slot) as FaultProxy
  for (const slot of ['w1', 'w2', 'w3', 'p1'])
    proxies.set(slot, await FaultProxy.start({ host: '127.0.0.1', port: server.port }))

  return {
    store: 'postgres',
    server,
    proxyOf,
    terminate: (share) => terminateBackends(url, share),
    url,
    address(slot) {
      const through = new URL(url)
      through.port = String(proxyOf(slot).port)
      return { url: through.href }
    },
    open: () => openStore(address),
    faults: [...networkFaults(proxyOf, REPLIES), ...serverFaults(server, url)],

    async outage(nth, ms) {
      if (nth % 2 === 0) {
        await server.stop('fast')
        await sleep(ms)
        return server.start()
      }
      for (const proxy of proxies.values()) proxy.set({ blackHole: 'both' })
      await sleep(ms)
      for (const proxy of proxies.values()) proxy.heal()
    },

    async heal() {
      for (const proxy of proxies.values()) proxy.heal()
    },

    read: () =>
      withClient(url, async (client) => {
        const audit: AuditEntry[] = []
        await readPostgresAudit(client, (entry) => audit.push(entry))
        audit.sort((a, b) => a.seq - b.seq)
        return { audit, final: await dumpPostgres(client) }
      }),

    async remove() {
      for (const proxy of proxies.values()) await proxy.close()
      if (!given) await server.remove()
    },
  }
}

/** What happens to the server itself. */
function serverFaults(server: MortalPostgres, url: string): StageFault[] {
  const restart = (how: 'fast' | 'crash'): StageFault => ({
    name: how === 'fast' ? 'server restarted' : 'server crashed',
    weight: 1,
    async run(random, _slots, lengthMs) {
      await server.stop(how)
      await sleep(random.int(0, lengthMs))
      await server.start()
    },
  })
  return [
    restart('fast'),
    restart('crash'),
    {
      name: 'backends terminated',
      weight: 2,
      run: (random) => terminateBackends(url, random.pick([0.2, 0.5, 1])),
    },
  ]
}

function terminateBackends(url: string, share: number): Promise<void> {
  const sql = `select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'skep' and datname = current_database() and random() < $1`
  return withClient(url, async (client) => void (await client.query(sql, [share])))
}

async function newDatabase(serverUrl: string): Promise<string> {
  const name = `crash_${randomBytes(6).toString('hex')}`
  await withClient(serverUrl, (client) => client.query(`create database ${name}`))
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}

export async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end().catch(() => {})
  }
}
