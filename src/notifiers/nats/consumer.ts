/**
 * The notices of one queue, pulled: requests for as many as the worker wants stand at the server, which answers each with
 * notices as they come, and with a sign of life while none do.
 *
 *   idle ── want ──▶ preparing (stream and consumer are there) ──▶ pulling ──▶ idle: as many came as were wanted
 *                        ▲                                            │
 *                        └── waiting ◀── refused, gone, or silent ────┘
 *
 * A request that is neither answered nor heard of is given up, so a server that forgot it leaves nobody deaf.
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

/** A request ends after this time, and is made anew. */
const REQUEST_MS = 60_000
/** So often the server says that a request still stands. */
const SIGN_EVERY_MS = 2_000
/** After so long without a sign it does not. */
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

/** A pull request that stands at the server. */
interface Request {
  readonly subscription: NatsSubscriptionLike
  /** How many it may still be answered with. */
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
  /** Changes with every connection, so that what was begun before one is not taken for its news. */
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
    // Whoever wants nothing misses nothing.
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

  /** A new connection: what stood at the server before it is gone. */
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
    // Deferred, so that what is wanted in one turn is one request.
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
    // Not for each one that is wanted more: a few requests stand for many.
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
        idle_heartbeat: nanoseconds(SIGN_EVERY_MS),
      }
      const subject = jetStream.pullSubject(subjects.noticeStream, subjects.consumerOf(this.#source))
      line.send(subject, JSON.stringify(body), inbox)
      this.#watch()
    } catch (error) {
      // The connection was closed just now.
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
    // What comes for a request that was given up is for somebody else.
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
        // It comes again when it was held for too long.
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
    // 404 and 408: its time is over, and nothing is wrong. All else: the consumer is gone, moves or refuses.
    if (code === 404 || code === 408) this.#plan()
    else this.#fail(new Error(`Pulling notices failed: ${code} ${description}`))
  }

  #heard(): void {
    this.#failures = 0
    this.#options.streams.trust(this.#name)
  }

  /** Something is wrong. After a while, begins again from the start. */
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

  /** Looks now and then whether the server still knows the requests. */
  #watch(): void {
    if (this.#stopWatch !== null) return
    const { runtime } = this.#options
    const look = (): void => {
      this.#stopWatch = null
      if (this.#requests.size === 0) return
      const oldest = Math.min(...Array.from(this.#requests, ({ heardAt }) => heardAt))
      if (runtime.mono() - oldest > SILENCE_MS)
        this.#fail(new Error('The server is silent about a request for notices.'))
      else this.#watch()
    }
    this.#stopWatch = runtime.timer(SIGN_EVERY_MS, look, { background: true })
  }

  #end(request: Request): void {
    this.#requests.delete(request)
    request.subscription.unsubscribe()
  }

  /** Ends all requests. What is on its way comes and is put back. */
  #giveUp(): void {
    this.#stopWatch?.()
    this.#stopWatch = null
    for (const { subscription } of this.#requests) subscription.drain().catch(() => {})
    this.#requests.clear()
  }
}
