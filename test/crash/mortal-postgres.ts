/** A PostgreSQL of a test's own that can be stopped, crashed and started again, always at the same address. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { pingPostgres } from '../servers/postgres.ts'
import { postgresBinaries } from '../servers/postgres-binaries.ts'
import {
  chownTo,
  freePort,
  type Identity,
  type ServerProcess,
  serverFolder,
  serverIdentity,
  startServer,
} from '../servers/server.ts'

export interface MortalPostgres {
  readonly port: number
  /** A superuser's address of the database `postgres`. */
  readonly url: string
  /** The folder of its data; null for a server that the tests did not start. */
  readonly data: string | null
  /** Ends the server: `fast` ends its sessions and writes everything out, `crash` does neither. */
  stop(how: 'fast' | 'crash'): Promise<void>
  /** Starts it again and waits until it answers. */
  start(): Promise<void>
  /** Ends it for good and removes its folder. */
  remove(): Promise<void>
}

/**
 * Starts a server with stock settings, so that a commit is on the disk when it is answered; or a streaming standby of
 * another one, which is shut down and started again for that.
 */
export async function startMortalPostgres({
  standbyOf,
}: {
  readonly standbyOf?: MortalPostgres
} = {}): Promise<MortalPostgres> {
  const identity = serverIdentity()
  const folder = serverFolder('mortal-postgres', identity)
  const data = join(folder, 'data')
  const { bin } = postgresBinaries(folder)
  if (standbyOf) {
    await copyAsStandby(standbyOf, data, identity)
  } else {
    await promisify(execFile)(
      join(bin, 'initdb'),
      ['-D', data, '-U', 'postgres', '--no-sync', '--auth=trust', '--encoding=UTF8', '--locale=C'],
      { cwd: folder, ...identity },
    )
  }

  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'max_connections=200',
  ]
  let server: ServerProcess | null = null

  async function start(): Promise<void> {
    server = await startServer({
      command: join(bin, 'postgres'),
      args: ['-D', data, ...settings.flatMap((setting) => ['-c', setting])],
      identity,
      folder,
      stopSignal: 'SIGINT',
      ping: () => pingPostgres(url),
    })
  }

  async function stop(how: 'fast' | 'crash'): Promise<void> {
    server = null
    const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0])
    process.kill(pid, how === 'fast' ? 'SIGINT' : 'SIGQUIT')
    while (isAlive(pid) || (await answers(port))) await sleep(10)
  }

  await start()
  return {
    port,
    url,
    data,
    stop,
    start,
    async remove() {
      await server?.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The data of a server that is shut down is a whole backup: no PostgreSQL lacks what this needs, as some lack pg_basebackup. */
async function copyAsStandby(primary: MortalPostgres, data: string, identity: Identity): Promise<void> {
  if (primary.data === null) throw new Error('Only a server that the tests started can have a standby.')
  await primary.stop('fast')
  await promisify(execFile)('cp', ['-R', '-p', primary.data, data], identity)
  await primary.start()
  appendFileSync(
    join(data, 'postgresql.auto.conf'),
    `primary_conninfo = 'host=127.0.0.1 port=${primary.port} user=postgres'\n`,
  )
  const signal = join(data, 'standby.signal')
  writeFileSync(signal, '')
  chownTo(signal, identity)
}

// The server is a child of its keeper, which reaps it: once it is gone, its id is too.
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
