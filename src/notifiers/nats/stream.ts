/**
 * The connection to NATS, which reconnects without a limit.
 *
 *   idle ── first use ──▶ connecting ──▶ up ◀──▶ broken     (the client reconnects)
 *                            ▲                     │ the client gave up
 *                            └────── waiting ◀─────┘        (with a backoff)
 *
 * A connection passed by the user is only observed: once it is closed, the line stays down.
 */
import { messageOf, SkepError } from '../../core/errors.ts'
import { type Runtime, sleep } from '../../runtime/runtime.ts'
import type { NatsConnectionLike } from './connection.ts'

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 5_000
/** The timeout of a reply. */
const ANSWER_MS = 3_000

export interface LineOptions {
  readonly runtime: Runtime
  readonly open: () => Promise<NatsConnectionLike>
  /** Whether it was opened here, and is closed here. */
  readonly isOwn: boolean
}

export class Line {
  readonly #options: LineOptions
  readonly #listeners = new Set<() => void>()
  readonly #closing = new AbortController()
  #connection: NatsConnectionLike | null = null
  #isUp = false
  #isStarted = false
  /** Resolves when the current attempt to connect has ended, either way. */
  #attempt: Promise<unknown> = Promise.resolve()
  #error: unknown = new Error('Not connected yet.')

  constructor(options: LineOptions) {
    this.#options = options
  }

  /** The connection, while it is up. */
  get connection(): NatsConnectionLike | null {
    return this.#isUp ? this.#connection : null
  }

  /** Why there is no connection now; undefined if there is one. */
  get problem(): unknown {
    return this.#isUp ? undefined : this.#error
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    void this.#run()
  }

  /** Calls `listener` after every connection and reconnection, and soon if already connected. */
  onUp(listener: () => void): void {
    this.#listeners.add(listener)
    if (this.#isUp) this.#options.runtime.defer(() => this.#call(listener))
  }

  forget(listener: () => void): void {
    this.#listeners.delete(listener)
  }

  /** The connection, or null if there is none. Waits for an attempt in progress. */
  async settled(): Promise<NatsConnectionLike | null> {
    this.start()
    let awaited: Promise<unknown> | null = null
    while (!this.#isUp && awaited !== this.#attempt) {
      awaited = this.#attempt
      await awaited
    }
    return this.connection
  }

  /** Sends a request and waits for the reply. Fails at once without a connection. */
  async request(subject: string, payload: string): Promise<Uint8Array> {
    const connection = await this.settled()
    if (connection === null) throw this.#error
    return (await connection.request(subject, payload, { timeout: ANSWER_MS })).data
  }

  /** Sends, if there is a connection; otherwise the message is dropped. */
  send(subject: string, payload: string, reply?: string): void {
    try {
      this.connection?.publish(subject, payload, reply === undefined ? {} : { reply })
    } catch {
      // The connection was just closed.
    }
  }

  /** Resolves true when everything sent has reached the server, false without a reply. */
  async flush(): Promise<boolean> {
    return this.connection !== null && (await this.#answers(this.connection))
  }

  async #answers(connection: NatsConnectionLike): Promise<boolean> {
    const given = new AbortController()
    const flushed = connection.flush().then(
      () => true,
      () => false,
    )
    const late = sleep(this.#options.runtime, ANSWER_MS, given.signal).then(() => false)
    const isThere = await Promise.race([flushed, late])
    given.abort()
    return isThere
  }

  async close(): Promise<void> {
    if (this.isClosed) return
    if (this.#isUp) await this.flush()
    this.#closing.abort()
    this.#listeners.clear()
    this.#lose(new Error('Closed.'))
    if (!this.#options.isOwn) return
    // While connecting there is nothing to close yet; the connection is closed as soon as it is established.
    await this.#connection?.close().catch(() => {})
  }

  async #run(): Promise<void> {
    const { runtime, open, isOwn } = this.#options
    for (let failures = 0; !this.isClosed; failures++) {
      try {
        const opening = open()
        this.#attempt = opening.catch(() => {})
        const connection = await opening
        if (this.isClosed) {
          if (isOwn) await connection.close()
          return
        }
        failures = 0
        await this.#watch(connection)
      } catch (error) {
        this.#lose(error)
        if (error instanceof SkepError) return
      }
      if (!isOwn) return
      const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures) * (0.5 + runtime.random() / 2)
      await sleep(runtime, waitMs, this.#closing.signal)
    }
  }

  /** Observes a connection until it is closed. */
  async #watch(connection: NatsConnectionLike): Promise<void> {
    this.#connection = connection
    const statuses = connection.status()
    const end = (): void => stop(statuses)
    this.#closing.signal.addEventListener('abort', end)
    // A connection passed by the user may be broken at this point.
    if (this.#options.isOwn) this.#raise()
    else void this.#confirm(connection)
    for await (const { type } of statuses) {
      if (this.isClosed) return
      if (type === 'disconnect') this.#lose(new Error('The connection broke.'))
      else if (type === 'reconnect') this.#raise()
    }
    this.#closing.signal.removeEventListener('abort', end)
    if (this.isClosed) return
    const error = await connection.closed()
    this.#lose(new Error(`The connection was closed${error ? `: ${messageOf(error)}` : ''}.`))
  }

  /** Waits for the first sign that the connection works. */
  async #confirm(connection: NatsConnectionLike): Promise<void> {
    const isOver = (): boolean => this.isClosed || this.#isUp || connection.isClosed()
    while (!isOver()) {
      const answering = this.#answers(connection)
      this.#attempt = answering
      const isThere = await answering
      if (isOver()) return
      if (isThere) this.#raise()
      else await sleep(this.#options.runtime, FIRST_WAIT_MS, this.#closing.signal)
    }
  }

  #raise(): void {
    this.#isUp = true
    for (const listener of Array.from(this.#listeners)) this.#call(listener)
  }

  #lose(error: unknown): void {
    this.#isUp = false
    this.#error = error
  }

  #call(listener: () => void): void {
    if (this.#isUp && this.#listeners.has(listener)) listener()
  }
}

/** Ends the iterator of connection events, which would otherwise buffer them without a reader. */
function stop(statuses: object): void {
  if ('stop' in statuses && typeof statuses.stop === 'function') statuses.stop()
}
