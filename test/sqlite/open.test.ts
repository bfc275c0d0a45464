import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { SqliteClient } from '../../src/sqlite.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import {
  exitOf,
  freshFile,
  freshFolder,
  messageFrom,
  newJob,
  openHandle,
  openStore,
  start,
} from './support.ts'

describe('Opening a SQLite store', () => {
  it('makes the file and its tables, and says that jobs survive a power cut', async () => {
    const file = freshFile()
    const store = openStore({ file })

    const durability = await store.ready()

    expect(durability).toMatchObject({ level: 'disk', warnings: [] })
    expect(durability.detail).toContain('journal_mode wal, synchronous full')
    expect(existsSync(file)).toBe(true)
    expect(await store.migrate()).toEqual({ applied: [] })
  })

  it('does nothing before it is used', async () => {
    const file = freshFile()

    const store = openStore({ file })

    await store.close()
    expect(existsSync(file)).toBe(false)
  })

  it('tells what it migrated, once', async () => {
    const store = openStore({ file: freshFile() })

    const first = await store.migrate()
    const second = await store.migrate()

    expect(first.applied.length).toBeGreaterThan(0)
    expect(second.applied).toEqual([])
  })

  it('names the path when its folder does not exist', async () => {
    const file = join(freshFolder(), 'missing', 'jobs.db')
    const store = openStore({ file })

    await expect(store.ready()).rejects.toMatchObject({ code: 'CONFIG_INVALID', facts: { file } })
    await expect(store.ready()).rejects.toThrow(file)
  })

  it('refuses a file that is no database', async () => {
    const file = freshFile()
    writeFileSync(file, 'not a database, but long enough to be taken for one: '.repeat(100))

    await expect(openStore({ file }).ready()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })

  it('opens after the fault is mended', async () => {
    const folder = freshFolder()
    const file = join(folder, 'jobs.db')
    writeFileSync(file, 'not a database, but long enough to be taken for one: '.repeat(100))
    const store = openStore({ file })
    await expect(store.ready()).rejects.toThrow()

    writeFileSync(file, '')

    expect((await store.ready()).level).toBe('disk')
  })

  it('refuses a database that a newer version has migrated', async () => {
    const file = freshFile()
    await sqliteStore({ file }).ready()
    openHandle(file).exec("insert into skep_migrations values ('9999-future', 0)")

    await expect(openStore({ file }).ready()).rejects.toMatchObject({ code: 'SCHEMA_TOO_NEW' })
  })

  it('is done by five processes at once', async () => {
    const file = freshFile()

    const children = Array.from({ length: 5 }, () => start('open', file))
    const levels = await Promise.all(children.map((child) => messageFrom<string>(child)))

    expect(levels).toEqual(Array(5).fill('disk'))
    expect(await Promise.all(children.map(exitOf))).toEqual(Array(5).fill(0))
    expect(openHandle(file).prepare('select count(*) as runs from skep_migrations').get()).toMatchObject({
      runs: 1,
    })
  })

  it('refuses a handle that is closed', () => {
    const client = openHandle(freshFile())
    client.close()

    expect(() => sqliteStore({ client })).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
  })

  it.each([
    [{}],
    [{ file: '' }],
    [{ client: {} }],
    [{ file: 'a.db', busyTimeoutMs: -1 }],
    [{ file: 'a.db', synchronous: 'off' }],
    [{ file: 'a.db', tablePrefix: 'x"; drop table y; --' }],
  ])('refuses the options %j', (options) => {
    expect(() => sqliteStore(options as never)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/INVALID/) }),
    )
  })
})

describe('What a commit is worth', () => {
  it('is less with synchronous normal, which has to be chosen', async () => {
    const store = openStore({ file: freshFile(), synchronous: 'normal' })

    expect(await store.ready()).toMatchObject({ level: 'process' })
  })

  it('is nothing in memory', async () => {
    expect(await openStore({ file: ':memory:' }).ready()).toMatchObject({ level: 'memory' })
  })

  it.each(['PRAGMA synchronous = NORMAL', 'PRAGMA synchronous = OFF', 'PRAGMA journal_mode = MEMORY'])(
    'is refused for a handle with %s',
    async (pragma) => {
      const client = openHandle(freshFile())
      client.exec(pragma)

      await expect(openStore({ client }).ready()).rejects.toMatchObject({ code: 'STORE_UNSAFE' })
    },
  )

  it('is accepted for a handle with synchronous normal if that was chosen', async () => {
    const client = openHandle(freshFile(), 'normal')

    expect(await openStore({ client, synchronous: 'normal' }).ready()).toMatchObject({ level: 'process' })
  })

  it('comes with a warning when the handle would block the event loop for long', async () => {
    const client = openHandle(freshFile())
    client.exec('PRAGMA busy_timeout = 5000')

    const { warnings } = await openStore({ client }).ready()

    expect(warnings).toEqual([expect.stringContaining('busy_timeout')])
  })

  it('comes with a warning on a version of SQLite that can damage the file', async () => {
    const handle = openHandle(freshFile())
    const client: SqliteClient = {
      prepare: (sql: string) => handle.prepare(sql.replace('sqlite_version()', "'3.51.2'")),
      exec: (sql: string) => handle.exec(sql),
      close: () => handle.close(),
      get isTransaction() {
        return handle.isTransaction
      },
    }

    const { warnings } = await openStore({ client }).ready()

    expect(warnings).toEqual([expect.stringContaining('3.51.3')])
  })
})

describe('Closing a SQLite store', () => {
  it('writes what was called before, and refuses what comes after', async () => {
    const file = freshFile()
    const store = openStore({ file })
    await store.ready()

    const before = store.insert({ jobs: [newJob()] })
    const close = store.close()
    const after = store.insert({ jobs: [newJob()] })

    await expect(after).rejects.toMatchObject({ code: 'CLOSED' })
    await Promise.all([before, close])
    expect(openHandle(file).prepare('select count(*) as jobs from skep_jobs').get()).toMatchObject({
      jobs: 1,
    })
  })
})
