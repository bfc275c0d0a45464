/** A FIFO queue with O(1) shift. */
export class Fifo<T> {
  #items: T[] = []
  #head = 0

  get size(): number {
    return this.#items.length - this.#head
  }

  push(item: T): void {
    // If it never becomes empty, removed items are released in large chunks.
    if (this.#head > 1_000 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    this.#items.push(item)
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined
    const item = this.#items[this.#head] as T
    this.#head++
    if (this.#head === this.#items.length) {
      this.#items = []
      this.#head = 0
    }
    return item
  }

  /** Removes and returns all items that match; the others stay in order. */
  take(isTaken: (item: T) => boolean): T[] {
    const taken: T[] = []
    const left: T[] = []
    for (let i = this.#head; i < this.#items.length; i++) {
      const item = this.#items[i] as T
      if (isTaken(item)) taken.push(item)
      else left.push(item)
    }
    if (taken.length > 0) {
      this.#items = left
      this.#head = 0
    }
    return taken
  }
}
