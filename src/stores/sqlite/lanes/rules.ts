import { type Hold, type HoldKind, holdsQueue, latestEnd, stands } from '../../../core/lanes/holds.ts'
import type { Row } from '../connection/client.ts'
import type { Handle } from '../connection/connection.ts'

export const HOLD_COLUMNS = 'kind, space, queue, lane, reason, put_by, since, until'

/**
 * Which queues are limited, and what holds whole queues: what every call must know and hardly ever changes. It is
 * remembered, and one small read in each transaction tells whether it is still true, whoever changed it.
 */
export class Rules {
  #version: number | null = null
  #holds: readonly Hold[] | null = null
  readonly #limited = new Map<number, boolean>()

  /** Forgets what is no longer true. The first thing in a transaction that asks. */
  check(db: Handle): void {
    const [version] = db.get('select version from skep_rules') as [number]
    if (version === this.#version) return
    this.forget()
    this.#version = version
  }

  /** Something of it changes in this transaction. */
  changed(db: Handle): void {
    db.run('update skep_rules set version = version + 1')
    this.forget()
  }

  /** After a rollback: what was read in it may never have been true. */
  forget(): void {
    this.#version = null
    this.#holds = null
    this.#limited.clear()
  }

  isLimited(db: Handle, q: number): boolean {
    let limited = this.#limited.get(q)
    if (limited === undefined) {
      limited = db.get('select 1 from skep_lines where q = ?', q) !== undefined
      this.#limited.set(q, limited)
    }
    return limited
  }

  /** When the holds on a queue end together; 0 if none stands. */
  heldUntil(db: Handle, space: string, queue: string, now: number): number {
    this.#holds ??= db.all(`select ${HOLD_COLUMNS} from skep_holds where lane is null`).map(holdOf)
    if (this.#holds.length === 0) return 0
    return latestEnd(this.#holds.filter((hold) => stands(hold, now) && holdsQueue(hold, space, queue)))
  }
}

/** Reads a row of {@link HOLD_COLUMNS}. */
export function holdOf([kind, space, queue, lane, reason, by, since, until]: Row): Hold {
  return {
    kind: kind as HoldKind,
    space: space as string | null,
    queue: queue as string | null,
    lane: lane as string | null,
    reason: reason as string | null,
    by: by as string | null,
    since: since as number,
    until: until as number | null,
  }
}
