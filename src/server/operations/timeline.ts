import type { JobView } from '../../index.ts'
import type { Attempt, TimelineEntry } from '../api.ts'

/** What happened to a job, oldest first, as far as the job and its attempts tell. `now` decides what is still to come. */
export function timelineOf(
  job: JobView,
  attempts: readonly Attempt[],
  now: number,
): readonly TimelineEntry[] {
  const entries: (TimelineEntry & { readonly order: number })[] = []
  const add = (
    order: number,
    kind: TimelineEntry['kind'],
    at: Date | string | null,
    text: string,
    attempt: number | null = null,
  ): void => {
    if (at !== null)
      entries.push({ at: typeof at === 'string' ? at : at.toISOString(), kind, text, attempt, order })
  }
  const runs = job.starts
  add(
    0,
    'enqueued',
    job.enqueuedAt,
    job.headers['skep-schedule'] ? `Made by the schedule ${job.headers['skep-schedule']}` : 'Enqueued',
  )
  for (const { n, generation, at, startedAt, worker, version, kind, message } of attempts) {
    add(3, KINDS[kind], at, `${WORDS[kind]}: ${message}`, n)
    // The start of the newest attempt is known from the job.
    const isNewest = n === runs && generation === job.generation && job.startedAt !== null
    if (!isNewest) add(2, 'started', startedAt, startText(worker, version), n)
  }
  if (job.dueAt.getTime() > job.enqueuedAt.getTime()) {
    const isToCome = job.state === 'delayed' && job.dueAt.getTime() > now
    add(1, 'due', job.dueAt, isToCome ? 'Will be due' : 'Due')
  }
  if (job.startedAt !== null) {
    const newest = attempts.find(({ n, generation }) => n === runs && generation === job.generation)
    add(2, 'started', job.startedAt, startText(job.worker, newest?.version ?? null), runs > 0 ? runs : null)
  }
  if (job.finishedAt !== null) {
    const why = job.failure === null || job.state === 'done' ? '' : `: ${job.failure.message}`
    if (job.state === 'cancelled') add(4, 'cancelled', job.finishedAt, `Cancelled${why}`)
    else add(4, 'finished', job.finishedAt, `${ENDS[job.state] ?? 'Ended'}${why}`, runs > 0 ? runs : null)
  }
  if (job.expiresAt !== null) add(5, 'expires', job.expiresAt, 'Will be removed')
  return entries
    .sort((a, b) => Date.parse(a.at) - Date.parse(b.at) || a.order - b.order)
    .map(({ order: _order, ...entry }) => entry)
}

function startText(worker: string | null, version: string | null): string {
  return `Started${worker === null ? '' : ` by ${worker}`}${version === null ? '' : ` on version ${version}`}`
}

const KINDS = {
  error: 'failed',
  timeout: 'timeout',
  lost: 'lost',
  snooze: 'snoozed',
  cancel: 'cancelled',
  bury: 'failed',
} as const satisfies Readonly<Record<Attempt['kind'], TimelineEntry['kind']>>

const WORDS: Readonly<Record<Attempt['kind'], string>> = {
  error: 'Failed',
  timeout: 'Ran out of time',
  lost: 'Its worker was lost',
  snooze: 'Put off by its handler',
  cancel: 'Cancelled',
  bury: 'Buried by its handler',
}

const ENDS: Readonly<Partial<Record<JobView['state'], string>>> = {
  done: 'Done',
  failed: 'Failed for good',
  dead: 'Died',
}
