// better-sqlite3 12 for this very Node. Install scripts are off in this repository, so its native part is compiled here, once
// for each version, and kept in node_modules/.cache.

import { execFile, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { SqliteClient } from '../../src/sqlite.ts'
import { reasonToSkip } from '../servers/missing.ts'

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))
const source = join(modules, 'better-sqlite3-12')

/** It cannot be had on this machine, so its tests are skipped. Whatever else fails is a failure. */
export class Unavailable extends Error {}

/** What is found, or why it is {@link Unavailable}. A client that should be here and fails is no reason to skip its tests. */
export async function foundOrReason<T>(find: () => T | Promise<T>): Promise<T | string> {
  try {
    return await find()
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    return error.message
  }
}

type Database = new (file: string) => SqliteClient

/** Opens databases with it. Rejects with {@link Unavailable} without make, a compiler, Python or npm, and with another error if it fails. */
export async function betterSqlite3Compiled(): Promise<(file: string) => SqliteClient> {
  const { version } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as { version: string }
  const place = join(
    modules,
    '.cache/better-sqlite3',
    `${version}-${process.platform}-${process.arch}-${process.versions.modules}`,
  )
  if (!existsSync(place)) {
    assertCompiler()
    await compile(place)
  }
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

function assertCompiler(): void {
  const tools = [['make'], [process.env['CXX'] ?? 'c++', 'g++', 'clang++'], ['python3', 'python']]
  const runs = (command: string): boolean => spawnSync(command, ['--version']).status === 0
  const missing = tools.filter((names) => !names.some(runs)).map(([name]) => name)
  if (missing.length > 0)
    throw new Unavailable(reasonToSkip(`compiling better-sqlite3 needs ${missing.join(', ')}`))
}

/** npm brings node-gyp along. */
function nodeGyp(): string {
  const prefix = dirname(dirname(process.execPath))
  const [found] = [join(prefix, 'lib/node_modules/npm'), join(dirname(process.execPath), 'node_modules/npm')]
    .map((npm) => join(npm, 'node_modules/node-gyp/bin/node-gyp.js'))
    .filter((path) => existsSync(path))
  if (found === undefined) throw new Unavailable('npm with its node-gyp is not beside this Node')
  return found
}

/** The headers of this Node, if they are installed with it; otherwise node-gyp downloads them. */
function headers(): string[] {
  const prefix = dirname(dirname(process.execPath))
  return existsSync(join(prefix, 'include/node/node.h')) ? [`--nodedir=${prefix}`] : []
}
