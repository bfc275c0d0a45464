import type { JobState } from '../../core/jobs/job.ts'
import { assertName } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import type { Store } from '../../store/store.ts'
import { assertWhole } from '../../worker/options.ts'
import { statesOf } from './list.ts'

/** Which jobs to weigh: those of one queue in one state, page by page. */
export interface WeighOptions {
  readonly queue: string
  readonly state: JobState
  /** To look at so many jobs, 1 to 10,000. @default 500 */
  readonly limit?: number
  /** From the page before. */
  readonly cursor?: string
}

const KEYS = optionKeys<WeighOptions>('weigh()', { queue: true, state: true, limit: true, cursor: true })

/** What one page of jobs weighs. */
export interface WeighedPage {
  readonly jobs: number
  /** Of all that is stored of them: payloads, headers, keys, results, failures, logs, and 256 bytes for each job itself. */
  readonly bytes: number
  /** For the next page; null when this was the last. */
  readonly cursor: string | null
}

export async function weighJobs(store: Store, space: string, options: WeighOptions): Promise<WeighedPage> {
  assertOptions(KEYS, options)
  const { queue, state, limit = 500, cursor = null } = options
  assertName('Queue', queue)
  statesOf(state)
  assertWhole('limit', limit, 1, 10_000)
  return store.weigh({ space, queue, state, limit, cursor })
}
