/**
 * The optional part of a notifier: notices. A notice is a durable message that names jobs of one queue by id;
 * one worker at a time receives it. With notices a worker does not search the store: it pulls notices when it
 * has room, and claims the named jobs by id, under the usual guard.
 *
 * A notice only suggests a claim: the store decides. It may be duplicated, late, or lost (a slow sweep of the
 * store finds jobs whose notice was lost), and a job may have several or none. After the claim it is
 *
 *   acked    if the job was claimed (the lease takes over), finished, unknown or held (a release resends it)
 *   later    if it is not due yet, leased, or the store is unavailable: redelivered after a delay
 *   buried   if it was delivered too often: a dead letter for an operator; the job is still in the store
 *
 * Only plain jobs have notices. Jobs with a priority, in a lane, or in a queue with limits start in the
 * store's order: for these a hint wakes the worker, which searches the store.
 */
import type { Hint } from './notifier.ts'

/** A hint that names its jobs, so it can be carried as a notice. */
export type NoticeHint = Extract<Hint, { kind: 'work' }> & { readonly ids: readonly string[] }

export interface Notices {
  /**
   * Subscribes to the notices of a queue. `listener` is never called inside a call of this interface. Taps of
   * the same queue, in any process, never hold the same notice at once, unless one held it too long.
   */
  open(source: NoticeSource, listener: (notice: Notice) => void): NoticeTap

  /** Buried notices, oldest first, from `cursor` on. */
  dead(call: { readonly limit: number; readonly cursor?: string | null }): Promise<DeadNoticePage>
}

export interface NoticeSource {
  readonly space: string
  readonly queue: string
}

/** The notices of one queue, as pulled by one worker. */
export interface NoticeTap {
  /**
   * Sets how many more notices the worker has room for. None is delivered unrequested; after lowering the
   * number, those requested before may still arrive.
   */
  want(count: number): void
  /** Stops delivery. Notices that the worker still holds can be answered until the notifier is closed. */
  close(): void
}

/** A notice held by a worker, which must call `ack`, `later` or `bury` once; further answers are ignored. */
export interface Notice extends NoticeSource {
  /** At least one, at most {@link NOTICE_IDS}. */
  readonly ids: readonly string[]
  /** The earliest due time of its jobs. */
  readonly dueAt: number
  /** The number of deliveries, including this one. May be too low, never too high. */
  readonly deliveries: number
  /** Acknowledges and removes it. */
  ack(): void
  /** Redelivers it to any worker, after this delay or a little later. */
  later(delayMs: number): void
  /** Still in progress: it is not redelivered for {@link NOTICE_HELD_MS} from now. */
  working(): void
  /** Makes it a dead letter, with a reason. */
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
  /** The start of the next page; null after the last. */
  readonly cursor: string | null
}

/** The maximum number of ids in one notice. A larger hint is split. */
export const NOTICE_IDS = 50

/** A notice that a worker neither answers nor reports as in progress is redelivered after this time. */
export const NOTICE_HELD_MS = 30_000

/** A notice that is delivered more often than this is buried. */
export const NOTICE_DELIVERIES = 10
