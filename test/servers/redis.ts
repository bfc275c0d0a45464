// A real Redis that writes every change to its log, in a temporary folder, on a private port of this machine alone.

import { execFile } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { installPackage } from './apt.ts'
import {
  freePort,
  type Identity,
  type ServerProcess,
  serverFolder,
  serverIdentity,
  startServer,
} from './server.ts'

/** Where the one Redis of a test run is, which global-setup.ts starts. It syncs its log once a second. */
export const redisUrlVariable = 'SKEP_TEST_REDIS_URL'

export interface RedisServer {
  readonly url: string
  readonly port: number
  /** Runs a command with redis-cli, and answers what that prints. */
  cli(...command: string[]): Promise<string>
  /** Ends it like a power cut of the process: with SIGKILL. */
  kill(): Promise<void>
  /** Starts it again after {@link RedisServer.kill}: the same port, the same folder. */
  restart(): Promise<void>
  /** It stands still, and keeps its connections. */
  pause(): void
  resume(): void
  stop(): Promise<void>
}

export type RedisResult =
  | { readonly redis: RedisServer; readonly reason?: undefined }
  | { readonly redis?: undefined; readonly reason: string }

export interface RedisOptions {
  /** When the log is synced to the disk: once a second, or before every answer. */
  readonly appendfsync: 'everysec' | 'always'
  /** A folder that stays when it stops, and may have the log of another time. */
  readonly kept?: string
  /** More settings, or others. */
  readonly settings?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a Redis, or says why there is none. It stops at the latest when this process ends. */
export async function startRedis({ appendfsync, kept, settings, env }: RedisOptions): Promise<RedisResult> {
  const { command, reason } = redisProgram()
  if (command === undefined) return { reason }
  const identity = serverIdentity()
  const folder = serverFolder('redis', identity, kept)
  const port = await freePort()
  const args = redisArguments({ folder, port, appendfsync, ...settings })
  const isKept = kept !== undefined
  return { redis: await redisProcess({ command, args, identity, folder, isKept, port, ...(env && { env }) }) }
}

/** A server that keeps what it acknowledged, with what else is to be set. */
export function redisArguments({
  folder,
  port,
  appendfsync,
  ...more
}: Pick<RedisOptions, 'appendfsync'> & { readonly folder: string; readonly port: number } & Readonly<
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
  // Several words are several arguments: 6.2 does not take them for one.
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, ...String(value).split(' ')])
}

/** The program, installed if it is missing; or why there is none. */
export function redisProgram():
  | { readonly command: string; readonly reason?: undefined }
  | { readonly command?: undefined; readonly reason: string } {
  const named = process.env['SKEP_TEST_REDIS']
  if (named !== undefined) return { command: named }
  const binary = ['/usr/bin/redis-server', '/usr/local/bin/redis-server', '/opt/homebrew/bin/redis-server']
  const there = binary.find((path) => existsSync(path))
  if (there !== undefined) return { command: there }
  const reason = installPackage('redis-server')
  if (reason !== undefined) return { reason: `Redis is not installed, and ${reason}` }
  const command = binary.find((path) => existsSync(path))
  return command === undefined ? { reason: 'the package redis-server brought no program' } : { command }
}

/** A server (or a sentinel) that can be killed and started again. */
export async function redisProcess(options: {
  readonly command: string
  readonly args: readonly string[]
  readonly identity: Identity
  readonly folder: string
  readonly isKept?: boolean
  readonly env?: Readonly<Record<string, string>>
  readonly port: number
}): Promise<RedisServer> {
  const { command, folder, isKept, port } = options
  let server: ServerProcess
  let pid: number
  const cli = async (...words: string[]): Promise<string> => {
    const program = join(command, '..', 'redis-cli')
    const { stdout } = await promisify(execFile)(program, ['-p', String(port), ...words])
    return stdout.trim()
  }
  const start = async (): Promise<void> => {
    server = await startServer({ ...options, stopSignal: 'SIGTERM', ping: () => pingRedis(port) })
    pid = Number(/process_id:(\d+)/.exec(await cli('INFO', 'server'))?.[1])
  }
  await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    cli,
    async kill() {
      process.kill(pid, 'SIGKILL')
      await server.ended()
    },
    restart: start,
    pause: () => void process.kill(pid, 'SIGSTOP'),
    resume() {
      try {
        process.kill(pid, 'SIGCONT')
      } catch {
        // It has been killed since.
      }
    },
    async stop() {
      await server.stop()
      if (!isKept) rmSync(folder, { recursive: true, force: true })
    },
  }
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
