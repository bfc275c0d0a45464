import type { Instrumentation, ProcessedJob } from '../instrumentation.ts'
import { readValue } from '../worker/events.ts'
import type { HandlerSpec } from '../worker/handler.ts'
import type { Run } from '../worker/run.ts'

/** The same handler, followed by a tracer. */
export function instrumentedSpec(
  spec: HandlerSpec,
  telemetry: Instrumentation,
  workerId: () => string,
): HandlerSpec {
  const { queue, batch } = spec
  return {
    ...spec,
    call: (runs) =>
      telemetry.process(
        { queue, workerId: workerId(), isBatch: batch > 1, jobs: runs.map(processedJob) },
        () => spec.call(runs),
      ),
  }
}

function processedJob({ job }: Run): ProcessedJob {
  const headers = job.headers === null ? {} : readValue(job.headers)
  return {
    id: job.id,
    headers: typeof headers === 'object' && headers !== null ? (headers as Record<string, string>) : {},
    attempt: job.starts,
    payloadBytes: Buffer.byteLength(job.payload),
  }
}
