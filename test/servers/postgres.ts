// A real PostgreSQL with stock settings, in a temporary folder, on a private port of this machine alone.

import { execFile } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { type PostgresBinaries, postgresBinaries } from './postgres-binaries.ts'
import { freePort, type Identity, serverFolder, serverIdentity, startServer } from './server.ts'

export interface PostgresServer {
  /** A superuser's address of the database `postgres`. */
  readonly url: string
  stop(): Promise<void>
}

/** The variable that names a server to use instead of starting one. */
export const postgresUrlVariable = 'SKEP_TEST_POSTGRES_URL'

/**
 * Uses the server that the environment names, or starts one. It stops at the latest when this process ends.
 * @param kept A folder that stays when it stops, and may have the data of another time.
 */
export async function startPostgres(kept?: string): Promise<PostgresServer> {
  const given = process.env[postgresUrlVariable]
  if (given && kept === undefined) return { url: given, stop: async () => {} }

  const identity = serverIdentity()
  const folder = serverFolder('postgres', identity, kept)
  const { bin, hasStatementStatistics, data } = await createCluster(folder, identity)

  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'max_connections=200',
    ...(hasStatementStatistics ? ['shared_preload_libraries=pg_stat_statements'] : []),
  ]
  const server = await startServer({
    command: join(bin, 'postgres'),
    args: ['-D', data, ...settings.flatMap((setting) => ['-c', setting])],
    identity,
    folder,
    isKept: kept !== undefined,
    // "Fast shutdown": ends open sessions instead of waiting for them.
    stopSignal: 'SIGINT',
    ping: () => pingPostgres(url),
  })
  return { url, stop: server.stop }
}

async function createCluster(
  folder: string,
  identity: Identity,
): Promise<PostgresBinaries & { data: string }> {
  const data = join(folder, 'data')
  const options = ['-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  try {
    const binaries = postgresBinaries(folder)
    if (existsSync(data)) return { ...binaries, data }
    await promisify(execFile)(join(binaries.bin, 'initdb'), ['-D', data, ...options], {
      cwd: folder,
      ...identity,
    })
    return { ...binaries, data }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

/** Throws when no server answers there. */
export async function pingPostgres(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
  } finally {
    await client.end()
  }
}
