/** A value that goes into a statement or comes out of it. Times and counts are integers below 2^53. */
export type SqlValue = null | number | string | Uint8Array

/**
 * The part of a SQLite client we call. `DatabaseSync` of node:sqlite and of @photostructure/sqlite, and
 * `Database` of better-sqlite3 have it, so none of them has to be installed to compile against this.
 */
export interface SqliteClient {
  prepare(sql: string): SqliteStatement
  exec(sql: string): unknown
  close(): unknown
  /** node:sqlite and @photostructure/sqlite: a transaction is open on this handle. */
  readonly isTransaction?: boolean
  /** better-sqlite3: the same. */
  readonly inTransaction?: boolean
}

export interface SqliteStatement {
  run(...values: never[]): { readonly changes: number | bigint }
  get(...values: never[]): unknown
  all(...values: never[]): unknown[]
}

/** What clients have in addition for rows as arrays and integers as numbers. Each has some of it. */
interface StatementExtras {
  setReturnArrays?(on: boolean): unknown
  setReadBigInts?(on: boolean): unknown
  raw?(on: boolean): unknown
  safeIntegers?(on: boolean): unknown
}

/** A prepared statement, the same for all clients. */
export interface Statement {
  /** How many rows it changed. */
  run(...values: readonly SqlValue[]): number
  get(...values: readonly SqlValue[]): Row | undefined
  all(...values: readonly SqlValue[]): readonly Row[]
}

/** The columns of one row, in the order in which the statement names them. */
export type Row = readonly SqlValue[]

/** Whether a value looks like one of the handles we can work with. */
export function isClient(value: unknown): value is SqliteClient {
  if (typeof value !== 'object' || value === null) return false
  const { prepare, exec, close } = value as Partial<SqliteClient>
  return typeof prepare === 'function' && typeof exec === 'function' && typeof close === 'function'
}

interface LooseStatement extends StatementExtras {
  run(...values: readonly SqlValue[]): { readonly changes: number | bigint }
  get(...values: readonly SqlValue[]): unknown
  all(...values: readonly SqlValue[]): unknown[]
}

/** Compiles `sql`. Rows are arrays: making objects costs more than reading the page does. */
export function prepare(client: SqliteClient, sql: string): Statement {
  const native = client.prepare(sql) as unknown as LooseStatement
  // A handle may have been opened to give BigInts; ours are always small enough for numbers.
  native.setReadBigInts?.(false)
  const reads = /^\s*(select|pragma)/i.test(sql) || /\sreturning\s/i.test(sql)
  if (!reads) {
    return {
      run: (...values) => Number(native.run(...values).changes),
      get: () => undefined,
      all: () => [],
    }
  }
  native.safeIntegers?.(false)
  if (native.setReturnArrays) native.setReturnArrays(true)
  else if (native.raw) native.raw(true)
  else return rowsOfObjects(native)
  return {
    run: (...values) => native.all(...values).length,
    get: (...values) => native.get(...values) as Row | undefined,
    all: (...values) => native.all(...values) as Row[],
  }
}

// node:sqlite learned to return arrays in 22.16; before, an object's values come in the order of the columns.
function rowsOfObjects(native: LooseStatement): Statement {
  const toRow = (found: unknown): Row => Object.values(found as Record<string, SqlValue>)
  return {
    run: (...values) => native.all(...values).length,
    get: (...values) => {
      const found = native.get(...values)
      return found === undefined ? undefined : toRow(found)
    },
    all: (...values) => native.all(...values).map(toRow),
  }
}

/** Whether a transaction is open on the handle. */
export function inTransaction(client: SqliteClient): boolean {
  const told = client.isTransaction ?? client.inTransaction
  if (told !== undefined) return told
  // Older versions of node:sqlite do not tell. A second BEGIN fails exactly if there is a first.
  try {
    client.exec('BEGIN')
  } catch {
    return true
  }
  client.exec('ROLLBACK')
  return false
}
