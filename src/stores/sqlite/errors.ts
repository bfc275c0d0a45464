import { messageOf, SkepError, StoreError } from '../../core/errors.ts'

/**
 * What a client's error means for us. `busy`: another connection writes. `full`: no room left. `disk`: reading or
 * writing failed. `broken`: the file is damaged. `closed`: the handle is. `other`: the statement or a value of it.
 */
export type Trouble = 'busy' | 'full' | 'disk' | 'broken' | 'readonly' | 'closed' | 'other'

// The primary result codes of SQLite.
const BY_CODE: Readonly<Record<number, Trouble>> = {
  5: 'busy',
  6: 'busy',
  7: 'full',
  8: 'readonly',
  10: 'disk',
  11: 'broken',
  13: 'full',
  14: 'disk',
  26: 'broken',
}

const BY_NAME: readonly (readonly [RegExp, Trouble])[] = [
  [/SQLITE_(BUSY|LOCKED)/, 'busy'],
  [/SQLITE_(FULL|NOMEM)/, 'full'],
  [/SQLITE_READONLY/, 'readonly'],
  [/SQLITE_(IOERR|CANTOPEN)/, 'disk'],
  [/SQLITE_(CORRUPT|NOTADB)/, 'broken'],
]

// Some calls of some clients give no code, only SQLite's own words.
const BY_MESSAGE: readonly (readonly [RegExp, Trouble])[] = [
  [/^(database|database table|database schema) is locked/, 'busy'],
  [/^(database or disk is full|out of memory)/, 'full'],
  [/^attempt to write a readonly database/, 'readonly'],
  [/^(disk I\/O error|unable to open database)/, 'disk'],
  [/^(database disk image is malformed|file is not a database)/, 'broken'],
  [/(not open|is closed|has been finalized)/, 'closed'],
]

/** A transaction of the user's is open on the handle that the store shares with them. */
export class HandleInUse extends Error {
  constructor(busyTimeoutMs: number) {
    super(
      `A transaction has been open on the shared SQLite handle for ${busyTimeoutMs} ms. End it, pass it as tx, or give ` +
        'the store a handle (or a file) of its own.',
    )
  }
}

export function troubleOf(thrown: unknown): Trouble {
  if (thrown instanceof HandleInUse) return 'busy'
  if (typeof thrown !== 'object' || thrown === null) return 'other'
  const { errcode, code, message } = thrown as { errcode?: unknown; code?: unknown; message?: unknown }
  // The low byte is the primary code, the rest tells more exactly.
  if (typeof errcode === 'number') {
    const known = BY_CODE[errcode & 0xff]
    if (known) return known
  }
  if (typeof code === 'string') {
    const known = BY_NAME.find(([name]) => name.test(code))
    if (known) return known[1]
  }
  const known = typeof message === 'string' && BY_MESSAGE.find(([words]) => words.test(message))
  return known ? known[1] : 'other'
}

/** Whether the transaction cannot go on, whoever of its calls met the trouble. */
export function isFatal(trouble: Trouble): boolean {
  return trouble !== 'other'
}

const ADVICE: Readonly<Record<Trouble, string>> = {
  busy: 'The database was locked by another writer for too long. Shorten its transactions or raise busyTimeoutMs.',
  full: 'There is no room left for the database. Nothing was written; free some space.',
  disk: 'The database could not be read or written. Nothing was changed; check the disk.',
  broken: 'The database file is damaged. Restore it, or run "PRAGMA integrity_check".',
  readonly: 'The database is read-only for this process. Check the rights of the file and its folder.',
  closed: 'The database handle was closed under the store.',
  other: 'SQLite refused the call',
}

/** Our error for a call of which nothing was written. */
export function storeError(thrown: unknown, facts: Readonly<Record<string, unknown>> = {}): SkepError {
  if (thrown instanceof SkepError) return thrown
  if (thrown instanceof HandleInUse) return new StoreError('STORE_UNAVAILABLE', thrown.message, { facts })
  const trouble = troubleOf(thrown)
  const words = messageOf(thrown)
  if (trouble === 'other') {
    return new StoreError('STORE_REJECTED', `${ADVICE.other}: ${words}.`, { cause: thrown, facts })
  }
  return new StoreError('STORE_UNAVAILABLE', `${ADVICE[trouble]} (${words})`, {
    cause: thrown,
    facts: { ...facts, trouble },
  })
}

export function closedError(): SkepError {
  return new SkepError('CLOSED', 'The store is closed. Make a new one to go on.')
}
