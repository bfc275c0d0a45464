import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { createSkep, type Handler, type Skep, type Worker, type WorkerOptions } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { postgresStore } from '../../src/postgres.ts'
import { redisStore } from '../../src/redis.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { mutantPlugins } from '../mutants/plugin.ts'
import { freshDatabase, redisUrlVariable } from '../servers/index.ts'

export const root: string = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Handler modules as plain JavaScript, each with all it needs in one file: threads cannot read TypeScript by themselves,
 * and a mutant has to be in them too.
 */
export async function bundle(
  entries: Readonly<Record<string, string>>,
  folder: string,
  format: 'esm' | 'cjs' = 'esm',
): Promise<void> {
  for (const [name, entry] of Object.entries(entries)) {
    const build = await rolldown({
      input: join(root, 'test/threads/modules', entry),
      platform: 'node',
      resolve: { alias: { skep: join(root, 'src/index.ts'), 'skep/memory': join(root, 'src/memory.ts') } },
      plugins: mutantPlugins(),
      logLevel: 'silent',
    })
    try {
      await build.write({ file: join(folder, name), format, codeSplitting: false })
    } finally {
      await build.close()
    }
  }
}

/** A folder inside of the system's own, gone after the tests of the file. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'skep-threads-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The modules of the tests of a file. Answers where each one is. */
export function testModules(entries: Readonly<Record<string, string>>): (name: string) => URL {
  const folder = testFolder()
  beforeAll(() => bundle(entries, folder))
  return (name) => pathToFileURL(join(folder, name))
}

export const STORES = ['memory', 'sqlite', 'postgres', 'redis'] as const

/** A program with a store of its own. */
export interface Stage {
  readonly store: Store
  readonly skep: Skep
  /** What it logged as a warning or an error. */
  readonly log: string[]
  /** The names of the events, with the message of the failure if there is one. */
  readonly told: string[]
  readonly folder: string
  worker(handlers: readonly Handler[], options?: WorkerOptions): Promise<Worker>
}

export async function openStage(store: (typeof STORES)[number]): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'skep-threads-'))
  mkdirSync(folder, { recursive: true })
  const log: string[] = []
  const told: string[] = []
  const note = (message: string): void => void log.push(message)
  const database = store === 'postgres' ? await freshDatabase() : null
  const stores: Record<typeof store, () => Store> = {
    memory: () => memoryStore(),
    sqlite: () => sqliteStore({ file: join(folder, 'jobs.db') }),
    postgres: () => postgresStore({ url: database?.url as string, migrate: true }),
    redis: () =>
      redisStore({
        url: process.env[redisUrlVariable] as string,
        prefix: basename(folder),
        unsafe: { lateFsync: true },
      }),
  }
  const opened = stores[store]()
  const skep = createSkep({
    store: opened,
    logger: { debug: () => {}, info: () => {}, warn: note, error: note },
  })
  for (const name of ['error', 'timeout', 'lost', 'cancelled', 'dead'] as const)
    skep.on(name, ({ failure }) => void told.push(`${name}: ${failure.message}`))
  onTestFinished(async () => {
    await Promise.all(workers.map((worker) => worker.stop({ drain: 0 })))
    await skep.close()
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  })
  const workers: Worker[] = []
  await skep.ready()
  // What a store has to say about the server of the tests is not about the test.
  log.length = 0
  return {
    skep,
    store: opened,
    log,
    told,
    folder,
    async worker(handlers, options = {}) {
      const worker = skep.worker(handlers, options)
      workers.push(worker)
      await worker.ready
      return worker
    },
  }
}

/** Waits until `condition` holds, looking again in each of the next turns of the event loop. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}
