/** Which jobs ran: a bit for each number, so that a million of them cost nothing while it is measured. */
export class Seen {
  #bits: Uint8Array

  constructor(bits: Uint8Array = new Uint8Array(16_384)) {
    this.#bits = bits
  }

  add(n: number): void {
    const at = n >> 3
    if (at >= this.#bits.length) this.#grow(at + 1)
    this.#bits[at] = (this.#bits[at] as number) | (1 << (n & 7))
  }

  addAll(other: Seen): void {
    if (other.#bits.length > this.#bits.length) this.#grow(other.#bits.length)
    other.#bits.forEach((byte, at) => {
      this.#bits[at] = (this.#bits[at] as number) | byte
    })
  }

  count(): number {
    let count = 0
    for (let byte of this.#bits) for (; byte > 0; byte &= byte - 1) count++
    return count
  }

  toText(): string {
    return Buffer.from(this.#bits).toString('base64')
  }

  static fromText(text: string): Seen {
    return new Seen(new Uint8Array(Buffer.from(text, 'base64')))
  }

  #grow(least: number): void {
    const larger = new Uint8Array(Math.max(least, this.#bits.length * 2))
    larger.set(this.#bits)
    this.#bits = larger
  }
}
