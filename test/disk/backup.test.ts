// The backups of docs/backup.md: taken while jobs come and go, restored into an empty place, and worked off there.

import { execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { DatabaseSync } from '@photostructure/sqlite'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { createSkep, queue, type Skep, silentLogger } from '../../src/index.ts'
import { postgresStore } from '../../src/postgres.ts'
import { redisStore } from '../../src/redis.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { freshDatabase, startRedis } from '../servers/index.ts'
import { postgresBinaries } from '../servers/postgres-binaries.ts'

const run = promisify(execFile)
const work = queue<number, number>('work')
const later = queue<number, number>('later')

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

function open(store: Store): Skep {
  const skep = createSkep({ store, logger: silentLogger })
  closers.push(() => skep.close())
  return skep
}

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'skep-backup-'))
  closers.push(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Takes the backup in the middle of traffic. Every job of `later` was acknowledged before, so all of them have to be in it. */
async function backUpUnderLoad(skep: Skep, backUp: () => Promise<void>): Promise<string[]> {
  const before = await skep.enqueueMany(
    later,
    Array.from({ length: 200 }, (_, n) => n),
  )
  // Its process, this one, lives on after the restore, so the lease decides.
  const worker = skep.worker([work.handle(({ payload }) => payload)], { lease: '3s' })
  let isDone = false
  let enqueued = 0
  const traffic = (async () => {
    while (!isDone) await skep.enqueue(work, enqueued++)
  })()
  await expect.poll(() => enqueued).toBeGreaterThan(50)
  await backUp()
  isDone = true
  await traffic
  await worker.stop()
  return before.map(({ id }) => id)
}

/** Everything in the restored store runs to its end, and what had been acknowledged before the backup is there. */
async function expectWhole(restored: Skep, ids: readonly string[]): Promise<void> {
  const worker = restored.worker([
    later.handle(({ payload }) => payload * 2),
    work.handle(({ payload }) => payload),
  ])
  const jobs = await Promise.all(ids.map((id) => restored.jobs.handle(id).result()))
  await expect
    .poll(async () => (await restored.queues.list([work])).map(({ ready, running }) => ready + running))
    .toEqual([0])
  await worker.stop()
  expect(jobs).toEqual(ids.map((_, n) => n * 2))
}

describe('A backup taken while jobs come and go', () => {
  it('of SQLite, by VACUUM INTO, has every job', async () => {
    const folder = freshFolder()
    const [file, backup] = [join(folder, 'jobs.db'), join(folder, 'backup.db')]
    const skep = open(sqliteStore({ file }))

    const ids = await backUpUnderLoad(skep, async () => {
      const db = new DatabaseSync(file)
      db.exec(`VACUUM INTO '${backup}'`)
      db.close()
    })
    await skep.close()

    await expectWhole(open(sqliteStore({ file: backup })), ids)
  })

  it('of Postgres, by pg_dump of its schema, has every job', async (t) => {
    const { bin } = postgresBinaries(freshFolder())
    const found = await run(join(bin, 'pg_dump'), ['--version']).catch(() => null)
    if (found === null) return t.skip('the PostgreSQL from npm has no pg_dump')
    const [source, target] = [await freshDatabase(), await freshDatabase()]
    closers.push(
      () => source.drop(),
      () => target.drop(),
    )
    const dump = join(freshFolder(), 'skep.dump')
    const skep = open(postgresStore({ url: source.url, migrate: true }))

    const ids = await backUpUnderLoad(skep, async () => {
      await run(join(bin, 'pg_dump'), ['--schema=skep', '--format=custom', `--file=${dump}`, source.url])
    })
    await skep.close()
    await run(join(bin, 'pg_restore'), ['--exit-on-error', `--dbname=${target.url}`, dump])

    const restored = open(postgresStore({ url: target.url }))
    await expectWhole(restored, ids)
    expect(await tablesOf(target.url)).toEqual(await tablesOf(source.url))
  })

  it('of Redis, by a snapshot, has every job', async () => {
    const folder = freshFolder()
    const backup = join(folder, 'backup.rdb')
    const { redis } = await startRedis({ appendfsync: 'always' })
    if (!redis) throw new Error('There is no Redis.')
    closers.push(() => redis.stop())
    const skep = open(redisStore({ url: redis.url }))

    const ids = await backUpUnderLoad(skep, async () => {
      const last = await redis.cli('LASTSAVE')
      // LASTSAVE has whole seconds.
      await new Promise((resolve) => setTimeout(resolve, 1_100))
      await redis.cli('BGSAVE')
      await expect.poll(() => redis.cli('LASTSAVE')).not.toBe(last)
      copyFileSync(join(await directoryOf(redis.url), 'dump.rdb'), backup)
    })
    await skep.close()

    const kept = freshFolder()
    copyFileSync(backup, join(kept, 'dump.rdb'))
    await run('chown', ['-R', 'redis:redis', kept]).catch(() => {})
    const second = await startRedis({ appendfsync: 'always', kept, settings: { appendonly: 'no' } })
    if (!second.redis) throw new Error('There is no Redis.')
    closers.push(() => second.redis.stop())
    await second.redis.cli('CONFIG', 'SET', 'appendonly', 'yes')
    await expect
      .poll(() => second.redis.cli('INFO', 'persistence'))
      .toMatch(/aof_rewrite_in_progress:0[\s\S]*aof_rewrite_scheduled:0/)

    await expectWhole(open(redisStore({ url: second.redis.url })), ids)
  })
})

async function directoryOf(url: string): Promise<string> {
  const client = new Redis(url)
  try {
    const [, folder] = (await client.config('GET', 'dir')) as string[]
    return folder as string
  } finally {
    client.disconnect()
  }
}

async function tablesOf(url: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query(
      `select relname, relkind from pg_class where relnamespace = 'skep'::regnamespace and relkind in ('r', 'p', 'i', 'v') order by 1`,
    )
    return rows
  } finally {
    await client.end()
  }
}
