import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Contestant } from './contest.ts'

/** A way to make a fresh, empty contestant for one measurement. */
export type Maker = () => Promise<Contestant>

let made = 0

/** Who takes part, by name. Postgres needs the address of a server on which databases may be made. */
export function makers(postgresUrl: string): Readonly<Record<string, Maker>> {
  return {
    memory: async () => ({
      name: 'memory',
      address: { kind: 'memory' },
      settings: 'in the process, drained in the same process',
      remove: async () => {},
    }),
    sqlite: async () => sqlite('full'),
    'raw-sqlite': async () => sqlite('full'),
    'sqlite-normal': async () => sqlite('normal'),
    postgres: async () => postgres(postgresUrl),
    'raw-postgres': async () => postgres(postgresUrl),
  }
}

function sqlite(synchronous: 'full' | 'normal'): Contestant {
  const folder = mkdtempSync(join(tmpdir(), 'skep-bench-'))
  return {
    name: synchronous === 'full' ? 'sqlite' : 'sqlite-normal',
    address: { kind: 'sqlite', file: join(folder, 'jobs.db'), synchronous },
    settings: `WAL, synchronous=${synchronous.toUpperCase()}`,
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

async function postgres(url: string): Promise<Contestant> {
  const name = `bench_${process.pid}_${made++}`
  await admin(url, `create database ${name}`)
  const own = new URL(url)
  own.pathname = `/${name}`
  return {
    name: 'postgres',
    address: { kind: 'postgres', url: own.href, schema: 'skep' },
    settings: 'stock settings, fsync and synchronous_commit on',
    remove: () => admin(url, `drop database ${name} with (force)`),
  }
}

async function admin(url: string, sql: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
