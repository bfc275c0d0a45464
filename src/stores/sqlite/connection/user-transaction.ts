import { AsyncLocalStorage } from 'node:async_hooks'
import { type Duration, toMs } from '../../../core/duration.ts'
import { SkepError } from '../../../core/errors.ts'
import { assertOptions, optionKeys } from '../../../core/options.ts'
import { type Runtime, sleep, systemRuntime } from '../../../runtime/runtime.ts'
import { HandleInUse, storeError, troubleOf } from '../errors.ts'
import { inTransaction, isClient, type SqliteClient } from './client.ts'
import { fileOf } from './open.ts'

export interface TransactionOptions {
  /** How long to wait for other writers before nothing is done. @default '10s' */
  readonly timeout?: Duration
}

const KEYS = optionKeys<TransactionOptions>('withTransaction()', { timeout: true })

/** How often a lock that another connection holds is tried again. */
const RETRY_MS = 2

interface Wait {
  readonly until: number
  readonly timeoutMs: number
}

/** The last transaction of each database in this process. A handle stands for a database in memory. */
const tails = new Map<string | SqliteClient, Promise<unknown>>()

/** The databases on which the current call has a transaction open. */
const openHere = new AsyncLocalStorage<
  ReadonlySet<{ readonly key: string | SqliteClient; isOpen: boolean }>
>()

/**
 * Runs `work` in a transaction on `db`, and resolves after the commit. If `work` throws, everything is rolled back.
 *
 * SQLite has one writer at a time. Transactions of this process on the same file therefore run one after the other, in the order
 * of the calls, whichever handles they use; those of other processes are waited for without blocking the event loop. The store
 * writes between two transactions, so keep `work` short, and pass `{ tx }` to every enqueue inside it.
 *
 * Throws `TX_UNSUPPORTED` when called inside `work` on the same database, and `STORE_UNAVAILABLE`, with nothing done, when the
 * database stays locked for `timeout`.
 */
export function withTransaction<Client extends SqliteClient, Result>(
  db: Client,
  work: (tx: Client) => Result | Promise<Result>,
  options: TransactionOptions = {},
): Promise<Result> {
  assertOptions(KEYS, options)
  return runExclusively(systemRuntime(), db, work, toMs('timeout', options.timeout ?? '10s'))
}

async function runExclusively<Client extends SqliteClient, Result>(
  runtime: Runtime,
  db: Client,
  work: (tx: Client) => Result | Promise<Result>,
  timeoutMs: number,
): Promise<Result> {
  if (!isClient(db)) {
    throw new SkepError(
      'TX_UNSUPPORTED',
      'withTransaction needs an open SQLite handle: node:sqlite, @photostructure/sqlite or better-sqlite3.',
    )
  }
  const key = fileOf(db) ?? db
  const outer = openHere.getStore() ?? new Set()
  if ([...outer].some((transaction) => transaction.isOpen && transaction.key === key)) {
    throw new SkepError(
      'TX_UNSUPPORTED',
      'withTransaction was called inside a transaction on the same database, for which it would wait for ever. Use the ' +
        'handle that the outer call passed.',
    )
  }

  const previous = tails.get(key)
  const wait = { until: runtime.mono() + timeoutMs, timeoutMs }
  const mine = (async () => {
    if (previous) {
      await previous
      // Otherwise the store, which retries its own commits, might never find the database unlocked.
      await sleep(runtime, RETRY_MS)
    }
    const own = { key, isOpen: true }
    return openHere.run(new Set([...outer, own]), () =>
      transact(runtime, db, work, wait).finally(() => {
        own.isOpen = false
      }),
    )
  })()
  const tail = mine.then(noop, noop)
  tails.set(key, tail)
  void tail.then(() => {
    if (tails.get(key) === tail) tails.delete(key)
  })
  return mine
}

async function transact<Client extends SqliteClient, Result>(
  runtime: Runtime,
  db: Client,
  work: (tx: Client) => Result | Promise<Result>,
  wait: Wait,
): Promise<Result> {
  await execWhenFree(runtime, db, 'BEGIN IMMEDIATE', wait)
  try {
    const result = await work(db)
    if (!inTransaction(db)) {
      throw new SkepError(
        'TX_UNSUPPORTED',
        'The function ended its transaction itself. withTransaction commits when it returns and rolls back when it throws.',
      )
    }
    await execWhenFree(runtime, db, 'COMMIT', wait)
    return result
  } catch (error) {
    if (inTransaction(db)) db.exec('ROLLBACK')
    throw error
  }
}

async function execWhenFree(
  runtime: Runtime,
  db: SqliteClient,
  sql: string,
  { until, timeoutMs }: Wait,
): Promise<void> {
  for (;;) {
    try {
      // The store's own commits on a shared handle begin and end without a pause, so an open one is the user's.
      if (sql !== 'COMMIT' && inTransaction(db)) throw new HandleInUse(timeoutMs)
      db.exec(sql)
      return
    } catch (thrown) {
      if (troubleOf(thrown) !== 'busy' || runtime.mono() >= until) throw storeError(thrown)
    }
    await sleep(runtime, RETRY_MS)
  }
}

function noop(): void {}
