/**
 * The notices of one queue, pulled: requests for the wanted number of notices wait at the server, which
 * replies to each with notices as they come, and otherwise with heartbeats.
 *
 *   idle ── want ──▶ preparing (stream and consumer) ──▶ pulling ──▶ idle: the wanted number has arrived
 *                        ▲                                  │
 *                        └── waiting ◀── lost or silent ────┘
 *
 * A request without a reply or a heartbeat is given up, so a forgetful server does not stop the delivery.
 */
import type { Notice, NoticeSource, NoticeTap } from '../../notifier/notices.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { NatsMessageLike, NatsSubscriptionLike } from './connection.ts'
import type { Graveyard } from './dead-letters.ts'
import { type JetStream, nanoseconds } from './jetstream.ts'
import { openNotice, putBack } from './message.ts'
import type { Line } from './stream.ts'
import type { Streams } from './streams.ts'
import type { Subjects } from './subjects.ts'

/** A request ends after this time, and is repeated. */
const REQUEST_MS = 60_000
/** The heartbeat interval of a pending request. */
const HEARTBEAT_MS = 2_000
/** Without a heartbeat for this long the request is considered lost. */
const SILENCE_MS = 5_000
const MOST_WANTED = 10_000
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 5_000

export interface TapOptions {
  readonly runtime: Runtime
  readonly line: Line
  readonly jetStream: JetStream
  readonly streams: Streams
  readonly subjects: Subjects
  readonly graveyard: Graveyard
  readonly inboxPrefix: string
}

interface Request {
  readonly subscription: NatsSubscriptionLike
  /** The number of notices still expected. */
  left: number
  heardAt: number
}

export class Tap implements NoticeTap {
  readonly #options: TapOptions
  readonly #source: NoticeSource
  readonly #listener: (notice: Notice) => void
  readonly #name: string
  readonly #requests = new Set<Request>()
  #wanted = 0
  #isReady = false
  #isBusy = false
  #isPlanned = false
  #isClosed = false
  #failures = 0
  /** Changes with every connection, so that the result of an older preparation is ignored. */
  #era = 0
  #stopWait: (() => void) | null = null
  #stopWatch: (() => void) | null = null

  constructor(options: TapOptions, source: NoticeSource, listener: (notice: Notice) => void) {
    this.#options = options
    this.#source = source
    this.#listener = listener
    this.#name = `tap ${options.subjects.noticesOf(source)}`
    options.line.onUp(this.#begin)
    options.line.start()
  }

  want(count: number): void {
    this.#wanted = Math.min(MOST_WANTED, Math.max(0, Math.floor(count) || 0))
    // A tap that wants nothing misses nothing.
    if (this.#wanted === 0) this.#options.streams.trust(this.#name)
    this.#plan()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#options.line.forget(this.#begin)
    this.#options.streams.trust(this.#name)
    this.#stopWait?.()
    this.#giveUp()
  }

  /** A new connection: the requests of the previous one are lost. */
  readonly #begin = (): void => {
    this.#era += 1
    this.#isReady = false
    this.#isBusy = false
    this.#heard()
    this.#stopWait?.()
    this.#stopWait = null
    this.#giveUp()
    this.#plan()
  }

  #plan(): void {
    if (this.#isPlanned || this.#isClosed || this.#wanted === 0) return
    this.#isPlanned = true
    // Deferred, so that all wants of one turn are one request.
    this.#options.runtime.defer(() => {
      this.#isPlanned = false
      this.#step()
    })
  }

  #step(): void {
    const { connection } = this.#options.line
    if (this.#isClosed || this.#isBusy || this.#stopWait !== null || connection === null) return
    let asked = 0
    for (const { left } of this.#requests) asked += left
    // Not for each additional notice: a few requests cover many.
    if (asked > 0 && asked * 2 >= this.#wanted) return
    if (asked >= this.#wanted) return
    if (this.#isReady) this.#pull(this.#wanted - asked)
    else void this.#prepare()
  }

  async #prepare(): Promise<void> {
    const era = this.#era
    this.#isBusy = true
    try {
      await this.#options.streams.readyFor(this.#source)
      if (era !== this.#era) return
      this.#isBusy = false
      this.#isReady = true
      this.#plan()
    } catch (error) {
      if (era !== this.#era) return
      this.#isBusy = false
      this.#fail(error)
    }
  }

  #pull(count: number): void {
    const { runtime, line, jetStream, subjects, inboxPrefix } = this.#options
    const inbox = `${inboxPrefix}.${runtime.uuid()}`
    try {
      const subscription = line.connection?.subscribe(inbox, {
        callback: (error, message) => this.#onMessage(request, error, message),
      })
      if (!subscription) return
      const request: Request = { subscription, left: count, heardAt: runtime.mono() }
      this.#requests.add(request)
      const body = {
        batch: count,
        expires: nanoseconds(REQUEST_MS),
        idle_heartbeat: nanoseconds(HEARTBEAT_MS),
      }
      const subject = jetStream.pullSubject(subjects.noticeStream, subjects.consumerOf(this.#source))
      line.send(subject, JSON.stringify(body), inbox)
      this.#watch()
    } catch (error) {
      // The connection was just closed.
      this.#fail(error)
    }
  }

  #onMessage(request: Request, error: Error | null, message: NatsMessageLike): void {
    if (error) {
      this.#fail(error)
      return
    }
    request.heardAt = this.#options.runtime.mono()
    const { headers } = message
    if (headers !== undefined && headers.code > 0 && message.data.length === 0) {
      this.#onStatus(request, headers.code, headers.description)
      return
    }
    // A message for an abandoned request goes back for another worker.
    if (this.#isClosed || !this.#requests.has(request)) {
      putBack(this.#options.line, message)
      return
    }
    this.#heard()
    request.left -= 1
    if (request.left <= 0) this.#end(request)
    const notice = openNotice(message, this.#source, this.#options)
    if (notice !== null) {
      this.#wanted = Math.max(0, this.#wanted - 1)
      try {
        this.#listener(notice)
      } catch {
        // It is redelivered after the hold time.
      }
    }
    this.#plan()
  }

  #onStatus(request: Request, code: number, description: string): void {
    if (!this.#requests.has(request)) return
    if (code === 100) {
      this.#heard()
      return
    }
    this.#end(request)
    // 404 and 408: the request expired, nothing is wrong. Others: the consumer is gone, moves or refuses.
    if (code === 404 || code === 408) this.#plan()
    else this.#fail(new Error(`Pulling notices failed: ${code} ${description}`))
  }

  #heard(): void {
    this.#failures = 0
    this.#options.streams.trust(this.#name)
  }

  /** Reports a problem and starts over after a backoff. */
  #fail(error: unknown): void {
    if (this.#isClosed) return
    const { runtime, streams } = this.#options
    streams.blame(this.#name, error)
    this.#isReady = false
    this.#giveUp()
    if (this.#stopWait !== null) return
    const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures++)
    this.#stopWait = runtime.timer(
      waitMs * (0.5 + runtime.random() / 2),
      () => {
        this.#stopWait = null
        this.#plan()
      },
      { background: true },
    )
  }

  /** Checks regularly whether the server still knows the requests. */
  #watch(): void {
    if (this.#stopWatch !== null) return
    const { runtime } = this.#options
    const look = (): void => {
      this.#stopWatch = null
      if (this.#requests.size === 0) return
      const oldest = Math.min(...Array.from(this.#requests, ({ heardAt }) => heardAt))
      if (runtime.mono() - oldest > SILENCE_MS)
        this.#fail(new Error('The server sent no heartbeat for a request for notices.'))
      else this.#watch()
    }
    this.#stopWatch = runtime.timer(HEARTBEAT_MS, look, { background: true })
  }

  #end(request: Request): void {
    this.#requests.delete(request)
    request.subscription.unsubscribe()
  }

  /** Ends all requests. Messages in flight arrive and are put back. */
  #giveUp(): void {
    this.#stopWatch?.()
    this.#stopWatch = null
    for (const { subscription } of this.#requests) subscription.drain().catch(() => {})
    this.#requests.clear()
  }
}
