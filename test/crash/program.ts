/** What the worker program and the producer program have in common. Both run as processes of their own, to be killed. */
import { openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createSkep, type Logger, type Notifier, type Skep, type Store } from '../../src/index.ts'
import { postgresStore } from '../../src/postgres.ts'
import { redisStore } from '../../src/redis.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import { timedClient } from '../proof/audit/redis.ts'
import { Recorder, recordingStore } from '../proof/recorder.ts'
import { fileSink } from './evidence.ts'

export type Address =
  | { readonly file: string }
  | { readonly url: string }
  /** `isTimed`: with an audit. */
  | { readonly redis: string; readonly prefix: string; readonly isTimed?: boolean }

/** The one argument of a program, as JSON. */
export interface ProgramConfig {
  /** Its name and incarnation, such as `w2#3`. */
  readonly proc: string
  readonly address: Address
  /** Where it leaves its records: a file `<proc>.jsonl` in this folder. */
  readonly records: string
  /** Without hints only polling finds work. */
  readonly hints: boolean
  readonly seed: number
  readonly leaseMs: number
  readonly rescueGraceMs: number
  readonly concurrency: number
  /** The longest a call of a store with a server may take. */
  readonly callTimeoutMs: number
  /** For a producer: jobs per second, how many callers share the work, how many jobs it is behind already. */
  readonly rate: number
  readonly callers: number
  readonly behind: number
}

export function readConfig(): ProgramConfig {
  return JSON.parse(process.argv[2] as string) as ProgramConfig
}

export function openStore(address: Address, callTimeoutMs = 15_000): Store {
  if ('file' in address) return sqliteStore(address)
  if ('url' in address) return postgresStore({ ...address, migrate: true, callTimeoutMs })
  const { redis, prefix, isTimed = false } = address
  const connection = isTimed ? { client: timedClient(redis) } : { url: redis }
  return redisStore({ ...connection, prefix, callTimeoutMs, onLoss: endOnLoss })
}

/** A server that syncs before it answers loses nothing, whatever is done to it. */
function endOnLoss(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(73)
}

/** A Skep whose store writes down what it is asked and says. A record is in the file before anybody can act on it. */
export function openProgram(config: ProgramConfig): { readonly skep: Skep; readonly recorder: Recorder } {
  const recorder = new Recorder({
    proc: config.proc,
    now: Date.now,
    sink: fileSink(join(config.records, `${config.proc}.jsonl`)),
  })
  const log = openSync(join(config.records, '..', 'log.txt'), 'a')
  const say = (level: string) => (message: string) =>
    void writeSync(log, `${new Date().toISOString()} ${config.proc} ${level} ${message}\n`)
  const logger: Logger = { debug: () => {}, info: () => {}, warn: say('warn'), error: say('error') }
  process.on('uncaughtException', (error) => {
    say('fatal')(error.stack ?? String(error))
    process.exit(70)
  })
  const store = recordingStore(openStore(config.address, config.callTimeoutMs), recorder)
  const skep = createSkep({ store, logger, ...(config.hints ? {} : { notifier: deafNotifier }) })
  return { skep, recorder }
}

/** Every hint vanishes, and nobody notices. */
export const deafNotifier: Notifier = {
  publish: () => {},
  subscribe: () => ({ end: () => {} }),
  health: () => ({ status: 'up', detail: 'It swallows all hints.' }),
  close: async () => {},
}

/** Calls `stop` once, at SIGTERM or when the parent is gone, and ends the process after it. */
export function onStop(stop: () => Promise<void>): void {
  process.once('SIGTERM', () => {
    stop().then(
      () => process.exit(0),
      () => process.exit(71),
    )
  })
  process.on('disconnect', () => process.exit(72))
}

/** Tells the parent, which may be gone. */
export function tellParent(message: object): void {
  process.send?.(message, undefined, undefined, () => {})
}

/** For `worker.ready`: a stop may come before the worker has started, and then it rejects with `CLOSED`. */
export function ignoreClosed(error: unknown): void {
  if ((error as { readonly code?: unknown }).code !== 'CLOSED') throw error
}
