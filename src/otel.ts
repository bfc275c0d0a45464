/**
 * `skep/otel`: follows jobs with OpenTelemetry, from where they are enqueued to where they run.
 *
 * ```ts
 * const skep = createSkep({ store, telemetry: otel() })
 * ```
 *
 * It needs `@opentelemetry/api` and whatever SDK your program has set up; without one it does nothing. The names are those of the
 * messaging conventions.
 */

import {
  type Attributes,
  type Context,
  context,
  type Link,
  type Meter,
  type MeterProvider,
  metrics,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapPropagator,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import type { NewJob } from './core/jobs/job.ts'
import { assertOptions, optionKeys } from './core/options.ts'
import type { Instrumentation, ProcessedBatch, ProcessedJob } from './runtime/instrumentation.ts'

export interface OtelOptions {
  /**
   * How the run of a job is joined to the trace that enqueued it. `'link'`: it is a trace of its own that points there, which
   * suits jobs that wait for long or are retried. `'parent'`: it is a part of that trace. Batches always have links.
   * @default 'link'
   */
  readonly join?: 'link' | 'parent'
  /** @default the global one */
  readonly tracerProvider?: TracerProvider
  /** @default the global one */
  readonly meterProvider?: MeterProvider
  /** What writes the headers of jobs, and reads them. @default the global one */
  readonly propagator?: TextMapPropagator
}

const KEYS = optionKeys<OtelOptions>('otel()', {
  join: true,
  tracerProvider: true,
  meterProvider: true,
  propagator: true,
})

/** The shares of a second that the conventions ask for. */
const BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/** So many ids and links a span has at most: a batch may have ten thousand jobs. */
const MOST_LINKS = 128

/** What the conventions call the system, and what the tracer is called. */
const SYSTEM = 'skep'

/** Spans, metrics and the context of traces for a Skep. Give it as `telemetry`. */
export function otel(options: OtelOptions = {}): Instrumentation {
  assertOptions(KEYS, options)
  return new OtelInstrumentation(options)
}

class OtelInstrumentation implements Instrumentation {
  readonly #join: 'link' | 'parent'
  readonly #tracer: Tracer
  readonly #propagator: Pick<TextMapPropagator, 'inject' | 'extract'>
  readonly #sentMessages: ReturnType<Meter['createCounter']>
  readonly #consumedMessages: ReturnType<Meter['createCounter']>
  readonly #operationDuration: ReturnType<Meter['createHistogram']>
  readonly #processDuration: ReturnType<Meter['createHistogram']>

  constructor({ join = 'link', tracerProvider, meterProvider, propagator }: OtelOptions) {
    this.#join = join
    this.#tracer = (tracerProvider ?? trace).getTracer(SYSTEM)
    this.#propagator = propagator ?? propagation
    const meter = (meterProvider ?? metrics).getMeter(SYSTEM)
    const seconds = { unit: 's', advice: { explicitBucketBoundaries: BOUNDARIES } }
    this.#sentMessages = meter.createCounter('messaging.client.sent.messages', {
      description: 'Jobs that were enqueued.',
      unit: '{message}',
    })
    this.#consumedMessages = meter.createCounter('messaging.client.consumed.messages', {
      description: 'Jobs that a handler got.',
      unit: '{message}',
    })
    this.#operationDuration = meter.createHistogram('messaging.client.operation.duration', {
      description: 'How long an enqueue took.',
      ...seconds,
    })
    this.#processDuration = meter.createHistogram('messaging.process.duration', {
      description: 'How long a handler took.',
      ...seconds,
    })
  }

  headers(): Readonly<Record<string, string>> | null {
    const active = context.active()
    if (trace.getSpanContext(active) === undefined && propagation.getBaggage(active) === undefined)
      return null
    const headers: Record<string, string> = {}
    this.#propagator.inject(active, headers, {
      set: (carrier, key, value) => {
        carrier[key] = value
      },
    })
    return headers
  }

  async send<Reply>(
    queue: string,
    work: (made: (jobs: readonly NewJob[]) => void) => Promise<Reply>,
  ): Promise<Reply> {
    const common = attributesOf(queue, 'send')
    const span = this.#tracer.startSpan(`send ${queue}`, { kind: SpanKind.PRODUCER, attributes: common })
    const startedAt = performance.now() // boundary: what a tracer measures is real time, also in tests
    let sent = 0
    const made = (jobs: readonly NewJob[]): void => {
      sent = jobs.length
      span.setAttributes(sentAttributes(jobs))
    }
    let errorType: string | null = null
    try {
      return await context.with(trace.setSpan(context.active(), span), () => work(made))
    } catch (error) {
      errorType = fail(span, error)
      throw error
    } finally {
      const attributes = errorType === null ? common : { ...common, 'error.type': errorType }
      this.#operationDuration.record(secondsSince(startedAt), attributes)
      if (sent > 0) this.#sentMessages.add(sent, attributes)
      span.end()
    }
  }

  process(batch: ProcessedBatch, work: () => unknown): unknown {
    const { queue, jobs } = batch
    const common = attributesOf(queue, 'process')
    const { parent, links } = this.#originOf(batch)
    const span = this.#tracer.startSpan(
      `process ${queue}`,
      { kind: SpanKind.CONSUMER, attributes: { ...common, ...processedAttributes(batch) }, links },
      parent,
    )
    const startedAt = performance.now() // boundary: what a tracer measures is real time, also in tests
    this.#consumedMessages.add(jobs.length, common)
    const end = (errorType: string | null): void => {
      const attributes = errorType === null ? common : { ...common, 'error.type': errorType }
      this.#processDuration.record(secondsSince(startedAt), attributes)
      span.end()
    }
    try {
      const answer = context.with(trace.setSpan(parent, span), work)
      if (!isThenable(answer)) {
        end(failedIn(span, batch, answer))
        return answer
      }
      return answer.then(
        (value: unknown) => {
          end(failedIn(span, batch, value))
          return value
        },
        (error: unknown) => {
          end(fail(span, error))
          throw error
        },
      )
    } catch (error) {
      end(fail(span, error))
      throw error
    }
  }

  /** Where the jobs came from: the parent of the span, and what it is linked to. */
  #originOf({ jobs, isBatch }: ProcessedBatch): { readonly parent: Context; readonly links: Link[] } {
    const origins = jobs.slice(0, MOST_LINKS).map((job) => this.#extract(job))
    const links = origins.flatMap((origin) => {
      const spanContext = trace.getSpanContext(origin)
      return spanContext === undefined ? [] : [{ context: spanContext }]
    })
    const [origin] = origins
    if (isBatch || origin === undefined) return { parent: ROOT_CONTEXT, links }
    if (this.#join === 'parent') return { parent: origin, links }
    // A trace of its own, with whatever else came along, such as baggage.
    return { parent: trace.deleteSpan(origin), links }
  }

  #extract({ headers }: ProcessedJob): Context {
    return this.#propagator.extract(ROOT_CONTEXT, headers, {
      get: (carrier, key) => (Object.hasOwn(carrier, key) ? carrier[key] : undefined),
      keys: (carrier) => Object.keys(carrier),
    })
  }
}

function attributesOf(queue: string, operation: 'send' | 'process'): Attributes {
  return {
    'messaging.system': SYSTEM,
    'messaging.system.name': SYSTEM,
    'messaging.destination.name': queue,
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
  }
}

function sentAttributes(jobs: readonly NewJob[]): Attributes {
  const [job] = jobs
  if (jobs.length !== 1 || job === undefined) return { 'messaging.batch.message_count': jobs.length }
  return {
    'messaging.message.id': job.id,
    'messaging.message.body.size': Buffer.byteLength(job.payload),
  }
}

function processedAttributes({ jobs, isBatch, workerId }: ProcessedBatch): Attributes {
  const [job] = jobs
  if (isBatch || job === undefined) {
    return { 'messaging.client.id': workerId, 'messaging.batch.message_count': jobs.length }
  }
  return {
    'messaging.client.id': workerId,
    'messaging.message.id': job.id,
    'messaging.message.body.size': job.payloadBytes,
    'skep.job.attempt': job.attempt,
  }
}

/** In a batch an error among the answers says that its job failed. */
function failedIn(span: Span, { isBatch }: ProcessedBatch, answer: unknown): string | null {
  const failed = isBatch && Array.isArray(answer) ? answer.find((one) => one instanceof Error) : undefined
  return failed === undefined ? null : fail(span, failed)
}

function fail(span: Span, thrown: unknown): string {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  span.recordException(error)
  span.setStatus({ code: SpanStatusCode.ERROR, message: error.message })
  const code: unknown = (error as { readonly code?: unknown }).code
  const type = typeof code === 'string' ? code : error.name
  span.setAttribute('error.type', type)
  return type
}

function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1_000 // boundary: what a tracer measures is real time, also in tests
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  )
}
