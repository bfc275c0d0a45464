// A real Redis that writes every change to its log, in a temporary folder, on a private port of this machine alone.

import { existsSync } from 'node:fs'
import { createConnection } from 'node:net'
import { installPackage } from './apt.ts'
import { freePort, serverFolder, serverIdentity, startServer } from './server.ts'

/** Where the one Redis of a test run is, which global-setup.ts starts. It syncs its log once a second. */
export const redisUrlVariable = 'SKEP_TEST_REDIS_URL'

export interface RedisServer {
  readonly url: string
  stop(): Promise<void>
}

export type RedisResult =
  | { readonly redis: RedisServer; readonly reason?: undefined }
  | { readonly redis?: undefined; readonly reason: string }

export interface RedisOptions {
  /** When the log is synced to the disk: once a second, or before every answer. */
  readonly appendfsync: 'everysec' | 'always'
}

/** Starts a Redis, or says why there is none. It stops at the latest when this process ends. */
export async function startRedis({ appendfsync }: RedisOptions): Promise<RedisResult> {
  const { command, reason } = redisProgram()
  if (command === undefined) return { reason }

  const identity = serverIdentity()
  const folder = serverFolder('redis', identity)
  const port = await freePort()
  const server = await startServer({
    command,
    args: redisArguments({ folder, port, appendfsync }),
    identity,
    folder,
    stopSignal: 'SIGTERM',
    ping: () => pingRedis(port),
  })
  return { redis: { url: `redis://127.0.0.1:${port}`, stop: server.stop } }
}

/** Where the program is, which is installed if it has to be. */
export function redisProgram():
  | { readonly command: string; readonly reason?: undefined }
  | { readonly command?: undefined; readonly reason: string } {
  const binary = ['/usr/bin/redis-server', '/usr/local/bin/redis-server', '/opt/homebrew/bin/redis-server']
  const found = binary.find((path) => existsSync(path))
  if (found !== undefined) return { command: found }
  const reason = installPackage('redis-server')
  if (reason !== undefined) return { reason: `Redis is not installed, and ${reason}` }
  const command = binary.find((path) => existsSync(path))
  return command === undefined ? { reason: 'the package redis-server brought no program' } : { command }
}

/** A server that keeps what it acknowledged, with what else is to be set. */
export function redisArguments({
  folder,
  port,
  appendfsync,
  ...more
}: RedisOptions & { readonly folder: string; readonly port: number } & Readonly<
    Record<string, string | number>
  >): string[] {
  const settings = {
    bind: '127.0.0.1',
    port,
    dir: folder,
    appendonly: 'yes',
    appendfsync,
    // No snapshots beside the log.
    save: '',
    // A full memory must refuse jobs, not forget some.
    'maxmemory-policy': 'noeviction',
    ...more,
  }
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
}

/** Throws when no Redis answers there. Spoken by hand, so that no client has to be installed. */
export function pingRedis(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: '127.0.0.1', port })
    socket.setTimeout(1_000, () => socket.destroy(new Error('No answer.')))
    socket.once('connect', () => socket.write('PING\r\n'))
    socket.once('error', reject)
    socket.once('data', (data) => {
      socket.destroy()
      if (data.toString() === '+PONG\r\n') resolve()
      else reject(new Error(data.toString()))
    })
  })
}
