import type { Outcome } from '../core/groups.ts'
import type { Runtime } from '../runtime.ts'
import type { Store } from '../store.ts'
import { settledOf } from './groups.ts'
import type { Settled } from './joins.ts'

/** So many groups are read at once, and so much of each; of a larger one the rest is read by itself. */
const GROUPS = 50
const FIRST_PAGE = 200
const PAGE = 1_000
const MOST_READS = 2

interface Question {
  readonly resolve: (outcomes: readonly Outcome[]) => void
  readonly reject: (error: unknown) => void
}

/**
 * Reads for handlers what became of the members of groups. Many of them start at once, and each asks for a group of its
 * own: those that ask at the same time, or while a read is under way, cost one round trip together.
 */
export class ResultReader {
  readonly #store: Pick<Store, 'outcomes'>
  readonly #runtime: Runtime
  readonly #space: string
  #asked = new Map<string, Question[]>()
  #reads = 0
  #scheduled = false

  constructor(options: { store: Pick<Store, 'outcomes'>; runtime: Runtime; space: string }) {
    this.#store = options.store
    this.#runtime = options.runtime
    this.#space = options.space
  }

  /** Of those that have ended, by number; none if the group is not kept any more. */
  async of(group: string): Promise<readonly Settled<unknown>[]> {
    return (await this.outcomes(group)).map(settledOf)
  }

  /** The same as it is stored. */
  async outcomes(group: string): Promise<readonly Outcome[]> {
    const first = await new Promise<readonly Outcome[]>((resolve, reject) => {
      const questions = this.#asked.get(group) ?? []
      this.#asked.set(group, questions)
      questions.push({ resolve, reject })
      this.#schedule()
    })
    const all = [...first]
    for (let page = first, limit = FIRST_PAGE; page.length === limit; limit = PAGE) {
      const from = (page.at(-1) as Outcome).n + 1
      page = (await this.#page([group], from, PAGE))[0] ?? []
      for (const outcome of page) all.push(outcome)
    }
    return all
  }

  #schedule(): void {
    if (this.#scheduled || this.#reads >= MOST_READS || this.#asked.size === 0) return
    this.#scheduled = true
    this.#runtime.defer(() => {
      this.#scheduled = false
      const some = [...this.#asked].slice(0, GROUPS)
      for (const [group] of some) this.#asked.delete(group)
      this.#reads++
      void this.#answer(some).finally(() => {
        this.#reads--
        this.#schedule()
      })
      this.#schedule()
    })
  }

  async #answer(asked: readonly (readonly [string, readonly Question[]])[]): Promise<void> {
    try {
      const groups = asked.map(([group]) => group)
      const outcomes = await this.#page(groups, 0, FIRST_PAGE)
      for (const [index, [, questions]] of asked.entries()) {
        for (const { resolve } of questions) resolve(outcomes[index] ?? [])
      }
    } catch (error) {
      // One who asks for what is no group must not fail the others: try each alone.
      if (asked.length > 1) for (const one of asked) await this.#answer([one])
      else for (const { reject } of asked[0]?.[1] ?? []) reject(error)
    }
  }

  async #page(
    groups: readonly string[],
    from: number,
    limit: number,
  ): Promise<readonly (readonly Outcome[])[]> {
    return (await this.#store.outcomes({ space: this.#space, groups, from, limit })).outcomes
  }
}
