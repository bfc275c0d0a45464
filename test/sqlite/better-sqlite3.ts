// better-sqlite3 12 for this very Node. Install scripts are off in this repository, so its native part is compiled here, once
// for each version, and kept in node_modules/.cache.

import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { SqliteClient } from '../../src/sqlite.ts'

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))
const source = join(modules, 'better-sqlite3-12')

type Database = new (file: string) => SqliteClient

/** Opens databases with it. Rejects where it cannot be compiled: without make, a compiler or Python. */
export async function betterSqlite3Compiled(): Promise<(file: string) => SqliteClient> {
  const { version } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as { version: string }
  const place = join(
    modules,
    '.cache/better-sqlite3',
    `${version}-${process.platform}-${process.arch}-${process.versions.modules}`,
  )
  if (!existsSync(place)) await compile(place)
  const Database = createRequire(import.meta.url)(place) as Database
  return (file) => new Database(file)
}

async function compile(place: string): Promise<void> {
  // Test runs side by side compile in folders of their own, and the first one to finish wins.
  const draft = `${place}-draft-${process.pid}`
  mkdirSync(dirname(place), { recursive: true })
  cpSync(source, draft, { recursive: true })
  try {
    await promisify(execFile)(process.execPath, [nodeGyp(), 'rebuild', '--release', ...headers()], {
      cwd: draft,
      // Compiling takes a third of the time, and what is tested stays the same.
      env: { ...process.env, CFLAGS: '-O0', CXXFLAGS: '-O0' },
      maxBuffer: 100_000_000,
    })
    renameSync(draft, place)
  } catch (error) {
    if (!existsSync(place)) throw error
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

/** npm brings node-gyp along. */
function nodeGyp(): string {
  const prefix = dirname(dirname(process.execPath))
  const [found] = [join(prefix, 'lib/node_modules/npm'), join(dirname(process.execPath), 'node_modules/npm')]
    .map((npm) => join(npm, 'node_modules/node-gyp/bin/node-gyp.js'))
    .filter((path) => existsSync(path))
  if (found === undefined) throw new Error('npm with its node-gyp is not beside this Node')
  return found
}

/** The headers of this Node, if they are installed with it; otherwise node-gyp downloads them. */
function headers(): string[] {
  const prefix = dirname(dirname(process.execPath))
  return existsSync(join(prefix, 'include/node/node.h')) ? [`--nodedir=${prefix}`] : []
}
