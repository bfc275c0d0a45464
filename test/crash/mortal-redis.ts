/** A Redis of a test's own that can be stopped, killed, frozen and started again, always at the same address. */

import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pingRedis, redisArguments, redisProgram } from '../servers/redis.ts'
import { freePort, type ServerProcess, serverFolder, serverIdentity, startServer } from '../servers/server.ts'

export interface MortalRedis {
  readonly port: number
  readonly url: string
  /** Ends the server: `fast` lets it end by itself, `crash` is SIGKILL. */
  stop(how: 'fast' | 'crash'): Promise<void>
  /** Starts it again and waits until it answers. */
  start(): Promise<void>
  /** It hears and says nothing for so long, and does not know it. */
  freeze(ms: number): Promise<void>
  /** The files of its log, oldest first: every change that it has acknowledged is in there. */
  log(): string[]
  /** Ends it for good and removes its folder. */
  remove(): Promise<void>
}

/** Starts a server that has everything on the disk when it answers, and that never rewrites its log. */
export async function startMortalRedis(
  settings: Readonly<Record<string, string | number>> = {},
): Promise<MortalRedis> {
  const { command, reason } = redisProgram()
  if (command === undefined) throw new Error(`There is no Redis: ${reason}`)
  const identity = serverIdentity()
  const folder = serverFolder('mortal-redis', identity)
  const port = await freePort()
  const pidFile = join(folder, 'redis.pid')
  const args = redisArguments({
    folder,
    port,
    appendfsync: 'always',
    pidfile: pidFile,
    'auto-aof-rewrite-percentage': 0,
    ...settings,
  })
  let server: ServerProcess | null = null

  async function start(): Promise<void> {
    const ping = (): Promise<void> => pingRedis(port)
    server = await startServer({
      command: command as string,
      args,
      identity,
      folder,
      stopSignal: 'SIGTERM',
      ping,
    })
  }

  const pid = (): number => Number(readFileSync(pidFile, 'utf8'))

  async function stop(how: 'fast' | 'crash'): Promise<void> {
    server = null
    const victim = pid()
    process.kill(victim, how === 'fast' ? 'SIGTERM' : 'SIGKILL')
    while (isAlive(victim) || (await answers(port))) await sleep(10)
  }

  await start()
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    stop,
    start,
    async freeze(ms) {
      const victim = pid()
      process.kill(victim, 'SIGSTOP')
      await sleep(ms)
      process.kill(victim, 'SIGCONT')
    },
    log: () => logIn(folder),
    async remove() {
      await server?.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Redis 7 has a folder with a file for each rewrite; before that there was one file. */
function logIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const parts = names.filter((name) => name.endsWith('.incr.aof') || name === 'appendonly.aof')
  const nth = (name: string): number => Number(/\.(\d+)\.incr/.exec(name)?.[1] ?? 0)
  return parts.sort((a, b) => nth(a) - nth(b)).map((name) => join(folder, name))
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
