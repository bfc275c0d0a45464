/** What of all there is a caller sees: its queues, and payloads if it may. What it must not see is not there for it. */
import {
  type JobView,
  type LogPage,
  matchesPattern,
  type RunView,
  type ScheduleView,
  SkepError,
} from '../index.ts'
import type { Caller } from './operation.ts'

/** Whether the caller sees every queue of its space. */
export function seesAll({ queues }: Caller): boolean {
  return queues.includes('*')
}

/** Whether the caller sees a queue, or all queues that fit a pattern. */
export function sees({ queues }: Caller, queue: string): boolean {
  return queues.some((pattern) => matchesPattern(pattern, queue))
}

export function notFound(what: string): SkepError {
  return new SkepError('NOT_FOUND', `There is no ${what} in this space, or it is not yours to see.`)
}

/** What there is, if the caller sees its queue. */
export function seen<T extends { readonly queue: string }>(caller: Caller, what: string, found: T | null): T {
  if (found !== null && sees(caller, found.queue)) return found
  throw notFound(what)
}

/** A job as the caller sees it. */
export function shownJob<T extends JobView>(caller: Caller, job: T): T {
  if (caller.payloads) return { ...job, result: job.result ?? null }
  return {
    ...job,
    payload: null,
    result: null,
    ...(job.progress ? { progress: { ...job.progress, note: null } } : {}),
  }
}

/** The lines of a job as the caller sees them: none, if it may not see payloads. */
export function shownLogs(caller: Caller, page: LogPage): LogPage {
  if (caller.payloads) return page
  return { ...page, progress: page.progress && { ...page.progress, note: null }, lines: [], more: false }
}

/** A run as the caller sees it. */
export function shownRun(caller: Caller, run: RunView): RunView {
  return caller.payloads ? run : { ...run, state: null, result: null }
}

/** A schedule as the caller sees it. */
export function shownSchedule(caller: Caller, schedule: ScheduleView): ScheduleView {
  return { ...schedule, payload: caller.payloads ? (schedule.payload ?? null) : null }
}
