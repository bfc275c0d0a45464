import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach } from 'vitest'
import type { Verdict } from '../../src/core/policies/policy.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import { type SqliteStoreOptions, sqliteStore } from '../../src/sqlite.ts'
import type { ClaimCall, Store } from '../../src/store/store.ts'

export { newJob, newJobs } from '../support/new-job.ts'

export const runtime = systemRuntime()

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** Runs at the end of the test, the latest first. */
export function later(close: () => unknown): void {
  closers.push(close)
}

/** A folder that goes with the test. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'skep-sqlite-'))
  later(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export function freshFile(): string {
  return join(freshFolder(), 'jobs.db')
}

export function openStore(options: SqliteStoreOptions): Store {
  const store = sqliteStore(options)
  later(() => store.close())
  return store
}

/** A handle as a user would open it. */
export function openHandle(file: string, synchronous = 'full'): InstanceType<typeof DatabaseSync> {
  const handle = new DatabaseSync(file)
  handle.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`)
  later(() => handle.isOpen && handle.close())
  return handle
}

export function claimCall(limit: number): ClaimCall {
  return {
    sources: [{ space: 'acme', queue: 'mail', limit }],
    limit,
    workerId: 'worker',
    token: runtime.uuid(),
    leaseMs: 30_000,
  }
}

export const done: Verdict = {
  to: 'done',
  keepMs: null,
  delayMs: 0,
  count: null,
  refund: false,
  keepPlace: false,
  keepCancelledMs: 0,
  result: null,
  failure: null,
}

export async function readyCount(store: Store): Promise<number> {
  const { queues } = await store.counts({ space: 'acme', queues: ['mail'] })
  return queues[0]?.states.ready ?? 0
}

/** Starts `process.ts` with a command. It is killed at the end of the test, if need be. */
export function start(command: string, ...args: string[]): ChildProcess {
  const script = fileURLToPath(new URL('./process.ts', import.meta.url))
  const child = fork(script, [command, ...args], { execArgv: ['--import', 'jiti/register'] })
  later(() => child.kill('SIGKILL'))
  return child
}

/** The next message of a process; an error if it ends without one. */
export function messageFrom<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`The process ended with code ${code}.`))
    child.once('exit', onExit)
    child.once('message', (message) => {
      child.off('exit', onExit)
      resolve(message as T)
    })
  })
}

export function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode)
  return new Promise((resolve) => child.once('exit', resolve))
}
