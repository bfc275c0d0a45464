import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createSkep, never, queue, type Skep, silentLogger, snooze } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { type OtelOptions, otel } from '../../src/otel.ts'

const propagator = new CompositePropagator({
  propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()],
})

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
})
afterAll(() => context.disable())

interface Traced {
  readonly skep: Skep
  readonly spans: () => ReadableSpan[]
  readonly named: (name: string) => ReadableSpan[]
  readonly reader: PeriodicExportingMetricReader
  readonly tracer: ReturnType<BasicTracerProvider['getTracer']>
}

function open(options: Partial<OtelOptions> = {}): Traced {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const reader = new PeriodicExportingMetricReader({
    exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
    exportIntervalMillis: 3_600_000,
  })
  const meterProvider = new MeterProvider({ readers: [reader] })
  const skep = createSkep({
    store: memoryStore(),
    logger: silentLogger,
    telemetry: otel({ tracerProvider, meterProvider, propagator, ...options }),
  })
  onTestFinished(async () => {
    await skep.close()
    await meterProvider.shutdown()
  })
  const spans = (): ReadableSpan[] => exporter.getFinishedSpans()
  const named = (name: string): ReadableSpan[] => spans().filter((span) => span.name === name)
  return { skep, spans, named, reader, tracer: tracerProvider.getTracer('test') }
}

async function metric(reader: PeriodicExportingMetricReader, name: string): Promise<readonly DataPoint[]> {
  const { resourceMetrics } = await reader.collect()
  const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)
  return (all.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? []) as unknown as DataPoint[]
}
interface DataPoint {
  readonly attributes: Readonly<Record<string, unknown>>
  readonly value: number | { readonly count: number }
}

const mail = queue<number, number>('mail')

describe('OpenTelemetry', () => {
  it('has a span for the enqueue and a linked one for the run, in a trace of its own', async () => {
    const { skep, named } = open()
    const worker = skep.worker([mail.handle(({ payload }) => payload + 1)])

    const job = await skep.enqueue(mail, 1)
    await job.result()
    await worker.stop()

    const [send] = named('send mail')
    const [run] = named('process mail')
    expect(send?.kind).toBe(SpanKind.PRODUCER)
    expect(send?.attributes).toMatchObject({
      'messaging.system.name': 'skep',
      'messaging.destination.name': 'mail',
      'messaging.operation.type': 'send',
      'messaging.message.id': job.id,
      'messaging.message.body.size': 1,
    })
    expect(run?.kind).toBe(SpanKind.CONSUMER)
    expect(run?.attributes).toMatchObject({
      'messaging.operation.type': 'process',
      'messaging.message.id': job.id,
      'messaging.client.id': worker.id,
      'skep.job.attempt': 1,
    })
    expect(run?.links.map((link) => link.context.spanId)).toEqual([send?.spanContext().spanId])
    expect(run?.spanContext().traceId).not.toBe(send?.spanContext().traceId)
  })

  it('makes the run a part of the trace if asked to', async () => {
    const { skep, named } = open({ join: 'parent' })
    skep.worker([mail.handle(({ payload }) => payload)])

    await (await skep.enqueue(mail, 1)).result()

    const [send] = named('send mail')
    const [run] = named('process mail')
    expect(run?.spanContext().traceId).toBe(send?.spanContext().traceId)
    expect(run?.parentSpanContext?.spanId).toBe(send?.spanContext().spanId)
  })

  it('is a part of the caller’s trace, and the context is active in the handler', async () => {
    const { skep, named, tracer } = open({ join: 'parent' })
    const next = queue<number, number>('next')
    let seen: { readonly trace: string | undefined; readonly tenant: string | undefined } | null = null
    skep.worker([
      mail.handle(async (job) => {
        await Promise.resolve()
        await job.enqueue(next, 2)
        return 1
      }),
      next.handle(async () => {
        await Promise.resolve()
        seen = {
          trace: trace.getActiveSpan()?.spanContext().traceId,
          tenant: propagation.getActiveBaggage()?.getEntry('tenant')?.value,
        }
        return 1
      }),
    ])
    const outer = tracer.startSpan('request')
    const baggage = propagation.createBaggage({ tenant: { value: 'acme' } })

    await context.with(propagation.setBaggage(trace.setSpan(context.active(), outer), baggage), async () => {
      await (await skep.enqueue(mail, 1)).result()
    })
    outer.end()
    await expect.poll(() => seen).not.toBeNull()

    const { traceId } = outer.spanContext()
    expect(seen).toEqual({ trace: traceId, tenant: 'acme' })
    expect(named('send mail')[0]?.parentSpanContext?.spanId).toBe(outer.spanContext().spanId)
    expect(named('process mail')[0]?.spanContext().traceId).toBe(traceId)
  })

  it('keeps headers of the caller, which win', async () => {
    const { skep } = open()
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

    const own = await skep.enqueue(mail, 1, { headers: { traceparent, tenant: 'acme' } })
    const given = await skep.enqueue(mail, 1, { headers: { tenant: 'acme' } })

    expect((await own.get())?.headers).toEqual({ traceparent, tenant: 'acme' })
    expect((await given.get())?.headers).toMatchObject({ tenant: 'acme', traceparent: expect.any(String) })
  })

  it('leaves its headers out where they do not fit', async () => {
    const { skep } = open()
    const headers = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`h${i}`, 'x']))

    const job = await skep.enqueue(mail, 1, { headers })

    expect((await job.get())?.headers).toEqual(headers)
  })

  it('marks what failed with the error', async () => {
    const { skep, named, reader } = open()
    const fragile = queue<number>('fragile', { onError: never() })
    skep.worker([
      fragile.handle(() => {
        throw Object.assign(new TypeError('broken'), { code: 'E_BROKEN' })
      }),
    ])

    await (await skep.enqueue(fragile, 1)).result().catch(() => {})

    const [run] = named('process fragile')
    expect(run?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'broken' })
    expect(run?.attributes['error.type']).toBe('E_BROKEN')
    expect(run?.events.map(({ name }) => name)).toEqual(['exception'])
    const [duration] = await metric(reader, 'messaging.process.duration')
    expect(duration?.attributes).toMatchObject({ 'error.type': 'E_BROKEN' })
  })

  it('marks an enqueue that failed', async () => {
    const { skep, named } = open()

    await expect(skep.enqueue(mail, 1, { priority: 1e9 })).rejects.toMatchObject({ code: 'OPTION_INVALID' })

    expect(named('send mail')[0]?.attributes['error.type']).toBe('OPTION_INVALID')
  })

  it('takes a snooze for no error', async () => {
    const { skep, named } = open()
    const lazy = queue<number>('lazy')
    let calls = 0
    skep.worker([lazy.handle(() => (++calls === 1 ? snooze(1, 'not yet') : undefined))])

    await (await skep.enqueue(lazy, 1)).result()

    expect(named('process lazy').map(({ status }) => status.code)).toEqual([
      SpanStatusCode.UNSET,
      SpanStatusCode.UNSET,
    ])
    expect(named('process lazy')[1]?.attributes['skep.job.attempt']).toBe(2)
  })

  it('has one span for many jobs, and one for a batch with a link to each', async () => {
    const { skep, named, reader } = open()
    const bulk = queue<number, number>('bulk', { onError: never() })
    const jobs = await skep.enqueueMany(bulk, [1, 2, 3])
    await skep.enqueue(bulk, 4)
    skep.worker([
      bulk.handleBatch({ size: 10 }, (contexts) =>
        contexts.map(({ payload }) => (payload === 3 ? (new RangeError('three') as never) : payload)),
      ),
    ])

    await jobs[0]?.result()
    await expect.poll(() => named('process bulk').length).toBeGreaterThan(0)

    const [many, one] = named('send bulk')
    const [batch] = named('process bulk')
    expect(many?.attributes['messaging.batch.message_count']).toBe(3)
    expect(batch?.attributes['messaging.batch.message_count']).toBe(4)
    expect(batch?.links.map((link) => link.context.spanId)).toEqual([
      ...Array<string>(3).fill(many?.spanContext().spanId as string),
      one?.spanContext().spanId,
    ])
    expect(batch?.attributes['error.type']).toBe('RangeError')
    const [sent] = await metric(reader, 'messaging.client.sent.messages')
    const [consumed] = await metric(reader, 'messaging.client.consumed.messages')
    expect([sent?.value, consumed?.value]).toEqual([4, 4])
    const [duration] = await metric(reader, 'messaging.client.operation.duration')
    expect(duration?.value).toMatchObject({ count: 2 })
  })

  it('does nothing without an SDK', async () => {
    const skep = createSkep({ store: memoryStore(), logger: silentLogger, telemetry: otel() })
    onTestFinished(() => skep.close())
    skep.worker([mail.handle(({ payload }) => payload + 1)])

    const job = await skep.enqueue(mail, 1)

    expect(await job.result()).toBe(2)
    expect((await job.get())?.headers).toEqual({})
  })
})
