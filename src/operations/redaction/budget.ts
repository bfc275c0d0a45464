/** How long one response may look for secrets, and all responses of a server at once. */
export const BUDGET_MS = 400
/** The share of time that all responses of a server together may look for secrets. */
const SHARE = 0.2
/** How many keys and values of one value are looked at: more than Skep stores in a job. */
const NODES = 200_000
/** The clock is read after this number of units: a unit is a key or a value, and each further 32 characters of it. */
const LOOK_EVERY = 256
/** When the time is up, keys and texts of up to 40 characters are still read, a fixed number of each value: headers, names and states. */
const SHORT = 40
const ROOM = 128

/** What all responses of a server together may spend on looking for secrets: {@link BUDGET_MS}, which is refilled over time. */
export class SharedBudget {
  #leftMs = BUDGET_MS
  #refilledTo: number | null = null

  get isSpent(): boolean {
    return this.#leftMs <= 0
  }

  refill(now: number): void {
    const passed = Math.max(0, now - (this.#refilledTo ?? now))
    this.#leftMs = Math.min(BUDGET_MS, this.#leftMs + passed * SHARE)
    this.#refilledTo = now
  }

  charge(ms: number): void {
    // What is overdrawn is bounded: later responses are hidden for a few seconds, not for minutes.
    this.#leftMs = Math.max(-BUDGET_MS, this.#leftMs - ms)
  }
}

/**
 * What one response may spend on looking for secrets. Stored values are chosen by others, so everything in them is charged: long texts,
 * and also each key, each short text and each element, of which there can be millions.
 */
export class Budget {
  readonly #mono: () => number
  readonly #shared: SharedBudget
  #leftMs = BUDGET_MS
  #leftNodes = NODES
  #unitsToLook = LOOK_EVERY
  #room = ROOM
  /** Up to where time has been charged. */
  #chargedTo = 0

  /** Without a clock the time is not limited. */
  constructor(mono: () => number = () => 0, shared = new SharedBudget()) {
    this.#mono = mono
    this.#shared = shared
  }

  /** Runs this, and charges the time that it takes. What happens between two calls is not charged. */
  spend<T>(run: () => T): T {
    this.#chargedTo = this.#mono()
    this.#shared.refill(this.#chargedTo)
    this.#leftNodes = NODES
    this.#room = ROOM
    const result = run()
    this.#charge()
    return result
  }

  /** Whether a key or a value of this length may be looked at. */
  admits(length: number): boolean {
    if (!this.#isSpent) {
      this.#leftNodes--
      this.#unitsToLook -= 1 + (length >>> 5)
      if (this.#unitsToLook <= 0) this.#charge()
      if (!this.#isSpent) return true
    }
    return length <= SHORT && this.#room-- > 0
  }

  /** A value with more elements or fields than this is hidden as a whole. */
  get room(): number {
    return this.#isSpent ? this.#room : Infinity
  }

  get #isSpent(): boolean {
    return this.#leftMs <= 0 || this.#leftNodes <= 0 || this.#shared.isSpent
  }

  #charge(): void {
    const now = this.#mono()
    this.#leftMs -= now - this.#chargedTo
    this.#shared.charge(now - this.#chargedTo)
    this.#chargedTo = now
    this.#unitsToLook = LOOK_EVERY
  }
}
