import type { JobView } from '../../index.ts'
import type { Attempt, TimelineEntry } from '../schema/outputs.ts'
import type { Retry } from './detail.ts'

/** History beyond the job and its attempts. */
export interface History {
  readonly retries: readonly Retry[]
  /** The state of the job after each attempt; null if it was retried, or if that is unknown. */
  readonly endings: readonly (JobView['state'] | null)[]
}

/** Greater than the number of steps in a generation. */
const STEPS = 10

/** The history of a job, oldest first, as far as it is known. Entries after `now` are in the future. */
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
    job.headers['skep-schedule'] ? `Enqueued by schedule ${job.headers['skep-schedule']}` : 'Enqueued',
  )
  for (const { generation, count, at, isExact, by } of retries) {
    const times = count > 1 ? ` ${count} times` : ''
    const text = `Retried manually${times}${by === null ? '' : ` by ${by}`}${isExact ? '' : ', at or before this time'}`
    add(generation, 0, 'retried', new Date(at), text)
  }
  for (const [
    index,
    { n, generation, at, startedAt, worker, version, kind, message },
  ] of attempts.entries()) {
    const isNewest = n === runs && generation === current
    // Start and result of the newest attempt come from the job.
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
    add(current, 1, 'due', job.dueAt, isToCome ? 'Scheduled' : 'Due')
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
  if (job.expiresAt !== null) add(current, 5, 'expires', job.expiresAt, 'Expires')
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
  timeout: 'Timed out',
  lost: 'Worker lost',
  snooze: 'Snoozed by the handler',
  cancel: 'Cancelled',
  bury: 'Buried by the handler',
}

const ENDS: Readonly<Partial<Record<JobView['state'], string>>> = {
  done: 'Completed',
  failed: 'Failed for good',
  dead: 'Died',
}
