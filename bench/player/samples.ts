/** Numbers that are only added to and then summed up, without an object for each. */
export class Samples {
  #values = new Float64Array(1_024)
  #length = 0

  get length(): number {
    return this.#length
  }

  add(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Float64Array(this.#values.length * 2)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.#length++] = value
  }

  /** The smallest value that is not exceeded by this share of them; null when there is none. */
  quantile(share: number): number | null {
    const sorted = this.#values.slice(0, this.#length).sort()
    return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null
  }

  /** A copy. */
  toArray(): Float64Array<ArrayBuffer> {
    return this.#values.slice(0, this.#length)
  }

  at(index: number): number {
    return this.#values[index] as number
  }

  forEach(see: (value: number, index: number) => void): void {
    for (let i = 0; i < this.#length; i++) see(this.#values[i] as number, i)
  }
}
