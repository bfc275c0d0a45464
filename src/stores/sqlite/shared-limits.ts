import type { LimitFields } from '../../core/limit-fields.ts'
import type { Handle } from './handle.ts'
import { limitsIn, type Shared } from './line.ts'

/** What nobody has said anything about, in JSON. */
export const NO_LIMITS = '{}'

/** The limits that several queues share, as far as a transaction looks at them. */
export class SharedLimits {
  readonly #db: Handle
  readonly #known = new Map<string, Shared>()

  constructor(db: Handle) {
    this.#db = db
  }

  get(space: string, name: string): Shared {
    const key = JSON.stringify([space, name])
    const known = this.#known.get(key)
    if (known) return known
    const row = this.#db.get(
      'select limits, running, full_at from skep_shared where space = ? and name = ?',
      space,
      name,
    )
    const [text, running, fullAtUs] = (row ?? [NO_LIMITS, 0, 0]) as [string, number, number]
    const meter = { running, fullAtUs }
    const shared: Shared = { space, name, text, limit: limitsIn(text), meter, isChanged: false }
    this.#known.set(key, shared)
    return shared
  }

  set(space: string, name: string, fields: LimitFields): void {
    const shared = this.get(space, name)
    shared.text = JSON.stringify(fields)
    shared.limit = limitsIn(shared.text)
    shared.isChanged = true
  }

  /** Writes what has changed. */
  write(): void {
    for (const shared of this.#known.values()) {
      if (!shared.isChanged) continue
      shared.isChanged = false
      this.#db.run(
        `insert into skep_shared (space, name, limits, running, full_at) values (?, ?, ?, ?, ?)
         on conflict (space, name) do update set limits = excluded.limits, running = excluded.running,
           full_at = excluded.full_at`,
        shared.space,
        shared.name,
        shared.text,
        shared.meter.running,
        shared.meter.fullAtUs,
      )
    }
  }

  forget(): void {
    this.#known.clear()
  }
}
