import type { Runtime } from '../../runtime.ts'

/** A look from the very beginning that takes less than this is not worth sparing. */
const CHEAP_MS = 250
const SHARE = 50

interface Floor<T> {
  value: T
  /** When a look last began at the beginning, and how long it took. */
  headAt: number
  headMs: number
}

/**
 * Where reads that walk an index from its beginning may start, like {@link Starts} for claims but for things that are
 * only looked at: the next ready job of each queue, the first lease that is over. As long as looking from the
 * beginning is cheap it is done every time; when dead entries have made it dear, at most 2 % of the time.
 */
export class Floors<T> {
  readonly #runtime: Pick<Runtime, 'mono'>
  readonly #floors = new Map<string, Floor<T>>()

  constructor(runtime: Pick<Runtime, 'mono'>) {
    this.#runtime = runtime
  }

  /**
   * Begins a read of these keys. `from` says where each starts, undefined for the beginning; `found` tells where
   * each should start the next time.
   */
  begin(keys: readonly string[]): {
    readonly from: readonly (T | undefined)[]
    found(values: readonly (T | undefined)[]): void
  } {
    const now = this.#runtime.mono()
    const from = keys.map((key) => {
      const floor = this.#floors.get(key)
      const isHead = !floor || floor.headMs < CHEAP_MS || now - floor.headAt > SHARE * floor.headMs
      return isHead ? undefined : floor.value
    })
    return {
      from,
      found: (values) => {
        const ms = this.#runtime.mono() - now
        keys.forEach((key, n) => {
          const value = values[n]
          const floor = this.#floors.get(key)
          if (value === undefined) this.#floors.delete(key)
          else if (from[n] === undefined || !floor) this.#floors.set(key, { value, headAt: now, headMs: ms })
          else floor.value = value
        })
      },
    }
  }
}
