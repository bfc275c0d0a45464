import type { Runtime } from './runtime.ts'

interface Wait {
  readonly endsAt: number
  readonly giveUp: () => void
}

/**
 * Deadlines for many short waits, at hardly any cost: waits of the same length form a queue, oldest first,
 * and a single timer watches the heads of the queues. Most waits end long before it fires. It does not keep
 * the process alive, and there is none while nothing waits.
 */
export class Deadlines {
  readonly #runtime: Runtime
  readonly #lines = new Map<number, Set<Wait>>()
  #waiting = 0
  #isClosed = false
  #ringsAt = Infinity
  #stop: (() => void) | null = null

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** Calls `giveUp` after `ms`, unless the returned function is called first. */
  begin(ms: number, giveUp: () => void): () => void {
    if (this.#isClosed) return () => {}
    const wait = { endsAt: this.#runtime.mono() + ms, giveUp }
    const line = this.#lines.get(ms) ?? new Set()
    this.#lines.set(ms, line)
    line.add(wait)
    this.#waiting++
    if (wait.endsAt < this.#ringsAt) this.#ringAt(wait.endsAt)
    return () => this.#end(line, wait)
  }

  /** Gives up all waits now. Later ones have no deadline. */
  giveUpAll(): void {
    this.#isClosed = true
    for (const line of this.#lines.values()) {
      for (const wait of line) {
        this.#end(line, wait)
        wait.giveUp()
      }
    }
  }

  #end(line: Set<Wait>, wait: Wait): void {
    if (line.delete(wait) && --this.#waiting === 0) this.#quiet()
  }

  #quiet(): void {
    this.#stop?.()
    this.#stop = null
    this.#ringsAt = Infinity
  }

  #ringAt(moment: number): void {
    this.#stop?.()
    this.#ringsAt = moment
    // The event loop runs timers before I/O. A process that was suspended or blocked must first see the
    // replies that arrived meanwhile.
    const ring = (): void => this.#runtime.defer(() => this.#ring())
    this.#stop = this.#runtime.timer(moment - this.#runtime.mono(), ring, { background: true })
  }

  #ring(): void {
    const now = this.#runtime.mono()
    let next = Infinity
    for (const line of this.#lines.values()) {
      for (const wait of line) {
        if (wait.endsAt > now) {
          next = Math.min(next, wait.endsAt)
          break
        }
        this.#end(line, wait)
        wait.giveUp()
      }
    }
    this.#quiet()
    if (next < Infinity) this.#ringAt(next)
  }
}
