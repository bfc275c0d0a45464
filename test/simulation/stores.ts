import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { DatabaseSync } from '@photostructure/sqlite'
import { isFinal, type Job } from '../../src/core/jobs/job.ts'
import { memoryStore } from '../../src/memory.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import {
  FUNCTION_CLOCK,
  installSqliteAudit,
  readSqliteAudit,
  readSqliteFinal,
} from '../proof/audit/sqlite.ts'
import type { AuditEntry, AuditRow } from '../proof/history.ts'
import { idIn } from '../proof/recorder.ts'
import { slotIn } from '../proof/slot.ts'
import { FlowWitness } from './flow-witness.ts'
import type { Process, World } from './world.ts'

/** A kind of store, as the simulator uses it. A new store is added by writing one of these. */
export interface StoreModel {
  /** Whether the store runs inside each process. */
  readonly isEmbedded: boolean
  /** The store as a process sees it; a process that dies calls `abandon` and nothing else. */
  open(process: Process): {
    readonly store: Store
    abandon(): void
    /** Something for `tx`, if the store takes part in transactions of the user. */
    readonly transaction?: () => UserTransaction
  }
  /** Jobs that have not ended, without a process or time being involved. */
  unfinished(): number
  audit(): AuditEntry[]
  final(): Map<string, AuditRow>
  /** What became of groups and runs. */
  readonly witness: FlowWitness
  dispose(): void
}

export interface UserTransaction {
  readonly tx: unknown
  commit(): void
  rollBack(): void
}

export const STORE_NAMES = ['memory', 'sqlite'] as const
export type StoreName = (typeof STORE_NAMES)[number]

export function openModel(name: StoreName, world: World): StoreModel {
  return name === 'memory' ? memoryModel(world) : sqliteModel(world)
}

function memoryModel(world: World): StoreModel {
  const audit: AuditEntry[] = []
  const final = new Map<string, AuditRow>()
  let unfinished = 0
  const witness = new FlowWitness(world)
  const inner = memoryStore({
    runtime: { now: () => world.storeNow() },
    onChange: (before, after) => {
      const { id: own, space } = (after ?? before) as Job
      const id = idIn(space, own)
      if (before && !isFinal(before.state)) unfinished--
      if (after && !isFinal(after.state)) unfinished++
      const row = after && rowOf(after)
      audit.push({
        seq: audit.length,
        n: world.next(),
        at: world.storeNow(),
        id,
        before: final.get(id) ?? null,
        after: row,
      })
      if (row) final.set(id, row)
      else final.delete(id)
    },
  })
  const store = witness.watch(inner)
  return {
    witness,
    isEmbedded: false,
    open: () => ({ store, abandon: () => {} }),
    unfinished: () => unfinished,
    audit: () => audit,
    final: () => final,
    dispose: () => {},
  }
}

function rowOf(job: Job): AuditRow {
  const { space, queue, payload, state, generation, dueAt, worker, leaseUntil, cancelReason } = job
  const { starts, errors, timeouts, lost, snoozes, finishedAt, expiresAt, result } = job
  const isRunning = state === 'running'
  return {
    space,
    queue,
    payload,
    state,
    generation,
    dueAt,
    token: isRunning ? job.token : null,
    worker: isRunning ? worker : null,
    leaseUntil,
    cancelReason,
    counters: { starts, errors, timeouts, lost, snoozes },
    unique: job.uniqueKey === null ? null : { key: job.uniqueKey, scope: job.uniqueScope as 'active' },
    finishedAt,
    expiresAt,
    result,
    ...slotIn(job.headers),
    lane: job.lane,
    cost: job.cost,
  }
}

// Real SQLite in real files, each process with a connection of its own; in memory if the machine allows, for speed.
const FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
let workshop: { readonly folder: string; readonly template: string } | null = null

async function prepareSqlite(): Promise<void> {
  if (workshop) return
  const folder = mkdtempSync(join(FOLDER, 'skep-simulation-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const template = join(folder, 'template.db')
  const store = sqliteStore({ file: template })
  await store.migrate()
  await store.close()
  const db = new DatabaseSync(template)
  installSqliteAudit(db, FUNCTION_CLOCK)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  workshop = { folder, template }
}

/** To be called once before the first trial. */
export async function prepareStore(name: StoreName): Promise<void> {
  if (name === 'sqlite') await prepareSqlite()
}

/** What the system does for a process that ends. A closed connection keeps its locks until its statements are collected. */
function abandon(db: InstanceType<typeof DatabaseSync>): void {
  if (!db.isOpen) return
  try {
    db.exec('rollback')
  } catch {
    // No transaction was open.
  }
  db.close()
}

let databases = 0

// A closed connection lives on until its statements are collected, and what it takes is not the engine's own memory.
const COLLECT_EVERY = 10
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** What a connection's functions hold on to is never collected, so they hold the world by a thread that can be cut. */
function addClock(db: InstanceType<typeof DatabaseSync>, thread: { readonly world: World | null }): void {
  db.function('audit_now', { directOnly: false }, () => (thread.world as World).storeNow())
  db.function('audit_n', { directOnly: false }, () => (thread.world as World).next())
}

function sqliteModel(world: World): StoreModel {
  if (!workshop) throw new Error('Call prepareStore first.')
  const file = join(workshop.folder, `${databases++}.db`)
  copyFileSync(workshop.template, file)
  const thread: { world: World | null } = { world }
  const connect = (): InstanceType<typeof DatabaseSync> => {
    const db = new DatabaseSync(file)
    addClock(db, thread)
    db.exec(
      'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 0; PRAGMA cache_size = -512',
    )
    return db
  }
  const observer = connect()
  const countUnfinished = observer.prepare('select count(*) as jobs from skep_jobs')
  const witness = new FlowWitness(world)
  return {
    witness,
    isEmbedded: true,
    open(process) {
      const db = connect()
      const runtime = { ...process.runtime, now: () => world.storeNow() }
      return {
        store: witness.watch(sqliteStore({ client: db, runtime })),
        abandon: () => abandon(db),
        transaction() {
          db.exec('begin immediate')
          return {
            tx: db,
            commit: () => db.exec('commit'),
            rollBack: () => db.exec('rollback'),
          }
        },
      }
    },
    unfinished: () => (countUnfinished.get() as { jobs: number }).jobs,
    audit: () => readSqliteAudit(observer),
    final: () => readSqliteFinal(observer),
    dispose() {
      observer.close()
      thread.world = null
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
      if (databases % COLLECT_EVERY === 0) collect()
    },
  }
}
