import { existsSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { sleep } from '../../../runtime/runtime.ts'
import { closedError, HandleInUse, storeError, troubleOf } from '../errors.ts'
import { HeldJobs } from '../jobs/leases.ts'
import { QueueIds } from '../lanes/queue-ids.ts'
import { Rules } from '../lanes/rules.ts'
import type { ResolvedOptions } from '../options.ts'
import { isMigrated, migrate } from '../schema.ts'
import { Committer } from './commit.ts'
import type { Handle } from './connection.ts'
import { connect, fileOf, type Opened } from './open.ts'
import { Turn } from './write-batch.ts'

// How long to wait before a lock is tried again that another connection holds.
const RETRY_MS = 5

interface Ready extends Opened {
  readonly committer: Committer
}

/** The connection of a store: opened when first needed, with all writes going through the committer. */
export class Database {
  readonly options: ResolvedOptions
  /** The database's file; null when it is in memory. */
  readonly path: string | null
  readonly #queues = new QueueIds()
  readonly #held = new HeldJobs()
  readonly #rules = new Rules()
  #connecting: Promise<Opened> | null = null
  #opening: Promise<Ready> | null = null
  #ready: Ready | null = null
  /** The file that was opened, whatever becomes of its path. */
  #inode: string | null = null
  #closed = false
  #closing: Promise<void> | null = null

  constructor(options: ResolvedOptions) {
    this.options = options
    const { client, file } = options
    if (client !== null) this.path = fileOf(client)
    else this.path = file === ':memory:' ? null : realPath(file)
  }

  get isReady(): boolean {
    return this.#ready !== null
  }

  /** Opens and migrates, once. A failure is not kept: the next call tries anew. */
  open(): Promise<Ready> {
    if (this.#closed) return Promise.reject(closedError())
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = null
      throw error
    })
    return this.#opening
  }

  /** Brings the tables up to date. Returns what it had to do. */
  async migrate(): Promise<string[]> {
    const { db } = await this.#connect()
    // Most processes find nothing to do, and need not wait for a writer to find that out.
    if (isMigrated(db)) return []
    return this.#patiently(db, () => {
      db.exec('BEGIN IMMEDIATE')
      try {
        const applied = migrate(db, this.options.runtime.now())
        db.exec('COMMIT')
        return applied
      } catch (error) {
        db.rollback()
        throw error
      }
    })
  }

  /** Whether the path now leads to another file than the one that is open, or to none. */
  isReplaced(): boolean {
    if (this.path === null || this.#inode === null) return false
    return inodeOf(this.path) !== this.#inode
  }

  /** The file with all links resolved, once it is open; null in memory. */
  file(): string | null {
    return this.#ready ? fileOf(this.#ready.db.client) : null
  }

  /** Runs `work` in a transaction, together with others. `weight` is about how many jobs it touches. */
  write<T>(weight: number, work: (turn: Turn) => T): Promise<T> {
    return this.insert(weight, (turn) => {
      turn.intake.write(turn)
      return work(turn)
    })
  }

  /** The same for work that does nothing but insert: it may leave its jobs in the intake, with those of others. */
  insert<T>(weight: number, work: (turn: Turn) => T): Promise<T> {
    // Promises inside promises would cost more than the row that is written.
    if (this.#ready) return this.#ready.committer.submit(weight, work)
    return this.open().then(({ committer }) => committer.submit(weight, work))
  }

  /** Runs `work` on one state of the database. It must not write. */
  async read<T>(work: (turn: Turn) => T): Promise<T> {
    const { db } = this.#ready ?? (await this.open())
    return this.#patiently(db, () => {
      db.exec('BEGIN')
      try {
        return work(this.#turn(db))
      } finally {
        db.exec('COMMIT')
      }
    })
  }

  /** Writes what was called before, then ends what the store opened itself. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#ready?.committer.close()
    this.#closed = true
    this.#ready = null
    const opened = await this.#connecting?.catch(() => null)
    if (this.options.client === null) opened?.db.close()
  }

  async #open(): Promise<Ready> {
    await this.migrate()
    const opened = await this.#connect()
    const { runtime, busyTimeoutMs } = this.options
    const committer = new Committer({
      db: opened.db,
      runtime,
      busyTimeoutMs,
      beginTurn: () => this.#turn(opened.db),
      endTurn: (_turn, how) => this.#endTurn(how),
    })
    // It may have been closed while it was being opened.
    if (this.#closed) throw closedError()
    this.#inode = this.path === null ? null : inodeOf(this.path)
    this.#ready = { ...opened, committer }
    return this.#ready
  }

  #connect(): Promise<Opened> {
    this.#connecting ??= connect(this.options, (db, work) => this.#patiently(db, work)).catch(
      (error: unknown) => {
        this.#connecting = null
        throw error
      },
    )
    return this.#connecting
  }

  #turn(db: Handle): Turn {
    return new Turn(db, this.options.runtime.now(), this.#queues, this.#held, this.#rules)
  }

  #endTurn(how: 'commit' | 'rollback'): void {
    if (how === 'commit') this.#held.commit()
    else {
      this.#held.rollback()
      this.#queues.forget()
      this.#rules.forget()
    }
  }

  /** Does `work`, again and again while somebody else has the lock, for as long as a call may wait. */
  async #patiently<T>(db: Handle, work: () => T): Promise<T> {
    const { runtime, busyTimeoutMs } = this.options
    const until = runtime.mono() + busyTimeoutMs
    for (;;) {
      try {
        if (this.#closed) throw closedError()
        if (db.isInUse) throw new HandleInUse(busyTimeoutMs)
        return work()
      } catch (thrown) {
        if (troubleOf(thrown) !== 'busy' || runtime.mono() >= until)
          throw storeError(thrown, { busyTimeoutMs })
      }
      await sleep(runtime, RETRY_MS)
    }
  }
}

/** The file with links resolved as far as it exists, so that all processes mean the same folder beside it. */
function realPath(file: string): string {
  const path = resolve(file)
  if (existsSync(path)) return realpathSync(path)
  return existsSync(dirname(path)) ? join(realpathSync(dirname(path)), basename(path)) : path
}

/** Device and inode of the file at a path; null if there is none. */
function inodeOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found ? `${found.dev}:${found.ino}` : null
}
