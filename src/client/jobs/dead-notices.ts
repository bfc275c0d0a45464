import { SkepError } from '../../core/errors.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import type { DeadNotice } from '../../notifier/notices.ts'
import type { Notifier } from '../../notifier/notifier.ts'
import { assertWhole } from '../../worker/options.ts'

/** A notice that came too often without being dealt with. Its jobs are in the store, whatever became of them. */
export interface DeadNoticeView extends Omit<DeadNotice, 'dueAt' | 'buriedAt' | 'space'> {
  readonly dueAt: Date
  readonly buriedAt: Date
}

export interface DeadNoticeViewPage {
  readonly notices: readonly DeadNoticeView[]
  /** Where the next page begins; null after the last. */
  readonly cursor: string | null
}

export interface DeadNoticeOptions {
  /** How many to read, 1 to 200: those of other spaces are left out. @default 50 */
  readonly limit?: number
  /** From the page before. */
  readonly cursor?: string
}

const KEYS = optionKeys<DeadNoticeOptions>('notifier.deadNotices()', { limit: true, cursor: true })

/** One page of the dead notices of a space, oldest first. */
export async function readDeadNotices(
  notifier: Notifier,
  space: string,
  options: DeadNoticeOptions,
): Promise<DeadNoticeViewPage> {
  assertOptions(KEYS, options)
  const { limit = 50, cursor = null } = options
  assertWhole('limit', limit, 1, LIMITS.pageJobs)
  if (notifier.notices === undefined) {
    throw new SkepError(
      'OPTION_INVALID',
      'This notifier has no notices, so none of them can be dead: only natsNotifier() has. Use skep.jobs.list for dead jobs.',
    )
  }
  const page = await notifier.notices.dead({ limit, cursor })
  const own = page.notices.filter((notice) => notice.space === space)
  return {
    notices: own.map(({ queue, ids, deliveries, reason, dueAt, buriedAt }) => ({
      queue,
      ids,
      deliveries,
      reason,
      dueAt: new Date(dueAt),
      buriedAt: new Date(buriedAt),
    })),
    cursor: page.cursor,
  }
}
