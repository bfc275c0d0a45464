/**
 * Messages on their way to one client. The reader takes one at a time and only when the last one was written, so what gathers
 * here is what the client has not taken: whoever puts something in is told when that is too much.
 */
export class Outbox<Message> implements AsyncIterable<Message> {
  readonly #waiting: { readonly message: Message; readonly bytes: number }[] = []
  readonly #mostBytes: number
  readonly #onRoom: () => void
  #bytes = 0
  #ended = false
  #wake: (() => void) | null = null
  readonly #waiters: (() => void)[] = []

  /** `onRoom` is called when something was taken after `push` had said no. */
  constructor(mostBytes: number, onRoom: () => void = () => {}) {
    this.#mostBytes = mostBytes
    this.#onRoom = onRoom
  }

  /** Takes a message in any case. False: that was enough for now. */
  push(message: Message, bytes: number): boolean {
    if (this.#ended) return false
    this.#waiting.push({ message, bytes })
    this.#bytes += bytes
    this.#wake?.()
    return this.#bytes < this.#mostBytes
  }

  /** Resolves when there is room, at once if there is, or when it has ended. */
  async room(): Promise<void> {
    while (this.#bytes >= this.#mostBytes && !this.#ended) {
      await new Promise<void>((resolve) => this.#waiters.push(resolve))
    }
  }

  /** Throws away what nobody takes. */
  drop(): void {
    this.#waiting.length = 0
  }

  /** What is in it is still taken; nothing comes after that. */
  end(): void {
    this.#ended = true
    this.#wake?.()
    this.#wakeWaiters()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Message, void, void> {
    for (;;) {
      const next = this.#waiting.shift()
      if (next !== undefined) {
        const wasFull = this.#bytes >= this.#mostBytes
        yield next.message
        // Only now has it been written.
        this.#bytes -= next.bytes
        if (wasFull && this.#bytes < this.#mostBytes) {
          this.#onRoom()
          this.#wakeWaiters()
        }
        continue
      }
      if (this.#ended) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = null
    }
  }

  #wakeWaiters(): void {
    for (const wake of this.#waiters.splice(0)) wake()
  }
}
