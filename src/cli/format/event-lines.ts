import type { EventJob, FailedRun, Skep } from '../../index.ts'
import { failureLine } from './job-text.ts'
import { span } from './numbers.ts'
import { clean, cleanLines } from './text.ts'

/** Something that happened to a job, in words. */
export interface JobEvent {
  readonly at: number
  readonly kind: 'done' | 'error' | 'dead' | 'other'
  readonly queue: string
  /** What happened, short. */
  readonly what: string
  /** Why, on one line and harmless. */
  readonly why: string
  /** Where it was thrown, on several lines and harmless. */
  readonly stack?: string
  readonly id: string
}

/** Reports the events of this process's workers. Returns a function that stops it. */
export function watchJobs(skep: Skep, tell: (event: JobEvent) => void): () => void {
  const event = (kind: JobEvent['kind'], job: EventJob, what: string, why = '', stack = ''): void =>
    tell({
      at: Date.now(),
      kind,
      queue: clean(job.queue),
      what,
      why: clean(why),
      stack: cleanLines(stack),
      id: job.id,
    })
  const failed =
    (verb: string) =>
    ({ job, failure, state }: FailedRun): void => {
      // A dead job has an event of its own.
      if (state !== 'dead')
        event('error', job, `try ${tryOf(job)} ${verb}${nextOf(state)}`, failureLine(failure))
    }
  const ends = [
    skep.on('finished', ({ job, durationMs }) => event('done', job, `done in ${span(durationMs)}`)),
    skep.on('error', failed('failed')),
    skep.on('timeout', failed('ran out of time')),
    skep.on('lost', failed('lost its worker')),
    skep.on('dead', ({ job, failure }) =>
      event('dead', job, `dead after ${tries(tryOf(job))}`, failureLine(failure), failure.stack),
    ),
    skep.on('snoozed', ({ job, delayMs }) => event('other', job, `snoozed for ${span(delayMs)}`)),
    skep.on('cancelled', ({ job, failure }) => event('other', job, 'cancelled', failureLine(failure))),
  ]
  return () => {
    for (const end of ends) end()
  }
}

function tryOf(job: EventJob): number {
  return Math.max(1, job.starts)
}

function tries(number: number): string {
  return number === 1 ? '1 try' : `${number} tries`
}

function nextOf(state: FailedRun['state']): string {
  if (state === 'delayed') return ', waits'
  if (state === 'ready') return ', again now'
  return `, ${state}`
}

/** Limits the lines per second, and reports the number of omitted ones. */
export function limited(
  perSecond: number,
  write: (line: string) => void,
): { write(line: string): void; end(): void } {
  let second = 0
  let written = 0
  let dropped = 0
  const report = (): void => {
    if (dropped > 0) write(`… and ${dropped} more like these`)
    dropped = 0
  }
  return {
    write(line) {
      const now = Math.floor(Date.now() / 1_000)
      if (now !== second) {
        report()
        second = now
        written = 0
      }
      if (written < perSecond) {
        written++
        write(line)
      } else dropped++
    },
    end: report,
  }
}
