import { fingerprintOf, type JobView } from '../../index.ts'
import type { JobDetail } from '../api.ts'
import { shownExplanation, shownJob } from '../visible.ts'
import { toWire } from '../wire.ts'
import type { Context } from './define.ts'
import { redrivesOf } from './redrives.ts'
import { timelineOf } from './timeline.ts'

/** A job with all that is known of it. */
export async function detailOf(context: Context, job: JobView): Promise<JobDetail> {
  const { skep, services } = context
  const { redactor } = services
  const [explanation, told] = await Promise.all([skep.explain(job.id), skep.attempts(job.id)])
  const redrives = await redrivesOf(context, job, told)
  const attempts = told.map(
    ({ n, generation, at, startedAt, worker, version, kind, message, name, stack }) => ({
      n,
      generation,
      at: at.toISOString(),
      startedAt: startedAt?.toISOString() ?? null,
      worker,
      version,
      kind,
      message: redactor.text(message),
      name,
      stack: stack === null ? null : redactor.text(stack),
    }),
  )
  const shown = shownJob(context, job)
  const { headers } = job
  const member = explanation.causes.find((cause) => cause.cause === 'member-of')
  const moves = explanation.causes.find((cause) => cause.cause === 'moves-run')
  return {
    job: toWire(shown),
    timeline: timelineOf(
      shown,
      attempts,
      { redrives, endings: told.map(({ ended }) => ended) },
      services.runtime.now(),
    ),
    attempts,
    explanation: toWire(shownExplanation(context, explanation)),
    errorGroup: groupOf(job),
    schedule: headers['skep-schedule'] ?? null,
    run: moves?.run ?? member?.run ?? null,
    group: member?.group ?? null,
    copyOf: headers['skep-copy-of'] ?? null,
    trace: traceOf(headers['traceparent']),
  }
}

/** The group of the error that it ended with, or that it is tried again after. */
function groupOf({ queue, failure, state }: JobView): string | null {
  const isError = failure?.kind === 'error' || failure?.kind === 'timeout' || failure?.kind === 'lost'
  return failure !== null && isError && state !== 'done' ? fingerprintOf(queue, failure) : null
}

/** The id of the trace in a W3C `traceparent`. */
export function traceOf(traceparent: string | undefined): string | null {
  return /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/.exec(traceparent ?? '')?.[1] ?? null
}
