export interface Books {
  /** Jobs whose enqueueing was acknowledged. */
  readonly enqueued: number
  /** How often a handler was called. */
  readonly ran: number
  /** How many different jobs that were. */
  readonly distinct: number
  /** Jobs that the store still holds unfinished, after the workers have stopped. */
  readonly open: number
}

/** A speed at which jobs are lost or run twice is no speed. Throws if the books do not agree to the last job. */
export function checkLeft({ enqueued, ran, distinct, open }: Books): void {
  if (distinct === ran && open === enqueued - ran) return
  throw new Error(
    `The left-check failed: ${enqueued} jobs were enqueued, handlers were called ${ran} times for ${distinct} of them, ` +
      `and ${open} are left where ${enqueued - distinct} should be.`,
  )
}
