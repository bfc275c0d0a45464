import { NOTICE_DELIVERIES, type Notice } from '../notifier/notices.ts'

/** One id of a notice. */
export interface Entry {
  readonly id: string
  readonly held: HeldNotice
}

/** A notice that a worker has and has not answered. */
export class HeldNotice {
  readonly notice: Notice
  readonly since: number
  /** When its sender was last told that somebody works on it. */
  toldAt: number
  /** Ids on which there is no word yet. */
  open: number
  /** Those of them that are in a question to the store. */
  asked = 0
  /** Ids that shall come again, and when. */
  readonly rest: { readonly id: string; readonly waitMs: number }[] = []
  readonly #size: number

  constructor(notice: Notice, size: number, since: number) {
    this.notice = notice
    this.since = since
    this.toldAt = since
    this.open = size
    this.#size = size
  }

  /**
   * After which time all of it can come again as it is; null when that will not do: some of it is done with, its ids are
   * due at different times, or it would be buried although it only waits.
   */
  waitMs(): number | null {
    const [first] = this.rest
    if (first === undefined || this.rest.length < this.#size) return null
    if (this.notice.deliveries >= NOTICE_DELIVERIES - 1) return null
    const latest = this.rest.reduce((most, { waitMs }) => Math.max(most, waitMs), 0)
    const earliest = this.rest.reduce((least, { waitMs }) => Math.min(least, waitMs), Infinity)
    return latest - earliest <= SAME_MS ? latest : null
  }
}

/** Ids whose times differ by no more than this wait together, for the latest. */
const SAME_MS = 100
