import { existsSync, realpathSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { clientMissing, SkepError } from '../../../core/errors.ts'
import type { Durability } from '../../../store/store.ts'
import type { ResolvedOptions } from '../options.ts'
import { prepare, type Row, type SqliteClient } from './client.ts'
import { Handle } from './connection.ts'

// SQLite blocks the thread while it waits for a lock, and sleeps longer and longer. The store waits on its own.
const NATIVE_BUSY_MS = 0

/** Versions before this one can damage the file when two connections restart the log at the same moment. */
const SAFE_VERSION = [3, 51, 3] as const

/** The oldest version that knows the statements of this store. */
const LEAST_VERSION = [3, 38, 0] as const

/** SQLite itself waits for a lock with the thread blocked; longer than this is too long for heartbeats. */
const LONG_BUSY_MS = 1_000

export interface Opened {
  readonly db: Handle
  readonly durability: Durability
}

/** Repeats what somebody else's lock prevents. */
export type Patiently = <T>(db: Handle, work: () => T) => Promise<T>

/** Opens the file, or looks at the handle given, and finds out what a commit is worth there. */
export async function connect(options: ResolvedOptions, patiently: Patiently): Promise<Opened> {
  const client = options.client ?? (await openFile(options.file))
  const db = new Handle(client, options.tablePrefix, options.client !== null)
  try {
    if (options.client === null) await patiently(db, () => tune(db, options))
    return { db, durability: durabilityOf(db, fileOf(client), options) }
  } catch (error) {
    if (options.client === null) client.close()
    throw error
  }
}

// The numbers by which Linux knows file systems that are on another machine: NFS, SMB, CIFS, AFS, Ceph.
const NETWORK_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x6969, 0xfe534d42, 0xff534d42, 0x5346414f, 0x00c36400,
])

/** On a network two machines could open the file, and neither its locks nor its shared memory would hold. */
function refuseNetwork(folder: string): void {
  if (process.platform !== 'linux' || !NETWORK_FILE_SYSTEMS.has(statfsSync(folder).type)) return
  throw new SkepError(
    'STORE_UNSAFE',
    `The folder "${folder}" is on a network file system, where SQLite can lose data. Put the database on a local disk.`,
    { facts: { folder } },
  )
}

async function openFile(file: string): Promise<SqliteClient> {
  if (file !== ':memory:') {
    const folder = dirname(resolve(file))
    if (!existsSync(folder)) {
      throw new SkepError(
        'CONFIG_INVALID',
        `The folder of the database "${resolve(file)}" does not exist. Make it first, or correct the option file.`,
        { facts: { file: resolve(file) } },
      )
    }
    refuseNetwork(folder)
  }
  try {
    return await openClient(file, NATIVE_BUSY_MS)
  } catch (cause) {
    if (cause instanceof SkepError) throw cause
    throw new SkepError(
      'CONFIG_INVALID',
      `The database "${resolve(file)}" could not be opened. Check that it is a SQLite file this process may write.`,
      { cause, facts: { file: resolve(file) } },
    )
  }
}

function tune(db: Handle, { file, synchronous }: ResolvedOptions): void {
  db.exec(`PRAGMA busy_timeout = ${NATIVE_BUSY_MS}`)
  if (file !== ':memory:') {
    const [mode] = db.get('PRAGMA journal_mode = WAL') ?? []
    if (mode !== 'wal') {
      throw new SkepError(
        'STORE_UNSAFE',
        `The write-ahead log cannot be used for "${resolve(file)}" (its mode stays "${String(mode)}"), which is so on network ` +
          'file systems. Put the database on a local disk.',
        { facts: { file: resolve(file), mode } },
      )
    }
  }
  db.exec(`
    PRAGMA synchronous = ${synchronous.toUpperCase()};
    PRAGMA cache_size = -8192;
    PRAGMA temp_store = MEMORY;
    PRAGMA wal_autocheckpoint = 2000;
    PRAGMA journal_size_limit = 67108864;`)
}

/** The file of an open database, with all links resolved; null when it is in memory. */
export function fileOf(client: SqliteClient): string | null {
  let list: readonly Row[]
  try {
    list = prepare(client, 'PRAGMA database_list').all()
  } catch (cause) {
    throw new SkepError('OPTION_INVALID', 'The SQLite handle given as client cannot be used. Is it open?', {
      cause,
    })
  }
  const file = list.find(([, name]) => name === 'main')?.[2]
  return typeof file === 'string' && file !== '' ? realpathSync(file) : null
}

const SYNC_NAMES = ['off', 'normal', 'full', 'extra'] as const

function durabilityOf(db: Handle, path: string | null, options: ResolvedOptions): Durability {
  const warnings: string[] = []
  const [version] = db.get('select sqlite_version()') as [string]
  if (isOlder(version, LEAST_VERSION)) {
    throw new SkepError(
      'CONFIG_INVALID',
      `SQLite ${version} is too old for this store. Update the client to one with ${LEAST_VERSION.join('.')} or newer.`,
      { facts: { version } },
    )
  }
  if (isOlder(version, SAFE_VERSION)) {
    warnings.push(
      `SQLite ${version} can damage a database that several processes use at once. Update the client to one with ` +
        `${SAFE_VERSION.join('.')} or newer.`,
    )
  }
  const [busyMs] = db.get('PRAGMA busy_timeout') as [number]
  if (busyMs > LONG_BUSY_MS) {
    warnings.push(
      `The handle blocks the event loop for up to ${busyMs} ms when the database is locked. Run "PRAGMA busy_timeout = 50" ` +
        'on it: the store waits on its own.',
    )
  }
  if (path === null) {
    return { level: 'memory', detail: `SQLite ${version} in memory: jobs end with the process.`, warnings }
  }

  const mode = (db.get('PRAGMA journal_mode') as [string])[0]
  const sync = SYNC_NAMES[(db.get('PRAGMA synchronous') as [number])[0]] ?? 'off'
  const detail = `SQLite ${version}, journal_mode ${mode}, synchronous ${sync}, "${path}".`
  if (mode !== 'wal') {
    warnings.push(`journal_mode is ${mode}. Set it to WAL: it is faster, and readers do not block writers.`)
  }
  const keeps = mode !== 'off' && mode !== 'memory'
  if (keeps && (sync === 'full' || sync === 'extra')) return { level: 'disk', detail, warnings }
  if (keeps && sync === 'normal' && mode === 'wal' && options.synchronous === 'normal') {
    return { level: 'process', detail, warnings }
  }
  throw new SkepError(
    'STORE_UNSAFE',
    `The SQLite handle would lose jobs (journal_mode ${mode}, synchronous ${sync}). Run "PRAGMA journal_mode = WAL" and ` +
      '"PRAGMA synchronous = FULL" on it. To accept that a power cut loses the last commits, use NORMAL and say ' +
      "synchronous: 'normal' to the store.",
    { facts: { mode, synchronous: sync } },
  )
}

function isOlder(version: string, than: readonly number[]): boolean {
  const parts = version.split('.').map(Number)
  for (const [i, least] of than.entries()) {
    const part = parts[i] ?? 0
    if (part !== least) return part < least
  }
  return false
}

interface SqliteModule {
  readonly DatabaseSync: new (file: string, options?: { readonly timeout?: number }) => SqliteClient
}

/** Opens a database with the client at hand: node:sqlite where Node has it, else @photostructure/sqlite. */
export async function openClient(file: string, timeoutMs: number): Promise<SqliteClient> {
  const { DatabaseSync } = builtIn() ?? (await installed())
  return new DatabaseSync(file, { timeout: timeoutMs })
}

function builtIn(): SqliteModule | undefined {
  // Node 22.5 to 22.12 have it behind a flag; there the name is unknown without it.
  return withoutExperimentalWarning(
    () => process.getBuiltinModule?.('node:sqlite') as SqliteModule | undefined,
  )
}

// Node 22 calls its SQLite experimental the first time it is loaded. Its users chose Skep, and cannot act on that.
function withoutExperimentalWarning<T>(load: () => T): T {
  const { emitWarning } = process
  const quiet = (warning: string | Error, ...rest: unknown[]): void => {
    const isMeant = rest[0] === 'ExperimentalWarning' && String(warning).includes('SQLite')
    if (!isMeant) Reflect.apply(emitWarning, process, [warning, ...rest])
  }
  process.emitWarning = quiet as typeof process.emitWarning
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}

async function installed(): Promise<SqliteModule> {
  // In a variable, so that bundlers leave it alone and it stays optional.
  const name: string = '@photostructure/sqlite'
  try {
    return (await import(name)) as SqliteModule
  } catch (cause) {
    throw clientMissing(
      name,
      cause,
      `Node ${process.versions.node} has no SQLite of its own. Run "npm install @photostructure/sqlite@1", use Node ` +
        '22.13 or newer, or pass an open database as client.',
    )
  }
}
