import type { Failure } from '../../core/jobs/job.ts'
import type { Emitter } from '../../runtime/emitter.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Store } from '../../store/store.ts'
import { eventJob, type FailedRun, type WorkerEvents } from '../../worker/events.ts'

/** Retried attempts beyond this number a second are counted and not logged one by one: an outage fails every job. */
const LINES_PER_SECOND = 5

/** What could end a line or change how it reads: an error message may have come from anywhere. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu

/**
 * Logs each failed attempt of this process's workers in one line: the job, its queue, the attempt, the reason and what happens next.
 * The last attempt of a job is an error, has the stack, and is never left out: nothing else of the job follows it.
 */
export function logFailures(events: Emitter<WorkerEvents>, logger: Logger, runtime: Runtime): void {
  let second = 0
  let written = 0
  let omitted = 0

  const warn = (line: string): void => {
    const now = Math.floor(runtime.mono() / 1_000)
    if (now !== second) {
      if (omitted > 0) logger.warn(`${omitted} more failed attempts were not logged.`)
      second = now
      written = 0
      omitted = 0
    }
    if (written++ < LINES_PER_SECOND) logger.warn(line)
    else omitted++
  }

  const failed =
    (verb: string) =>
    ({ job, failure, state }: FailedRun): void => {
      // A dead job has an event of its own.
      if (state === 'dead') return
      warn(
        `Job ${job.id} of queue "${job.queue}" ${verb} on attempt ${job.attempt} and ${nextOf(state)}: ${reasonOf(failure)}`,
      )
    }
  events.on('error', failed('failed'))
  events.on('timeout', failed('timed out'))
  events.on('lost', failed('lost its worker'))
  events.on('dead', ({ job, failure, durationMs }) => {
    // An operator buried it, and knows.
    if (failure.kind === 'bury' && durationMs === 0) return
    // Indented, so that no line of a stack can pass for a line of the log.
    const stack = (failure.stack ?? reasonOf(failure)).split('\n').map((line) => oneLine(line).trim())
    const causes = (failure.causes ?? []).map(({ name, message }) => oneLine(`caused by ${name}: ${message}`))
    logger.error(
      `Job ${job.id} of queue "${job.queue}" is dead after attempt ${job.attempt}: ${[...stack, ...causes].join('\n    ')}`,
    )
  })
}

function nextOf(state: FailedRun['state']): string {
  if (state === 'delayed') return 'will be retried later'
  if (state === 'ready') return 'will be retried now'
  return `is ${state}`
}

function reasonOf({ name, message }: Failure): string {
  return oneLine(name === undefined || name === 'Error' ? message : `${name}: ${message}`)
}

function oneLine(text: string): string {
  return text.replace(CONTROLS, ' ')
}

/**
 * Tells the listeners of this process of jobs that it has buried. They are read for that, and only if somebody listens; should the
 * store fail now, the jobs are dead all the same and nobody here hears of them.
 */
export function buriedListener(
  { store, space }: { readonly store: Pick<Store, 'get'>; readonly space: string },
  events: Emitter<WorkerEvents>,
): (ids: readonly string[]) => Promise<void> {
  return async (ids) => {
    if (!events.has('dead')) return
    const { jobs } = await store.get({ space, ids }).catch(() => ({ jobs: [] }))
    for (const job of jobs) {
      if (job?.state !== 'dead' || job.failure === null) continue
      const failure = JSON.parse(job.failure) as Failure
      events.emit('dead', {
        job: eventJob({ ...job, token: '' }),
        failure,
        state: 'dead',
        durationMs: 0,
      })
    }
  }
}
