import type { NewGroup } from '../../../core/flows/groups.ts'
import type { NewRun, RunMove } from '../../../core/flows/runs.ts'
import { type SentJob, sentJob } from '../jobs/job-codec.ts'

/** What is kept of a group as it was made. Its jobs are drafts that the script can insert. */
export type StoredGroup = Omit<NewGroup, 'jobs'> & {
  readonly jobs: Readonly<Record<string, SentJob>>
}

/** A group as it goes to the script: what that has to know, and all of it as the text that is kept. */
export function sentGroup(group: NewGroup): Record<string, unknown> {
  const { id, space, run, size, need, failing, keepMs } = group
  const jobs: Record<string, SentJob> = {}
  for (const [event, job] of Object.entries(group.jobs)) if (job) jobs[event] = sentJob(job)
  const stored: StoredGroup = { ...group, jobs }
  const hasJobs = Object.keys(jobs).length > 0
  return { id, space, run, size, need, failing, keepMs, hasJobs, text: JSON.stringify(stored) }
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
