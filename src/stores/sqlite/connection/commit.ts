import { messageOf, StoreError } from '../../../core/errors.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { closedError, HandleInUse, isFatal, storeError, troubleOf } from '../errors.ts'
import type { Handle } from './connection.ts'
import type { Turn } from './write-batch.ts'

/** A call that waits for its transaction. */
interface Task {
  readonly weight: number
  readonly since: number
  readonly work: (turn: Turn) => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

export interface CommitterOptions {
  readonly db: Handle
  readonly runtime: Runtime
  /** How long a call waits for other writers. */
  readonly busyTimeoutMs: number
  readonly beginTurn: () => Turn
  readonly endTurn: (turn: Turn, how: 'commit' | 'rollback') => void
}

/** A transaction takes in calls up to so many jobs, so that the event loop is not kept for long. */
const MOST_JOBS = 2_000

// Most transactions of others are over within a fraction of a millisecond, so a lock that is taken is tried again a few
// times at once, and then after pauses, spread so that waiting processes do not try in step.
const QUICK_TRIES = 4
const PAUSE_MS = 1

/**
 * So many calls about one job go one after the other before the event loop has its turn, and with it whoever could
 * share their transaction.
 */
const MOST_AT_ONCE = 4

/**
 * Group commit: calls that come while the last transaction is on its way share the next one, so that they pay
 * for one sync of the disk together. One about a single job does not wait for the end of the event loop's turn, unless
 * several did so before it. Each is answered after the commit. A call that throws is taken out and
 * the others are run again without it.
 *
 * SQLite waits for a lock by blocking the thread, which would stop heartbeats. So it does not wait at all, and
 * between the tries the event loop runs.
 */
export class Committer {
  readonly #options: CommitterOptions
  #waiting: Task[] = []
  #scheduled = false
  #busyTries = 0
  #atOnce = 0
  #failure: StoreError | null = null
  #closed = false

  constructor(options: CommitterOptions) {
    this.#options = options
  }

  /** Runs `work` in a transaction with others. `weight` is about how many jobs it touches. */
  submit<T>(weight: number, work: (turn: Turn) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) return reject(closedError())
      if (this.#failure) return reject(this.#failure)
      this.#waiting.push({
        weight,
        since: this.#options.runtime.mono(),
        work,
        resolve: resolve as (value: unknown) => void,
        reject,
      })
      this.#schedule(weight === 1 ? 'at once' : 'next turn')
    })
  }

  /** Tries once more to write what waits, then refuses everything. */
  close(): void {
    if (this.#closed) return
    while (this.#waiting.length > 0 && this.#runGroup());
    this.#closed = true
    for (const task of this.#waiting) task.reject(closedError())
    this.#waiting = []
  }

  #schedule(when: 'at once' | 'next turn' | 'after a pause'): void {
    if (this.#scheduled || this.#closed) return
    this.#scheduled = true
    const { runtime } = this.#options
    const run = (): void => {
      this.#scheduled = false
      if (this.#closed || this.#waiting.length === 0) return
      this.#busyTries = this.#runGroup() ? 0 : this.#busyTries + 1
      if (this.#waiting.length === 0) return
      this.#schedule(this.#busyTries > QUICK_TRIES ? 'after a pause' : 'next turn')
    }
    if (when === 'after a pause') runtime.timer(PAUSE_MS * (0.5 + runtime.random()), run)
    else if (when === 'at once' && this.#atOnce++ < MOST_AT_ONCE) void Promise.resolve().then(run)
    else {
      runtime.defer(() => {
        this.#atOnce = 0
        run()
      })
    }
  }

  /** Runs the first calls that wait. False if the database was busy and they wait on. */
  #runGroup(): boolean {
    const group: Task[] = []
    let weight = 0
    for (const task of this.#waiting) {
      if (group.length > 0 && weight + task.weight > MOST_JOBS) break
      group.push(task)
      weight += task.weight
    }
    return this.#transact(group)
  }

  #transact(group: readonly Task[]): boolean {
    const { db, endTurn, beginTurn } = this.#options
    if (!this.#begin(group.length)) return false
    this.#waiting.splice(0, group.length)

    const turn = beginTurn()
    const values: unknown[] = []
    try {
      for (const task of group) values.push(task.work(turn))
      turn.finish()
    } catch (thrown) {
      this.#rollback(turn)
      if (troubleOf(thrown) === 'full') this.#makeRoom()
      if (group.length > 1 && !isFatal(troubleOf(thrown))) this.#apart(group)
      else for (const task of group) task.reject(storeError(thrown))
      return true
    }

    try {
      db.exec('COMMIT')
    } catch (thrown) {
      return this.#commitFailed(turn, group, thrown)
    }
    endTurn(turn, 'commit')
    group.forEach((task, i) => {
      task.resolve(values[i])
    })
    return true
  }

  /** Opens a transaction, if nobody else has the lock. */
  #begin(size: number): boolean {
    const { db, busyTimeoutMs } = this.#options
    let thrown: unknown
    try {
      if (!db.isInUse) {
        db.exec('BEGIN IMMEDIATE')
        return true
      }
      thrown = new HandleInUse(busyTimeoutMs)
    } catch (error) {
      thrown = error
    }
    if (troubleOf(thrown) === 'busy') this.#waitOn(thrown)
    else for (const task of this.#waiting.splice(0, size)) task.reject(storeError(thrown))
    return false
  }

  /** Somebody else has the lock: the calls that have waited long enough for it fail. */
  #waitOn(thrown: unknown): void {
    const { runtime, busyTimeoutMs } = this.#options
    const now = runtime.mono()
    const isOverdue = (task: Task): boolean => now - task.since >= busyTimeoutMs
    const overdue = this.#waiting.filter(isOverdue)
    if (overdue.length === 0) return
    this.#waiting = this.#waiting.filter((task) => !isOverdue(task))
    for (const task of overdue) task.reject(storeError(thrown, { busyTimeoutMs }))
  }

  /** One of the calls threw. Halves are tried by themselves, until it is alone and harms nobody else. */
  #apart(group: readonly Task[]): void {
    this.#waiting.unshift(...group)
    const middle = Math.ceil(group.length / 2)
    // Whoever cannot begin now waits in line and is tried with the others later.
    if (this.#transact(group.slice(0, middle))) this.#transact(group.slice(middle))
  }

  #rollback(turn: Turn): void {
    this.#options.endTurn(turn, 'rollback')
    this.#options.db.rollback()
  }

  /** A log that was taken over into the database is written from its beginning again, and needs no new room. */
  #makeRoom(): void {
    try {
      this.#options.db.exec('PRAGMA wal_checkpoint(PASSIVE)')
    } catch {
      // There is not even room for that.
    }
  }

  #commitFailed(turn: Turn, group: readonly Task[], thrown: unknown): boolean {
    const trouble = troubleOf(thrown)
    this.#rollback(turn)
    if (trouble === 'busy') {
      // Without a write-ahead log a reader can stand in the way of a commit.
      this.#waiting.unshift(...group)
      this.#waitOn(thrown)
      return false
    }
    if (trouble === 'full') {
      this.#makeRoom()
      for (const task of group) task.reject(storeError(thrown))
      return true
    }
    // After a failed sync nobody knows what is on the disk, and a second sync would claim success for what the
    // first has lost. So nothing more is written through this connection.
    this.#failure = new StoreError(
      'STORE_UNAVAILABLE',
      'The disk failed while a transaction was committed, so this store has stopped. Check the disk and the ' +
        'database ("PRAGMA integrity_check"), then start the process again.',
      { cause: thrown },
    )
    const unknown = new StoreError(
      'STORE_UNKNOWN',
      `The commit failed (${messageOf(thrown)}): the call may have been written or not.`,
      { cause: thrown },
    )
    for (const task of group) task.reject(unknown)
    for (const task of this.#waiting.splice(0)) task.reject(this.#failure)
    return true
  }
}
