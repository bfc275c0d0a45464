import type { AuditEntry, HistoryRecord } from '../history.ts'

type Place = Pick<HistoryRecord, 'n' | 'at' | 'proc'>

/**
 * What came first. One order covers everything in simulation. Between real processes there are only clocks, which
 * agree up to `slackMs`; so the answers are about what is sure, and never a guess.
 */
export class Order {
  /** One order covers records and changes. */
  readonly total: boolean
  readonly #slackMs: number

  constructor(audit: readonly AuditEntry[], slackMs: number) {
    this.total = audit.some((entry) => entry.n !== undefined)
    this.#slackMs = slackMs
  }

  /** The record was surely written after the change. */
  isAfter(record: Place, entry: AuditEntry): boolean {
    return entry.n === undefined ? record.at > entry.at + this.#slackMs : record.n > entry.n
  }

  /** The record was surely written before the change. */
  isBefore(record: Place, entry: AuditEntry): boolean {
    return entry.n === undefined ? record.at < entry.at - this.#slackMs : record.n < entry.n
  }

  /** `later` was surely written after `earlier`. */
  follows(later: Place, earlier: Place): boolean {
    return this.total || later.proc === earlier.proc
      ? later.n > earlier.n
      : later.at > earlier.at + this.#slackMs
  }
}
