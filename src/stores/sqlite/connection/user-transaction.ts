import { AsyncLocalStorage } from 'node:async_hooks'
import { type Duration, toMs } from '../../../core/duration.ts'
import { SkepError } from '../../../core/errors.ts'
import { assertOptions, optionKeys } from '../../../core/options.ts'
import { type Runtime, sleep, systemRuntime } from '../../../runtime/runtime.ts'
import { HandleInUse, storeError, troubleOf } from '../errors.ts'
import { inTransaction, isClient, type SqliteClient } from './client.ts'
import { fileOf } from './open.ts'
import { assertOpen, guardHandle, unguarded } from './transaction-guard.ts'

export interface TransactionOptions {
  /** How long to wait for other writers before nothing is done. @default '10s' */
  readonly timeout?: Duration
  /** How long the function may take before its transaction is rolled back. @default '5s' */
  readonly maxDuration?: Duration
}

const KEYS = optionKeys<TransactionOptions>('withTransaction()', { timeout: true, maxDuration: true })

/** How often a lock that another connection holds is tried again. */
const RETRY_MS = 2

interface Limits {
  readonly timeoutMs: number
  readonly maxDurationMs: number
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
 * Throws `TX_UNSUPPORTED` when called inside `work` on the same database, `STORE_UNAVAILABLE`, with nothing done, when the
 * database stays locked for `timeout`, and `TX_TIMEOUT`, with everything rolled back, when `work` takes longer than `maxDuration`.
 * `tx` and its statements throw after the end of the transaction, so `work` cannot write outside of it.
 */
export function withTransaction<Client extends SqliteClient, Result>(
  db: Client,
  work: (tx: Client) => Result | Promise<Result>,
  options: TransactionOptions = {},
): Promise<Result> {
  assertOptions(KEYS, options)
  return runExclusively(systemRuntime(), db, work, {
    timeoutMs: toMs('timeout', options.timeout ?? '10s'),
    maxDurationMs: toMs('maxDuration', options.maxDuration ?? '5s'),
  })
}

async function runExclusively<Client extends SqliteClient, Result>(
  runtime: Runtime,
  given: Client,
  work: (tx: Client) => Result | Promise<Result>,
  limits: Limits,
): Promise<Result> {
  if (!isClient(given)) {
    throw new SkepError(
      'TX_UNSUPPORTED',
      'withTransaction needs an open SQLite handle: node:sqlite, @photostructure/sqlite or better-sqlite3.',
    )
  }
  assertOpen(given)
  const db = unguarded(given)
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
  const mine = (async () => {
    if (previous) {
      await previous
      // Otherwise the store, which retries its own commits, might never find the database unlocked.
      await sleep(runtime, RETRY_MS)
    }
    const own = { key, isOpen: true }
    return openHere.run(new Set([...outer, own]), () =>
      transact(runtime, db, work, limits).finally(() => {
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
  { timeoutMs, maxDurationMs }: Limits,
): Promise<Result> {
  await execWhenFree(runtime, db, 'BEGIN IMMEDIATE', timeoutMs)
  const { tx, close } = guardHandle(db)
  try {
    const result = await within(runtime, maxDurationMs, () => work(tx))
    if (!inTransaction(db)) {
      throw new SkepError(
        'TX_UNSUPPORTED',
        'The function ended its transaction itself. withTransaction commits when it returns and rolls back when it throws.',
      )
    }
    close(endedError())
    await execWhenFree(runtime, db, 'COMMIT', timeoutMs)
    return result
  } catch (error) {
    close(isTimeout(error) ? error : endedError())
    rollback(db)
    throw error
  }
}

/** The outcome of `work`, or `TX_TIMEOUT`: every other writer waits for this transaction, so it must end. */
async function within<Result>(
  runtime: Runtime,
  ms: number,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  let disarm = (): void => {}
  const overdue = new Promise<never>((_, reject) => {
    disarm = runtime.timer(ms, () => reject(timeoutError(ms)))
  })
  try {
    return await Promise.race([work(), overdue])
  } finally {
    disarm()
  }
}

/** An error of the database may have ended the transaction, and `work` may have closed the handle. */
function rollback(db: SqliteClient): void {
  try {
    if (inTransaction(db)) db.exec('ROLLBACK')
  } catch {
    // There is none any more.
  }
}

function isTimeout(error: unknown): error is SkepError {
  return error instanceof SkepError && error.code === 'TX_TIMEOUT'
}

function timeoutError(maxDurationMs: number): SkepError {
  return new SkepError(
    'TX_TIMEOUT',
    `The function of withTransaction took longer than ${maxDurationMs} ms, so its transaction was rolled back: no other ` +
      'writer of the database could go on meanwhile. Do slow work before or after the transaction, or raise maxDuration.',
    { facts: { maxDurationMs } },
  )
}

function endedError(): SkepError {
  return new SkepError(
    'TX_UNSUPPORTED',
    'This transaction has ended. Await everything inside the function of withTransaction, and use its tx and the statements ' +
      'prepared with it nowhere else.',
  )
}

async function execWhenFree(
  runtime: Runtime,
  db: SqliteClient,
  sql: string,
  timeoutMs: number,
): Promise<void> {
  const until = runtime.mono() + timeoutMs
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
