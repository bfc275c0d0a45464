import { createHash } from 'node:crypto'
import { sqlState } from '../errors.ts'

// The statements of the hot path. Their plans are simple, or pinned inside functions; all others are planned for what
// they ask for.
const HOT = /\b(settle_and_claim|insert_jobs?|insert_members|move_runs|extend_leases|pg_notify)\b/

/** More texts than there are: an insert has a few, by which columns it needs. */
const MOST = 64

// The statement is not there; one of that name is there already; it gives other columns than it did before.
const NOT_PREPARED = /^(26000|42P05|0A000)$/

/**
 * Names under which the server keeps the statements it has parsed, which makes a short one a third cheaper. The name
 * tells the function that is called and follows from the text: a pool may be shared by several stores.
 *
 * A pooler may give us another server connection for each statement, and somebody's `DISCARD ALL` makes a server
 * forget. Then it refuses before it does anything, and from then on statements go without names.
 */
export class PreparedNames {
  readonly #names = new Map<string, string>()
  #isOn: boolean

  constructor(isOn: boolean) {
    this.#isOn = isOn
  }

  nameOf(text: string): string | undefined {
    if (!this.#isOn) return undefined
    const known = this.#names.get(text)
    if (known !== undefined || this.#names.size >= MOST) return known
    const what = HOT.exec(text)?.[0]
    if (what === undefined) return undefined
    const name = `skep_${what}_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
    this.#names.set(text, name)
    return name
  }

  /** Whether a statement failed because of its name. Then there will be no more names, and without one it may pass. */
  isOver(error: unknown): boolean {
    const isOver = NOT_PREPARED.test(sqlState(error) ?? '')
    if (isOver) this.#isOn = false
    return isOver
  }
}
