/**
 * The connection that hears what is published. Two things could leave it deaf without its noticing: its other end is
 * gone, or the server no longer knows of the subscription. So it says something to itself now and then, and listens.
 *
 *   idle ── first use ──▶ connecting ──▶ up
 *                            ▲            │ ended, or did not hear itself
 *                            └── down ◀───┘   (waits a little longer after each failure, for ever)
 */
import { messageOf } from '../../../core/errors.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { type Ear, NotSent, type RedisClient, withDeadline } from './client.ts'

const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 5_000
const ECHO_EVERY_MS = 5_000

export interface SessionListener {
  onPayload(payload: string): void
  /** Listening works from now on; what was sent before is lost. */
  onUp(): void
}

export interface SessionOptions {
  readonly client: () => Promise<RedisClient>
  readonly runtime: Runtime
  readonly channel: string
  /** The longest to wait for any answer. */
  readonly timeoutMs: number
}

export class Session {
  readonly #options: SessionOptions
  readonly #listeners = new Set<SessionListener>()
  /** A channel that nobody else knows, on the same connection: others are not bothered by what it says to itself. */
  readonly #echo: string
  #ear: Ear | undefined
  /** The one that is to become the ear. */
  #next: Ear | undefined
  #isConnecting = false
  #onEcho = (): void => {}
  #stopTimer = (): void => {}
  #failures = 0
  #problem = 'not connected yet'
  #isClosed = false

  constructor(options: SessionOptions) {
    this.#options = options
    this.#echo = `${options.channel}:${options.runtime.uuid()}`
  }

  get problem(): string | undefined {
    return this.#ear ? undefined : this.#problem
  }

  listen(listener: SessionListener): () => void {
    this.#listeners.add(listener)
    if (this.#ear) listener.onUp()
    else this.#start()
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    this.#isClosed = true
    this.#stopTimer()
    this.#listeners.clear()
    this.#ear?.close()
    this.#next?.close()
    this.#ear = undefined
  }

  #start(): void {
    if (this.#isClosed || this.#ear || this.#isConnecting) return
    this.#stopTimer()
    this.#isConnecting = true
    void this.#connect().finally(() => {
      this.#isConnecting = false
      this.#next = undefined
    })
  }

  async #connect(): Promise<void> {
    const { client, channel, runtime, timeoutMs } = this.#options
    let ear: Ear | undefined
    let ended: Error | undefined
    try {
      const connected = await withDeadline(runtime, timeoutMs, client())
      if (this.#isClosed) return
      ear = connected.listen({
        channels: [channel, this.#echo],
        chance: runtime.random(),
        onMessage: (to, message) => {
          if (to === this.#echo) this.#onEcho()
          else for (const listener of this.#listeners) listener.onPayload(message)
        },
        onEnd: (error) => {
          ended = error
          if (ear && this.#ear === ear) this.#throwAway(ear, error)
        },
      })
      this.#next = ear
      await withDeadline(runtime, timeoutMs, ear.ready)
      if (ended) throw ended
      if (this.#isClosed) return ear.close()
      this.#ear = ear
      this.#failures = 0
      this.#checkLater(connected, ear)
      for (const listener of this.#listeners) listener.onUp()
    } catch (error) {
      ear?.close()
      this.#lose(error)
    }
  }

  #checkLater(client: RedisClient, ear: Ear): void {
    const { runtime, timeoutMs } = this.#options
    this.#stopTimer()
    this.#stopTimer = runtime.timer(
      ECHO_EVERY_MS,
      () => {
        const heard = new Promise<void>((resolve) => {
          this.#onEcho = resolve
        })
        const said = client.send('PUBLISH', [this.#echo, ''])
        withDeadline(runtime, timeoutMs, Promise.all([said, heard])).then(
          () => this.#ear === ear && this.#checkLater(client, ear),
          (error: unknown) => this.#throwAway(ear, error),
        )
      },
      { background: true },
    )
  }

  #throwAway(ear: Ear, error: unknown): void {
    ear.close()
    if (this.#ear === ear) this.#lose(error)
  }

  #lose(error: unknown): void {
    this.#ear = undefined
    if (this.#isClosed) return
    const { runtime } = this.#options
    this.#problem = messageOf(error instanceof NotSent ? error.cause : error)
    const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures++)
    this.#stopTimer()
    this.#stopTimer = runtime.timer(longest * (0.5 + runtime.random() / 2), () => this.#start(), {
      background: true,
    })
  }
}
