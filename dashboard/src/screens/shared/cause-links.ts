import type { JobDetail } from '../../../../src/operations/schema/wire-types.ts'
import { to } from '../../router.ts'

type Cause = JobDetail['explanation']['causes'][number]

/** Links for the ids in causes: jobs, runs, groups and workers. */
export function causeLinks(causes: readonly Cause[]): ReadonlyMap<string, string> {
  const links = new Map<string, string>()
  const pathOf = { job: to.job, run: to.run } as const
  for (const cause of causes) {
    if ('job' in cause && cause.job !== null) links.set(cause.job, to.job(cause.job))
    if ('jobs' in cause) for (const id of cause.jobs) links.set(id, to.job(id))
    if ('run' in cause && cause.run !== null) links.set(cause.run, to.run(cause.run))
    if ('group' in cause) links.set(cause.group, to.group(cause.group))
    if ('worker' in cause) links.set(cause.worker, to.worker(cause.worker))
    if ('workers' in cause) for (const { id } of cause.workers) links.set(id, to.worker(id))
    if ('gone' in cause) for (const { id } of cause.gone) links.set(id, to.worker(id))
    if ('open' in cause) for (const { id, kind } of cause.open) links.set(id, pathOf[kind](id))
    if ('failed' in cause && typeof cause.failed === 'object')
      for (const { id, kind } of cause.failed) links.set(id, pathOf[kind](id))
  }
  return links
}
