import type { JobView } from '../../index.ts'
import type { Attempt, TimelineEntry } from '../schema/outputs.ts'
import type { Retry } from './detail.ts'

/** What is known besides the job and its attempts. */
export interface History {
  readonly retries: readonly Retry[]
  /** One for each attempt: the state in which it left the job; null if it was tried again, or that is not known. */
  readonly endings: readonly (JobView['state'] | null)[]
}

/** More than there are steps in a generation. */
const STEPS = 10

/** What happened to a job, oldest first, as far as the job and its attempts tell. `now` decides what is still to come. */
export function timelineOf(
  job: JobView,
  attempts: readonly Attempt[],
  { retries, endings }: History,
  now: number,
): readonly TimelineEntry[] {
  const entries: (TimelineEntry & { readonly order: number })[] = []
  const add = (
    generation: number,
    step: number,
    kind: TimelineEntry['kind'],
    at: Date | string | null,
    text: string,
    attempt: number | null = null,
  ): void => {
    if (at !== null)
      entries.push({
        at: typeof at === 'string' ? at : at.toISOString(),
        kind,
        text,
        attempt,
        order: generation * STEPS + step,
      })
  }
  const { starts: runs, generation: current } = job
  add(
    0,
    0,
    'enqueued',
    job.enqueuedAt,
    job.headers['skep-schedule'] ? `Made by the schedule ${job.headers['skep-schedule']}` : 'Enqueued',
  )
  for (const { generation, count, at, isExact, by } of retries) {
    const times = count > 1 ? ` ${count} times` : ''
    const text = `Retried by hand${times}${by === null ? '' : ` by ${by}`}${isExact ? '' : ', before this'}`
    add(generation, 0, 'retried', new Date(at), text)
  }
  for (const [
    index,
    { n, generation, at, startedAt, worker, version, kind, message },
  ] of attempts.entries()) {
    const isNewest = n === runs && generation === current
    // How the newest attempt ended, and when it started, is known from the job.
    const ended = endings[index] ?? null
    const isEnd = isNewest && kind === 'error' && ended !== null
    const word = (kind === 'error' && ended !== null && ENDS[ended]) || WORDS[kind]
    if (!isEnd) add(generation, 3, KINDS[kind], at, `${word}: ${message}`, n)
    if (!isNewest || job.startedAt === null)
      add(generation, 2, 'started', startedAt, startText(worker, version), n)
  }
  const dueAt = job.dueAt.getTime()
  if (dueAt > job.enqueuedAt.getTime() && !retries.some(({ at }) => at === dueAt)) {
    const isToCome = job.state === 'delayed' && dueAt > now
    add(current, 1, 'due', job.dueAt, isToCome ? 'Will be due' : 'Due')
  }
  if (job.startedAt !== null) {
    const newest = attempts.find(({ n, generation }) => n === runs && generation === current)
    const text = startText(job.worker, newest?.version ?? null)
    add(current, 2, 'started', job.startedAt, text, runs > 0 ? runs : null)
  }
  if (job.finishedAt !== null) {
    const why = job.failure === null || job.state === 'done' ? '' : `: ${job.failure.message}`
    if (job.state === 'cancelled') add(current, 4, 'cancelled', job.finishedAt, `Cancelled${why}`)
    else
      add(
        current,
        4,
        'finished',
        job.finishedAt,
        `${ENDS[job.state] ?? 'Ended'}${why}`,
        runs > 0 ? runs : null,
      )
  }
  if (job.expiresAt !== null) add(current, 5, 'expires', job.expiresAt, 'Will be removed')
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
