import type { ClaimedJob } from '../../src/core/jobs/job.ts'
import type { Verdict } from '../../src/core/policies/policy.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import type { Store } from '../../src/store/store.ts'

const { uuid } = systemRuntime()

/** Claims from the queue `mail` of the space `acme`. */
export async function take(store: Store, limit = 10, workerId = 'worker'): Promise<readonly ClaimedJob[]> {
  const { jobs } = await store.claim({
    sources: [{ space: 'acme', queue: 'mail', limit }],
    limit,
    workerId,
    token: uuid(),
    leaseMs: 60_000,
  })
  return jobs
}

export function verdict(difference: Partial<Verdict> = {}): Verdict {
  return {
    to: 'done',
    keepMs: 3_600_000,
    delayMs: 0,
    count: null,
    refund: false,
    keepPlace: false,
    keepCancelledMs: 0,
    result: null,
    failure: null,
    ...difference,
  }
}
