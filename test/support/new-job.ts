import type { NewJob } from '../../src/core/jobs/job.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'

const { uuid } = systemRuntime()

/** A plain job as a store gets it, except for what is said. */
export function newJob(difference: Partial<NewJob> = {}): NewJob {
  return {
    id: uuid(),
    space: 'acme',
    queue: 'mail',
    payload: '{}',
    headers: null,
    priority: 0,
    delayMs: 0,
    runAt: null,
    unique: null,
    overrides: null,
    lane: null,
    strict: false,
    cost: 1,
    member: null,
    ...difference,
  }
}

export function newJobs(count: number, difference: Partial<NewJob> = {}): NewJob[] {
  return Array.from({ length: count }, () => newJob(difference))
}
