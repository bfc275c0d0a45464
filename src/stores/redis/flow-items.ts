import type { NewGroup } from '../../core/groups.ts'
import type { NewRun, RunMove } from '../../core/runs.ts'
import { sentJob } from './records.ts'

/** A group as it goes to the script: its jobs as drafts that it can insert, and as they are for whoever reads the group. */
export function sentGroup(group: NewGroup): Record<string, unknown> {
  const jobs = Object.fromEntries(
    Object.entries(group.jobs).map(([event, job]) => [event, job && sentJob(job)]),
  )
  return { ...group, jobs, whole: group.jobs }
}

export function sentRun(run: NewRun): Record<string, unknown> {
  return { ...run }
}

export function sentMove(move: RunMove): Record<string, unknown> {
  return {
    ...move,
    groups: move.groups.map(sentGroup),
    runs: move.runs.map(sentRun),
    jobs: move.jobs.map(sentJob),
  }
}
