import {
  inTransaction,
  prepare,
  type Row,
  type SqliteClient,
  type SqlValue,
  type Statement,
} from './client.ts'

const DEFAULT_PREFIX = 'skep_'

/**
 * A connection with its compiled statements. Statements are written with the default table names beside the
 * code that uses them; a store with another prefix has it put in here, when they are compiled.
 */
export class Handle {
  readonly client: SqliteClient
  readonly #isShared: boolean
  readonly #prefix: string
  readonly #statements = new Map<string, Statement>()

  /** `isShared`: the handle is the user's, who may have a transaction open on it. */
  constructor(client: SqliteClient, prefix: string, isShared: boolean) {
    this.client = client
    this.#isShared = isShared
    this.#prefix = prefix
  }

  /** Whether its owner has a transaction open on it. Ours begin and end without a pause between. */
  get isInUse(): boolean {
    return this.#isShared && inTransaction(this.client)
  }

  /** Takes a transaction of ours back, if an error has not already done so. */
  rollback(): void {
    try {
      this.client.exec('ROLLBACK')
    } catch {
      // There is none any more.
    }
  }

  /**
   * Closes the connection. The log is folded into the file first and statements are let go, because a client that cannot
   * finalise its statements (@photostructure/sqlite) keeps the connection open until they are collected as garbage, and would leave
   * the jobs in the log.
   */
  close(): void {
    try {
      this.client.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch {
      // Another process reads or writes. The last one to close does it.
    }
    this.#statements.clear()
    this.client.close()
  }

  exec(sql: string): void {
    this.client.exec(this.#named(sql))
  }

  run(sql: string, ...values: readonly SqlValue[]): number {
    return this.#statement(sql).run(...values)
  }

  get(sql: string, ...values: readonly SqlValue[]): Row | undefined {
    return this.#statement(sql).get(...values)
  }

  all(sql: string, ...values: readonly SqlValue[]): readonly Row[] {
    return this.#statement(sql).all(...values)
  }

  #statement(sql: string): Statement {
    const known = this.#statements.get(sql)
    if (known) return known
    const statement = prepare(this.client, this.#named(sql))
    this.#statements.set(sql, statement)
    return statement
  }

  #named(sql: string): string {
    return this.#prefix === DEFAULT_PREFIX ? sql : sql.replaceAll(DEFAULT_PREFIX, this.#prefix)
  }
}
