/** What of all there is a caller sees: its queues, and payloads if it may. What it must not see is not there for it. */
import {
  type JobView,
  type LogPage,
  matchesPattern,
  type ProgressView,
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

/** A value as the caller sees it: with its secrets hidden. */
export function shown<T>({ redactor }: Caller, value: T): T {
  return redactor ? redactor.value(value) : value
}

/** A job as the caller sees it. */
export function shownJob<T extends JobView>(caller: Caller, job: T): T {
  const headers = shown(caller, job.headers)
  const failure = shown(caller, job.failure)
  const progress = job.progress ? { progress: shownProgress(caller, job.progress) } : {}
  if (!caller.payloads) return { ...job, headers, failure, ...progress, payload: null, result: null }
  const payload = shown(caller, job.payload)
  return { ...job, headers, failure, ...progress, payload, result: shown(caller, job.result ?? null) }
}

function shownProgress(caller: Caller, progress: ProgressView): ProgressView {
  return { ...progress, note: caller.payloads ? shown(caller, progress.note) : null }
}

/** The lines of a job as the caller sees them: none, if it may not see payloads. */
export function shownLogs(caller: Caller, page: LogPage): LogPage {
  const progress = page.progress && shownProgress(caller, page.progress)
  if (!caller.payloads) return { ...page, progress, lines: [], more: false }
  return { ...page, progress, lines: page.lines.map((line) => shown(caller, line)) }
}

/** A run as the caller sees it. */
export function shownRun(caller: Caller, run: RunView): RunView {
  if (!caller.payloads) return { ...run, state: null, result: null }
  return { ...run, state: shown(caller, run.state), result: shown(caller, run.result) }
}

/** A schedule as the caller sees it. */
export function shownSchedule(caller: Caller, schedule: ScheduleView): ScheduleView {
  return { ...schedule, payload: caller.payloads ? shown(caller, schedule.payload ?? null) : null }
}
