/**
 * What a notifier may promise beyond hints: notices. A notice is a durable message that names jobs of one queue by id, and
 * one worker at a time gets it. With notices a worker searches the store for nothing: it pulls notices when it has room,
 * and claims the named jobs by their ids, under the same guard as ever.
 *
 * A notice only says "try": the store decides. It may be doubled, late, or lost (a slow sweep of the store finds what
 * lost its notice), and a job may have several or none. What becomes of one, once the store was asked:
 *
 *   claimed, finished, unknown, or held        acked: the lease, or nobody, goes on from here; who ends the hold tells again
 *   not due yet, leased, or the store is away  later: it comes again after a delay
 *   delivered too often                        buried: it waits for a person to read it; the job itself is in the store
 *
 * Only plain jobs have notices. One with a priority or in a lane, or in a queue with limits, runs when the store's order
 * says so: for these a hint wakes the worker, and the store is searched.
 */
import type { Hint } from './notifier.ts'

/** A hint that names the jobs it is about, so it can be carried as a notice. */
export type NoticeHint = Extract<Hint, { kind: 'work' }> & { readonly ids: readonly string[] }

export interface Notices {
  /**
   * Begins to take notices of a queue. `listener` is called with each, never inside a call of this interface. Two that
   * are open for the same queue, in whatever process, never have the same notice at once, unless one kept it too long.
   */
  open(source: NoticeSource, listener: (notice: Notice) => void): NoticeTap

  /** Notices that were buried, oldest first, from `cursor` on. */
  dead(call: { readonly limit: number; readonly cursor?: string | null }): Promise<DeadNoticePage>
}

export interface NoticeSource {
  readonly space: string
  readonly queue: string
}

/** The notices of one queue, as one worker takes them. */
export interface NoticeTap {
  /**
   * How many more notices the worker has room for, from now on. None comes without having been wanted; what was asked for
   * before a smaller number may still come.
   */
  want(count: number): void
  /** Takes no more. Notices that the worker still has can be answered until the notifier is closed. */
  close(): void
}

/** What a worker holds and must answer: with one of `ack`, `later` and `bury`, once; more answers are ignored. */
export interface Notice extends NoticeSource {
  /** At least one, at most {@link NOTICE_IDS}. */
  readonly ids: readonly string[]
  /** The earliest moment at which one of the jobs is due. */
  readonly dueAt: number
  /** How often it has come, this time included. May be too low, never too high. */
  readonly deliveries: number
  /** It is dealt with, and goes. */
  ack(): void
  /** It comes again, to anybody, after this time or a little later. */
  later(delayMs: number): void
  /** Still being dealt with: it does not come again for {@link NOTICE_HELD_MS} from now. */
  working(): void
  /** It goes among the dead ones, with a reason to read. */
  bury(reason: string): void
}

export interface DeadNotice extends NoticeSource {
  readonly ids: readonly string[]
  readonly dueAt: number
  readonly deliveries: number
  readonly reason: string
  readonly buriedAt: number
}

export interface DeadNoticePage {
  readonly notices: readonly DeadNotice[]
  /** Where the next page begins; null when this was the last. */
  readonly cursor: string | null
}

/** So many ids fit in one notice. A hint with more becomes several. */
export const NOTICE_IDS = 50

/** A notice that a worker neither answers nor says to be working on comes again after this time. */
export const NOTICE_HELD_MS = 30_000

/** A notice that comes more often than this is buried. */
export const NOTICE_DELIVERIES = 10
