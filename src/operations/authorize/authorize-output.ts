/** What of all there is a caller sees: its queues, and payloads if it may. What it must not see is not there for it. */
import {
  type Explanation,
  type Failure,
  type JobView,
  type LogLine,
  type LogPage,
  matchesPattern,
  type ProgressView,
  patternsMayMeet,
  type RunMember,
  type RunView,
  type ScheduleView,
  SkepError,
} from '../../index.ts'
import type { Caller } from '../operation.ts'
import type { Redactor } from '../redaction/redact.ts'

/** Whether the caller sees every queue of its space. */
export function seesAll({ queues }: Caller): boolean {
  return queues.includes('*')
}

/** Whether the caller sees a queue, or all queues that fit a pattern. */
export function sees({ queues }: Caller, queue: string): boolean {
  return queues.some((pattern) => matchesPattern(pattern, queue))
}

/** Whether a pattern, or a name, is about any queue that the caller sees. */
export function concerns({ queues }: Caller, pattern: string): boolean {
  return queues.some((own) => patternsMayMeet(own, pattern))
}

export function notFound(what: string): SkepError {
  return new SkepError('NOT_FOUND', `There is no ${what} in this space, or your token cannot access it.`)
}

/** What there is, if the caller sees its queue. */
export function seen<T extends { readonly queue: string }>(caller: Caller, what: string, found: T | null): T {
  if (found !== null && sees(caller, found.queue)) return found
  throw notFound(what)
}

/** Who looks, and what hides secrets from everybody. */
export interface Viewer {
  readonly caller: Caller
  readonly services: { readonly redactor: Redactor }
}

/** A job as the caller sees it. */
export function shownJob<T extends JobView>(viewer: Viewer, job: T): T {
  const { caller, services } = viewer
  const { redactor } = services
  return {
    ...job,
    headers: redactor.value(job.headers),
    failure: job.failure && shownFailure(viewer, job.failure),
    payload: caller.payloads ? redactor.value(job.payload) : null,
    result: caller.payloads ? redactor.value(job.result ?? null) : null,
    ...(job.progress ? { progress: shownProgress(viewer, job.progress) } : {}),
  }
}

export function shownFailure({ services: { redactor } }: Viewer, failure: Failure): Failure {
  const { message, stack, causes } = failure
  return {
    ...failure,
    message: redactor.text(message),
    ...(stack === undefined ? {} : { stack: redactor.text(stack) }),
    ...(causes === undefined
      ? {}
      : { causes: causes.map((cause) => ({ ...cause, message: redactor.text(cause.message) })) }),
  }
}

export function shownProgress({ caller, services }: Viewer, progress: ProgressView): ProgressView {
  const isShown = caller.payloads && progress.note !== null
  return { ...progress, note: isShown ? services.redactor.text(progress.note as string) : null }
}

/** The lines of a job as the caller sees them: none, if it may not see payloads. */
export function shownLogs(viewer: Viewer, page: LogPage): LogPage {
  const progress = page.progress && shownProgress(viewer, page.progress)
  if (!viewer.caller.payloads) return { ...page, progress, lines: [], more: false }
  return { ...page, progress, lines: page.lines.map((line) => shownLine(viewer, line)) }
}

export function shownLine<T extends LogLine>({ services: { redactor } }: Viewer, line: T): T {
  return { ...line, message: redactor.text(line.message), fields: redactor.value(line.fields) }
}

/** Why something is where it is: the texts of errors are in it. */
export function shownExplanation({ services: { redactor } }: Viewer, explanation: Explanation): Explanation {
  return {
    ...explanation,
    causes: explanation.causes.map((cause) => redactor.value({ ...cause, text: redactor.text(cause.text) })),
    summary: redactor.text(explanation.summary),
  }
}

/** A run as the caller sees it. */
export function shownRun({ caller, services: { redactor } }: Viewer, run: RunView): RunView {
  return {
    ...run,
    state: caller.payloads ? redactor.value(run.state) : null,
    result: caller.payloads ? redactor.value(run.result) : null,
    failure: run.failure && { ...run.failure, message: redactor.text(run.failure.message) },
  }
}

/** What a run waits for, or waited for in vain: the words of an error may be in it. */
export function shownMember({ services: { redactor } }: Viewer, member: RunMember): RunMember {
  return { ...member, failure: member.failure && { message: redactor.text(member.failure.message) } }
}

/** A schedule as the caller sees it. */
export function shownSchedule(
  { caller, services: { redactor } }: Viewer,
  schedule: ScheduleView,
): ScheduleView {
  return { ...schedule, payload: caller.payloads ? redactor.value(schedule.payload ?? null) : null }
}
