// A server process that lives exactly as long as the test run (see keeper.mjs), and what every server needs:
// a folder, a free port, and a user that is not root, because PostgreSQL and PgBouncer refuse root.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** Whom a server runs as; empty when the tests themselves are not root. */
export interface Identity {
  readonly uid?: number
  readonly gid?: number
}

export interface ServerProcess {
  stop(): Promise<void>
  /** Ends it with SIGKILL, as a machine does that fails. Its folder is removed. */
  kill(): Promise<void>
  /** Waits until the server has ended, in whatever way. */
  ended(): Promise<void>
}

export interface ServerCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly identity: Identity
  /** Removed when the server stops, unless it is kept. */
  readonly folder: string
  readonly isKept?: boolean
  readonly stopSignal: NodeJS.Signals
  /** Throws as long as the server does not answer. */
  readonly ping: () => Promise<void>
}

const startTimeoutMs = 30_000
/** One with much to read, or to write before it ends, may take longer. */
const keptTimeoutMs = 300_000

export function isRoot(): boolean {
  return process.getuid?.() === 0
}

export function serverIdentity(): Identity {
  if (!isRoot()) return {}
  for (const name of ['postgres', 'nobody']) {
    try {
      return { uid: numberFrom('id', '-u', name), gid: numberFrom('id', '-g', name) }
    } catch {
      // No such user here; try the next.
    }
  }
  throw new Error('Servers refuse to run as root, and there is neither a user "postgres" nor "nobody".')
}

/** A folder that the identity owns and can reach: a new one, or the one to keep. */
export function serverFolder(name: string, identity: Identity, kept?: string): string {
  if (kept !== undefined) {
    mkdirSync(kept, { recursive: true })
    chownTo(kept, identity)
    return kept
  }
  const base = identity.uid === undefined || canEnter(tmpdir(), identity) ? tmpdir() : '/tmp'
  const folder = mkdtempSync(join(base, `skep-${name}-`))
  chownTo(folder, identity)
  return folder
}

export function chownTo(folder: string, { uid, gid }: Identity): void {
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('No free port.')
  return address.port
}

/** Starts a server and waits until it answers. A server that does not start leaves nothing behind. */
export async function startServer(server: ServerCommand): Promise<ServerProcess> {
  const log = join(server.folder, 'server.log')
  const keeper = spawn(
    process.execPath,
    [
      fileURLToPath(new URL('./keeper.mjs', import.meta.url)),
      JSON.stringify({
        command: server.command,
        args: server.args,
        env: server.env ?? {},
        ...server.identity,
        folder: server.folder,
        log,
        stopSignal: server.stopSignal,
        ...(server.isKept && { isKept: true, patienceMs: keptTimeoutMs }),
      }),
    ],
    { detached: true, stdio: ['pipe', 'ignore', 'inherit'], env: cleanEnvironment() },
  )
  letParentExit(keeper)
  const ended = once(keeper, 'exit')

  try {
    await answering(server, keeper)
  } catch (error) {
    const said = readLog(log)
    keeper.stdin?.end()
    if (keeper.exitCode === null) await ended
    if (!server.isKept) rmSync(server.folder, { recursive: true, force: true })
    throw new Error(`${server.command} did not start.\n${said}`, { cause: error })
  }

  const end = async (lastWord: string): Promise<void> => {
    if (keeper.exitCode !== null) return
    keeper.ref()
    keeper.stdin?.end(lastWord)
    await ended
  }
  return {
    stop: () => end(''),
    kill: () => end('kill'),
    async ended() {
      keeper.ref()
      await ended
    },
  }
}

async function answering({ ping, isKept }: ServerCommand, keeper: ChildProcess): Promise<void> {
  const deadline = performance.now() + (isKept ? keptTimeoutMs : startTimeoutMs)
  for (;;) {
    if (keeper.exitCode !== null) throw new Error(`Ended with code ${keeper.exitCode}.`)
    try {
      return await ping()
    } catch (error) {
      if (performance.now() > deadline) throw error
      // A starting server gives no signal of its own, so this is the one place that has to ask again.
      await sleep(25)
    }
  }
}

/** The running test process does not wait for the keeper; the closing pipe tells the keeper to stop. */
function letParentExit(keeper: ChildProcess): void {
  keeper.unref()
  const stdin = keeper.stdin
  stdin?.on('error', () => {})
  if (stdin && 'unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
}

/** Settings of the test runner (NODE_OPTIONS, loaders) are not for the keeper, and PG* not for the servers. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => name !== 'NODE_OPTIONS' && !name.startsWith('PG')),
  )
}

function canEnter(folder: string, { uid, gid }: Identity): boolean {
  try {
    execFileSync('test', ['-x', folder], { uid, gid, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function numberFrom(command: string, ...args: string[]): number {
  return Number(execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
}

function readLog(path: string): string {
  try {
    return readFileSync(path, 'utf8').split('\n').slice(-20).join('\n')
  } catch {
    return '(no log)'
  }
}
