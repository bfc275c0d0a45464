import { type Skep, SkepError } from '../index.ts'

/** The Skeps of a server: the one that it was given, and one for each other space that is asked for. */
export class Spaces {
  readonly #first: Skep
  readonly #most: number
  /** The one that was used last is the last. */
  readonly #others = new Map<string, Skep>()
  #isClosed = false

  /** At most so many other spaces are open at once: those that were not used for longest are closed. */
  constructor(first: Skep, most = 1_000) {
    this.#first = first
    this.#most = most
  }

  /** The Skep of a space. It stays this server's: do not close it. */
  for(space: string): Skep {
    if (this.#isClosed) throw new SkepError('CLOSED', 'This server is closed.')
    if (space === this.#first.space) return this.#first
    const known = this.#others.get(space)
    const skep = known ?? this.#first.inSpace(space)
    if (known === undefined && this.#others.size >= this.#most) this.#closeOldest()
    this.#others.delete(space)
    this.#others.set(space, skep)
    return skep
  }

  /** Those that are open. */
  open(): readonly Skep[] {
    return [this.#first, ...this.#others.values()]
  }

  /** Closes those that it opened. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#others.values()].map((skep) => skep.close()))
    this.#others.clear()
  }

  #closeOldest(): void {
    const [oldest] = this.#others
    if (oldest === undefined) return
    this.#others.delete(oldest[0])
    void oldest[1].close().catch(() => {})
  }
}
