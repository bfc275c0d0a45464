import type { JobView } from '../../index.ts'
import type { JobDetail } from '../api.ts'
import { shownJob } from '../visible.ts'
import { toWire } from '../wire.ts'
import type { Context } from './define.ts'
import { timelineOf } from './timeline.ts'

/** A job with all that is known of it. */
export async function detailOf({ skep, caller, services }: Context, job: JobView): Promise<JobDetail> {
  const explanation = await skep.explain(job.id)
  const { headers } = job
  return {
    job: toWire(shownJob(caller, job)),
    timeline: timelineOf(job, [], services.runtime.now()),
    attempts: [],
    explanation: toWire(explanation),
    errorGroup: null,
    schedule: headers['skep-schedule'] ?? null,
    run: headers['skep-run'] ?? null,
    group: headers['skep-group'] ?? null,
    copyOf: headers['skep-copy-of'] ?? null,
    trace: traceOf(headers['traceparent']),
  }
}

/** The id of the trace in a W3C `traceparent`. */
export function traceOf(traceparent: string | undefined): string | null {
  return /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/.exec(traceparent ?? '')?.[1] ?? null
}
