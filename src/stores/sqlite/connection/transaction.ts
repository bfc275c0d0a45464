import { SkepError } from '../../../core/errors.ts'
import type { AddMembersCall, AddMembersReply } from '../../../store/flows.ts'
import type {
  InsertCall,
  InsertReply,
  SettleCall,
  SettleReply,
  StoreInTransaction,
} from '../../../store/store.ts'
import { storeError } from '../errors.ts'
import { addMembers } from '../flows/groups.ts'
import { insert } from '../jobs/insert.ts'
import { HeldJobs } from '../jobs/leases.ts'
import { settle } from '../jobs/settle.ts'
import { QueueIds } from '../lanes/queue-ids.ts'
import { Rules } from '../lanes/rules.ts'
import { inTransaction, isClient, type SqliteClient } from './client.ts'
import { Handle } from './connection.ts'
import type { Database } from './database.ts'
import { fileOf } from './open.ts'
import { assertOpen, unguarded } from './transaction-guard.ts'
import { Turn } from './write-batch.ts'

const handles = new WeakMap<SqliteClient, Map<string, Handle>>()

/** The store's operations inside a transaction that its user began, on any connection to the same file. */
export function transaction(database: Database, tx: unknown): StoreInTransaction {
  const given = clientOf(tx)
  const client = given && unguarded(given)
  if (!given || !client) {
    throw new SkepError(
      'TX_UNSUPPORTED',
      'This is no SQLite transaction. Pass the open database handle (node:sqlite, @photostructure/sqlite, ' +
        "better-sqlite3) on which you ran BEGIN, or Drizzle's tx over one.",
    )
  }

  // Each call looks again: the handle outlives its transactions.
  const run = <T>(call: { readonly now?: number }, work: (turn: Turn, now: number) => T): T => {
    // Another transaction may be open on the same handle by now.
    assertOpen(given)
    assertSame(database, client)
    if (!inTransaction(client)) {
      throw new SkepError(
        'TX_UNSUPPORTED',
        'No transaction is open on this SQLite handle. Run BEGIN first, and COMMIT after the last call.',
      )
    }
    const db = handleOf(client, database.options.tablePrefix)
    // Nothing is remembered beyond the call: the transaction may yet be rolled back.
    const { now } = database.options.runtime
    const turn = new Turn(db, now(), new QueueIds(), new HeldJobs(), new Rules())
    db.exec('SAVEPOINT skep_call')
    try {
      const reply = work(turn, call.now ?? turn.now)
      turn.finish()
      db.exec('RELEASE skep_call')
      return reply
    } catch (thrown) {
      if (inTransaction(client)) db.exec('ROLLBACK TO skep_call; RELEASE skep_call')
      throw storeError(thrown)
    }
  }

  return {
    // Once the store is open nothing is awaited before the statements, because the transactions of some clients end
    // when the function that got them returns.
    async insert(call: InsertCall): Promise<InsertReply> {
      if (!database.isReady) await database.open()
      return run(call, (turn, now) => insert(turn, call, now))
    },
    async settle(call: SettleCall): Promise<SettleReply> {
      if (!database.isReady) await database.open()
      return run(call, (turn, now) => settle(turn, call, now))
    },
    async addMembers(call: AddMembersCall): Promise<AddMembersReply> {
      if (!database.isReady) await database.open()
      return run(call, (turn, now) => addMembers(turn, call, now))
    },
  }
}

/** The handle itself, or the one inside a Drizzle transaction. */
function clientOf(tx: unknown): SqliteClient | undefined {
  if (isClient(tx)) return tx
  const inside = (tx as { session?: { client?: unknown } } | null | undefined)?.session?.client
  return isClient(inside) ? inside : undefined
}

function assertSame(database: Database, client: SqliteClient): void {
  if (client === database.options.client) return
  const file = fileOf(client)
  if (file !== null && file === database.file()) return
  throw new SkepError(
    'TX_UNSUPPORTED',
    'This transaction is on another database than the store. Open the same file, or give the store the same handle.',
    { facts: { file } },
  )
}

function handleOf(client: SqliteClient, prefix: string): Handle {
  const known = handles.get(client) ?? new Map<string, Handle>()
  handles.set(client, known)
  const handle = known.get(prefix) ?? new Handle(client, prefix, true)
  known.set(prefix, handle)
  return handle
}
