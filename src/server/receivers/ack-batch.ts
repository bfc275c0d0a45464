import type { Ack, AckAnswer, AckResult, AckStatus } from './ack.ts'

/** Acks that came together and are answered together: when the store has had its word on all of them, or the time is up. */
export class AckBatch {
  readonly answer: Promise<AckAnswer>
  /** When it came, by the monotonic clock. */
  readonly since: number
  readonly #acks: readonly Ack[]
  readonly #words: (AckStatus | undefined)[]
  #left: number
  #resolve: (answer: AckAnswer) => void = () => {}

  constructor(acks: readonly Ack[], since: number) {
    this.#acks = acks
    this.since = since
    this.#words = Array.from({ length: acks.length })
    this.#left = acks.length
    this.answer = new Promise((resolve) => {
      this.#resolve = resolve
    })
    if (acks.length === 0) this.#finish()
  }

  get isOpen(): boolean {
    return this.#left > 0
  }

  /** The word on one of them. The first one counts. */
  word(index: number, status: AckStatus): void {
    if (this.#words[index] !== undefined) return
    this.#words[index] = status
    if (--this.#left === 0) this.#finish()
  }

  /** The time is up: what has no word yet is unknown. */
  giveUp(): void {
    if (this.#left === 0) return
    this.#left = 0
    this.#finish()
  }

  #finish(): void {
    const results: AckResult[] = []
    this.#acks.forEach(({ id }, index) => {
      const status = this.#words[index] ?? 'unknown'
      if (status !== 'ok') results.push({ id, status })
    })
    this.#resolve({ saved: this.#acks.length - results.length, results })
  }
}
