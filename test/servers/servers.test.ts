import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { freshDatabase, reasonToSkip, startPgBouncer } from './index.ts'

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

describe('the test database server', () => {
  it('gives every caller a database of its own and removes it again', async () => {
    const [a, b] = await Promise.all([freshDatabase(), freshDatabase()])
    await query(a.url, 'create table mine (id int)')

    const seenFromB = await query(b.url, `select to_regclass('mine') as found`)
    await Promise.all([a.drop(), b.drop()])

    expect(seenFromB).toEqual([{ found: null }])
    await expect(query(a.url, 'select 1')).rejects.toThrow('does not exist')
  })

  it('keeps the settings a production server would have', async () => {
    await using database = await freshDatabase()

    const rows = await query(
      database.url,
      `select name, setting from pg_settings where name in ('fsync', 'synchronous_commit') order by name`,
    )

    expect(rows).toEqual([
      { name: 'fsync', setting: 'on' },
      { name: 'synchronous_commit', setting: 'on' },
    ])
  })

  it('can be reached through a pooler in transaction mode', async (t) => {
    await using database = await freshDatabase()
    const { bouncer, reason } = await startPgBouncer(database.url)
    if (!bouncer) return t.skip(reasonToSkip(reason))

    try {
      expect(await query(bouncer.urlFor(database.url), 'select 1 as one')).toEqual([{ one: 1 }])
    } finally {
      await bouncer.stop()
    }
  }, 300_000)

  it('stops, and leaves no folder, when the process that started it is killed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'skep-keeper-'))
    const keeperFile = fileURLToPath(new URL('./keeper.mjs', import.meta.url))
    const settings = JSON.stringify({
      command: process.execPath,
      args: ['-e', 'setInterval(() => {}, 1000)'],
      env: {},
      folder,
      log: join(folder, 'server.log'),
      stopSignal: 'SIGTERM',
    })
    // The killed process: starts a keeper, says its number, and waits.
    const owner = spawn(process.execPath, [
      '-e',
      `const keeper = require('node:child_process').spawn(
         process.execPath,
         ${JSON.stringify([keeperFile, settings])},
         { detached: true, stdio: ['pipe', 'inherit', 'inherit'] })
       console.log(keeper.pid)
       setInterval(() => {}, 1000)`,
    ])
    await once(owner.stdout, 'data')

    owner.kill('SIGKILL')
    // The keeper inherited this pipe, so it closes when the keeper has ended too.
    await once(owner.stdout, 'close')

    expect(existsSync(folder)).toBe(false)
  })
})
