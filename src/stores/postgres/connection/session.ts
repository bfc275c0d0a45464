/**
 * The store's own connection, beside the pool. Two things live exactly as long as it does: what it LISTENs to,
 * and the advisory locks that tell others which workers are alive.
 *
 *   idle ── first use ──▶ connecting ──▶ up
 *                            ▲            │ ended, or did not answer a ping
 *                            └── down ◀───┘   (waits a little longer after each failure, for ever)
 *
 * Both are impossible behind a pooler in transaction mode, which runs each statement on any of its connections: what was
 * listened to is lost, and a lock belongs to some other client. It is found out by the process id of the server's side. Then
 * the session stays down for good: work is found by polling and workers are judged by their heartbeats, as with listen: false.
 */
import { messageOf } from '../../../core/errors.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { lockKey } from '../workers.ts'
import { type Connection, type Driver, type Row, withDeadline } from './driver.ts'

const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 5_000
const PING_EVERY_MS = 5_000
const POOL_ANSWER_MS = 100
const POOLER_LOOKS = 10

const BACKEND = 'select pg_backend_pid()::text'
const POOLED =
  'a pooler in transaction mode (PgBouncer) shares this connection with others, so LISTEN and session locks do not work. ' +
  'Pass listen: false to postgresStore, or use the address of the server itself.'

export interface SessionListener {
  onPayload(payload: string): void
  /** Listening works from now on; what was sent before is lost. */
  onUp(): void
}

export interface SessionOptions {
  readonly driver: () => Promise<Driver>
  readonly runtime: Runtime
  readonly schema: string
  readonly channel: string
  /** The longest to wait for any answer. */
  readonly timeoutMs: number
}

export class Session {
  readonly #options: SessionOptions
  readonly #listeners = new Set<SessionListener>()
  /** Workers whose locks are to be held. */
  readonly #workers = new Set<string>()
  /** Those whose locks the present connection holds. */
  readonly #held = new Set<string>()
  #connection: Connection | undefined
  /** Resolves when the present attempt to connect is over, either way. */
  #connecting: Promise<void> | undefined
  #stopTimer = (): void => {}
  #failures = 0
  #problem = 'not connected yet'
  #isClosed = false
  /** A pooler gives the connection to others between two statements. */
  #isPooled = false
  /** The process of the server that the present connection belongs to. */
  #backend = ''

  constructor(options: SessionOptions) {
    this.#options = options
  }

  get problem(): string | undefined {
    return this.#connection ? undefined : this.#problem
  }

  get hasGivenUp(): boolean {
    return this.#isPooled
  }

  listen(listener: SessionListener): () => void {
    this.#listeners.add(listener)
    if (this.#connection) listener.onUp()
    else this.#start()
    return () => this.#listeners.delete(listener)
  }

  /** Holds the worker's lock from now on, through every reconnection. Tells whether it is held at this moment. */
  async hold(workerId: string): Promise<boolean> {
    const { runtime, timeoutMs } = this.#options
    const isNew = !this.#workers.has(workerId)
    this.#workers.add(workerId)
    this.#start()
    // Whoever connects takes the locks of all workers that are known then. Only the first call waits for that: a
    // heartbeat must not be late because of a connection that does not come.
    if (this.#connecting && isNew) {
      await withDeadline(runtime, timeoutMs, this.#connecting).catch(() => {})
    }
    if (this.#connection && !this.#held.has(workerId)) await this.#lock(this.#connection, [workerId])
    return this.#connection !== undefined && this.#held.has(workerId)
  }

  async release(workerId: string): Promise<void> {
    this.#held.delete(workerId)
    if (!this.#workers.delete(workerId) || !this.#connection) return
    await this.#ask(
      this.#connection,
      `select pg_advisory_unlock_shared(${lockKey(this.#options.schema, '$1::text')})`,
      [workerId],
    )
  }

  close(): void {
    this.#isClosed = true
    this.#stopTimer()
    this.#listeners.clear()
    this.#connection?.destroy()
    this.#connection = undefined
  }

  #start(): void {
    if (this.#isClosed || this.#isPooled || this.#connection || this.#connecting) return
    this.#stopTimer()
    this.#connecting = this.#connect().finally(() => {
      this.#connecting = undefined
    })
  }

  async #connect(): Promise<void> {
    const { driver, runtime, timeoutMs, channel } = this.#options
    let opened: Connection | undefined
    try {
      const connecting = (await driver()).connect({
        onNotification: (to, payload) => {
          if (to === channel) for (const listener of this.#listeners) listener.onPayload(payload)
        },
        onEnd: () => {
          if (opened && this.#connection === opened) this.#lose(new Error('The connection ended.'))
        },
      })
      opened = await withDeadline(runtime, timeoutMs, connecting, (late) => late.destroy())
      if (this.#isClosed) return opened.destroy()
      this.#backend = await this.#backendOf(opened)
      // A pooler gives numbers of its own at the login. It may pool sessions, with which all is well.
      if (this.#backend !== opened.loginPid && (await this.#isShared(opened))) throw this.#pooled()
      await this.#ask(opened, `listen "${channel}"`, [])
      this.#held.clear()
      await this.#lock(opened, [...this.#workers])
      if (this.#isClosed) return opened.destroy()
      this.#connection = opened
      this.#failures = 0
      this.#pingLater()
      for (const listener of this.#listeners) listener.onUp()
    } catch (error) {
      opened?.destroy()
      this.#lose(error)
    }
  }

  #lose(error: unknown): void {
    if (this.#isClosed) return
    const { runtime } = this.#options
    this.#connection = undefined
    this.#problem = messageOf(error)
    const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures++)
    this.#stopTimer()
    if (this.#isPooled) return
    this.#stopTimer = runtime.timer(longest * (0.5 + runtime.random() / 2), () => this.#start(), {
      background: true,
    })
  }

  /** A connection whose other end vanished looks fine until it is used. */
  #pingLater(): void {
    this.#stopTimer()
    this.#stopTimer = this.#options.runtime.timer(
      PING_EVERY_MS,
      () => {
        const connection = this.#connection
        if (!connection) return
        this.#backendOf(connection).then(
          (backend) => {
            if (backend !== this.#backend) this.#throwAway(connection, this.#pooled())
            else if (this.#connection === connection) this.#pingLater()
          },
          (error: unknown) => this.#throwAway(connection, error),
        )
      },
      { background: true },
    )
  }

  async #backendOf(connection: Connection): Promise<string> {
    return String((await this.#ask(connection, BACKEND, []))[0]?.[0])
  }

  /**
   * Whether the pooler moves the connection between processes of the server, or gives its process to others. A pooler in
   * transaction mode with nothing to do uses the same one again, and a busy one seldom does: a few looks see one or the other.
   */
  async #isShared(connection: Connection): Promise<boolean> {
    for (let looks = 0; looks < POOLER_LOOKS; looks++) {
      // Two connections that are open at the same time have different processes.
      if ((await this.#backendOfPool()) === this.#backend) return true
      if ((await this.#backendOf(connection)) !== this.#backend) return true
    }
    return false
  }

  /** Of whichever connection of the pool is free; null if none is soon. */
  async #backendOfPool(): Promise<string | null> {
    const { driver, timeoutMs } = this.#options
    try {
      const rows = await (await driver()).query(BACKEND, [], Math.min(POOL_ANSWER_MS, timeoutMs))
      return String(rows[0]?.[0])
    } catch {
      return null
    }
  }

  #pooled(): Error {
    this.#isPooled = true
    return new Error(POOLED)
  }

  /** Shared locks, because after a reconnection the server may not yet know that the old connection is gone. */
  async #lock(connection: Connection, workerIds: readonly string[]): Promise<void> {
    for (const workerId of workerIds) {
      await this.#ask(
        connection,
        `select pg_advisory_lock_shared(${lockKey(this.#options.schema, '$1::text')})`,
        [workerId],
      )
      this.#held.add(workerId)
    }
  }

  async #ask(connection: Connection, text: string, params: readonly string[]): Promise<readonly Row[]> {
    const { runtime, timeoutMs } = this.#options
    try {
      return await withDeadline(runtime, timeoutMs, connection.query(text, params))
    } catch (error) {
      this.#throwAway(connection, error)
      throw error
    }
  }

  #throwAway(connection: Connection, error: unknown): void {
    // First the reason: that the connection ended says less.
    if (this.#connection === connection) this.#lose(error)
    connection.destroy()
  }
}
