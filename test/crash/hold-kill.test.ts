import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { createSkep, type Skep, type Store, silentLogger } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { postgresStore } from '../../src/postgres.ts'
import { redisStore } from '../../src/redis.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import { freshDatabase } from '../servers/index.ts'
import { type Address, openStore } from './program.ts'
import { freshRedis } from './redis-address.ts'
import { endless } from './worker-process.ts'

/** The worker's lease is an hour, and its registration expires an hour after its last heartbeat. */
const TIMEOUT = { wait: true, timeout: '2m' } as const
const UNSEEN_MS = 30_000

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

describe.each([
  ['SQLite', sqliteAddress],
  ['Postgres', postgresAddress],
  ['Redis', redisAddress],
])('A hold that waits, on %s', (_, makeAddress) => {
  it('is confirmed by a live process, and does not wait for one that was killed', async () => {
    const address = await makeAddress()
    const skep = open(openStore(address))
    await skep.enqueueMany(
      endless,
      Array.from({ length: 200 }, (_, n) => ({ n })),
    )
    const [victim, survivor] = [startWorker(address), startWorker(address)]
    await Promise.all([startedOne(victim), startedOne(survivor)])

    victim.kill('SIGKILL')
    await skep.queues.pause(endless, TIMEOUT)
    survivor.kill('SIGSTOP')
    const frozen = skep.queues.block(endless, { wait: true, timeout: '1s' })

    await expect(frozen).rejects.toMatchObject({
      code: 'HOLD_UNCONFIRMED',
      facts: { workers: [{ pid: survivor.pid }] },
    })
    const answered = skep.queues.block(endless, TIMEOUT)
    survivor.kill('SIGKILL')
    await answered
  }, 180_000)
})

describe.each<[string, () => Promise<Store>]>([
  ['memory', async () => memoryStore()],
  [
    'SQLite, a process of another machine',
    async () => sqliteStore((await sqliteAddress()) as { file: string }),
  ],
  [
    'Postgres without sessions of its own',
    async () =>
      postgresStore({ ...((await postgresAddress()) as { url: string }), migrate: true, listen: false }),
  ],
  [
    'Redis without a list of connections',
    async () => {
      const { redis, prefix } = (await redisAddress()) as { redis: string; prefix: string }
      return redisStore({ url: redis, prefix, liveness: false })
    },
  ],
])('A hold that waits where the store cannot check the process (%s)', (_, makeStore) => {
  it('waits for a worker no longer than its heartbeats prove it alive', async () => {
    const store = await makeStore()
    const skep = open(store)
    await skep.ready()
    const { now } = await store.counts({ space: 'default', queues: ['endless'] })
    const killed = {
      id: 'killed',
      space: 'default',
      host: 'elsewhere',
      pid: 1,
      queues: ['endless'],
      concurrency: 1,
      running: 1,
      startedAt: 0,
      vitals: '{}',
    }
    await store.attend({ worker: killed, now })
    expect((await store.workers({})).workers).toMatchObject([{ id: 'killed', life: 'unsure' }])

    const fresh = skep.queues.pause(endless, { wait: true, timeout: '1s' })
    await expect(fresh).rejects.toMatchObject({ code: 'HOLD_UNCONFIRMED' })
    await store.attend({ worker: killed, now: now - UNSEEN_MS })

    expect(await skep.queues.pause(endless, { wait: true, timeout: '1s' })).toMatchObject({
      holds: [{ kind: 'pause' }],
    })
  }, 60_000)
})

function open(store: Store): Skep {
  const skep = createSkep({ store, logger: silentLogger })
  closers.push(() => skep.close())
  return skep
}

function startWorker(address: Address): ChildProcess {
  const script = fileURLToPath(new URL('./worker-process.ts', import.meta.url))
  const child = fork(script, ['run', JSON.stringify(address), '1h'], {
    execArgv: ['--import', 'jiti/register'],
  })
  closers.push(() => child.kill('SIGKILL'))
  return child
}

function startedOne(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('message', () => resolve())
    child.once('exit', (code) => reject(new Error(`The worker ended by itself with code ${code}.`)))
  })
}

async function sqliteAddress(): Promise<Address> {
  const folder = mkdtempSync(join(tmpdir(), 'skep-hold-kill-'))
  closers.push(() => rmSync(folder, { recursive: true, force: true }))
  return { file: join(folder, 'jobs.db') }
}

async function postgresAddress(): Promise<Address> {
  const database = await freshDatabase()
  closers.push(() => database[Symbol.asyncDispose]())
  return { url: database.url }
}

async function redisAddress(): Promise<Address> {
  const redis = await freshRedis()
  closers.push(() => redis.remove())
  return redis.address
}
