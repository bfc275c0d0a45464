/** Tests that are skipped may be skipped for ever without anyone noticing: what can be installed must not be a reason. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { missingProgram, reasonToSkip } from '../servers/missing.ts'
import { foundOrReason, Unavailable } from '../sqlite/better-sqlite3.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

/** Files that skip tests for what no package brings. */
const OTHER_REASONS: Readonly<Record<string, string>> = {
  'disk/backup.test.ts': 'the PostgreSQL from npm, which may be asked for, has no pg_dump',
  'disk/full.test.ts': 'needs the right to mount',
  'disk/power-cut.test.ts': 'needs the right to mount, and /dev/fuse',
  'disk/sync-error.test.ts': 'needs the right to mount, and /dev/fuse',
  'disk/wal-full.test.ts': 'needs the right to mount',
  'sqlite/clients.test.ts': 'needs a newer Node, or fails: see Unavailable',
  'sqlite/close.test.ts': 'needs Linux',
  'sqlite/disk-full.test.ts': 'needs the right to mount',
  'sqlite/liveness.test.ts': 'needs Linux',
  'threads/start.test.ts': 'is about a Node that does not read TypeScript',
}

const SKIP = /(?:\.skip\(|\bskipIf\(|\brunIf\()/

describe('A test', () => {
  it('is skipped only by the shared check, or for what no package brings', () => {
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
      .map((name) => name.replaceAll('\\', '/'))
      .filter(
        (name) => /\.m?ts$/.test(name) && !name.startsWith('tooling/') && !name.includes('node_modules'),
      )
    const skipping = files.filter((name) => SKIP.test(readFileSync(join(root, name), 'utf8')))
    const unchecked = skipping.filter(
      (name) => !/reasonToSkip\(|missingProgram\(/.test(readFileSync(join(root, name), 'utf8')),
    )

    expect(skipping.length).toBeGreaterThan(15)
    expect(unchecked.sort()).toEqual(Object.keys(OTHER_REASONS))
  })

  it('fails where what is missing could have been installed, and is skipped with the reason elsewhere', () => {
    const reason = 'PgBouncer is not installed'

    expect(reasonToSkip(reason, false)).toBe(reason)
    expect(() => reasonToSkip(reason, true)).toThrow(
      'This is missing, although it can be installed here: PgBouncer is not installed',
    )
  })

  it('of a client of SQLite fails when the client cannot be compiled, and is skipped without a compiler', async () => {
    const failing = (error: Error) => foundOrReason(() => Promise.reject(error))

    expect(await failing(new Unavailable('there is no c++'))).toBe('there is no c++')
    await expect(failing(new Error('node-gyp failed'))).rejects.toThrow('node-gyp failed')
  })

  it('is not skipped for a program that runs', () => {
    expect(missingProgram(process.execPath, ['--version'], true)).toBeUndefined()
    expect(missingProgram('no-such-program', ['--version'], false)).toContain('ENOENT')
    expect(() => missingProgram('no-such-program', ['--version'], true)).toThrow('although')
  })
})
