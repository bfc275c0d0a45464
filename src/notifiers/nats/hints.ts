import { messageOf } from '../../core/errors.ts'
import { type Hint, mergeHints } from '../../notifier/notifier.ts'
import { type Runtime, sleep } from '../../runtime/runtime.ts'
import { readLetter, writeLetter } from '../shared/hint-codec.ts'
import { Outgoing } from '../shared/throttle.ts'
import type { NatsConnectionLike, NatsMessageLike, NatsSubscriptionLike } from './connection.ts'
import type { Line } from './stream.ts'

/** Servers accept 1 MB by default. */
const LETTER_BYTES = 60_000
/** The limit of hints waiting for a connection; above it they are replaced by a sync. */
const MOST_UNSENT = 1_000
const FLUSH_RETRY_MS = 100
/** The retry interval after a server refused the subscription. */
const REFUSED_MS = 30_000

export interface HintsOptions {
  readonly runtime: Runtime
  readonly line: Line
  readonly subject: string
  /** Hints within this time after a message are merged into the next. */
  readonly apartMs: number
  /** Receives the hints of other processes, and a sync whenever some may have been missed. */
  readonly onHints: (hints: readonly Hint[]) => void
}

/** Hints to and from other processes, over one subject of core NATS. */
export class Hints {
  readonly #options: HintsOptions
  readonly #sender: string
  readonly #outgoing: Outgoing
  #unsent: Hint[] = []
  #connection: NatsConnectionLike | null = null
  #subscription: NatsSubscriptionLike | null = null
  #isListening = false
  #isSynced = false
  #isClosed = false
  #problem: string | undefined

  constructor(options: HintsOptions) {
    this.#options = options
    this.#sender = options.runtime.uuid()
    this.#outgoing = new Outgoing(options.runtime, options.apartMs, (hints) => this.#send(hints))
    options.line.onUp(this.#begin)
  }

  /** Why no hints are received despite a connection. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Whether hints of other processes are received now. */
  get isSynced(): boolean {
    return this.#isSynced && this.#options.line.connection !== null
  }

  send(hints: readonly Hint[]): void {
    if (hints.length > 0) this.#outgoing.add(hints)
  }

  listen(): void {
    if (this.#isListening) return
    this.#isListening = true
    this.#options.line.start()
    void this.#greet()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#options.line.forget(this.#begin)
    this.#subscription?.unsubscribe()
    await this.#outgoing.flush()
  }

  readonly #begin = (): void => {
    this.#outgoing.add(this.#unsent)
    this.#unsent = []
    if (this.#isListening) void this.#greet()
  }

  async #send(hints: readonly Hint[]): Promise<void> {
    const { line, subject } = this.#options
    if ((await line.settled()) !== null) {
      line.send(subject, writeLetter(this.#sender, hints, LETTER_BYTES))
      return
    }
    this.#unsent = mergeHints([...this.#unsent, ...hints])
    if (this.#unsent.length > MOST_UNSENT) this.#unsent = [{ kind: 'sync' }]
  }

  /** Subscribes on the current connection, and sends a sync once that works. */
  async #greet(): Promise<void> {
    const { line, runtime, onHints } = this.#options
    this.#isSynced = false
    const { connection } = line
    if (connection === null || this.#isClosed) return
    try {
      if (this.#connection !== connection) this.#subscribe(connection)
    } catch {
      return // The connection was just closed.
    }
    // Hints are missed until the server has the subscription, so the sync comes after that.
    while (line.connection === connection && !(await line.flush())) await sleep(runtime, FLUSH_RETRY_MS)
    if (line.connection !== connection || this.#isClosed || this.#connection !== connection) return
    this.#isSynced = true
    onHints([{ kind: 'sync' }])
  }

  #subscribe(connection: NatsConnectionLike): void {
    const { subject } = this.#options
    this.#problem = undefined
    this.#subscription = connection.subscribe(subject, {
      callback: (error, message) => {
        if (error) this.#refused(error)
        else this.#read(message)
      },
    })
    this.#connection = connection
  }

  #read(message: NatsMessageLike): void {
    if (this.#isClosed) return
    const letter = readLetter(Buffer.from(message.data).toString(), LETTER_BYTES)
    // Our own hints were delivered when they were published.
    if (letter !== null && letter.sender !== this.#sender) this.#options.onHints(letter.hints)
  }

  #refused(error: Error): void {
    this.#problem = messageOf(error)
    this.#connection = null
    this.#isSynced = false
    this.#options.runtime.timer(REFUSED_MS, () => void this.#greet(), { background: true })
  }
}
