import type { NewGroup } from '../../src/core/flows/groups.ts'
import type { NewRun } from '../../src/core/flows/runs.ts'
import type { NewJob } from '../../src/core/jobs/job.ts'
import { newJob, uuid } from './world.ts'

/** A group that needs all its members and then enqueues a job in the queue `after`, except for what is said. */
export function newGroup(size: number, difference: Partial<NewGroup> = {}): NewGroup {
  return {
    id: uuid(),
    space: 'acme',
    run: null,
    size,
    need: size,
    failing: 'end',
    jobs: { success: newJob({ queue: 'after' }) },
    keepMs: 60_000,
    ...difference,
  }
}

export function membersOf({ id, size }: NewGroup, difference: Partial<NewJob> = {}): NewJob[] {
  return Array.from({ length: size }, (_, n) => newJob({ member: { group: id, n }, ...difference }))
}

export function newRun(difference: Partial<NewRun> = {}): NewRun {
  const id = uuid()
  return {
    id,
    space: 'acme',
    flow: 'f',
    version: 1,
    position: '[]',
    state: '{}',
    attributes: [],
    member: null,
    root: id,
    ...difference,
  }
}
