/** A binary heap: the smallest item by `compare` is first. */
export class Heap<T> {
  readonly #items: T[] = []
  readonly #compare: (a: T, b: T) => number

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare
  }

  get size(): number {
    return this.#items.length
  }

  peek(): T | undefined {
    return this.#items[0]
  }

  /** Keeps only the items that match a predicate. */
  retain(keeps: (item: T) => boolean): void {
    const kept = this.#items.filter(keeps)
    this.#items.length = 0
    for (const item of kept) this.push(item)
  }

  push(item: T): void {
    const items = this.#items
    let at = items.length
    items.push(item)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (this.#compare(items[parent] as T, item) <= 0) break
      items[at] = items[parent] as T
      at = parent
    }
    items[at] = item
  }

  pop(): T | undefined {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (items.length === 0 || last === undefined) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= items.length) break
      if (child + 1 < items.length && this.#compare(items[child + 1] as T, items[child] as T) < 0) child++
      if (this.#compare(items[child] as T, last) >= 0) break
      items[at] = items[child] as T
      at = child
    }
    items[at] = last
    return first
  }
}
