import { randomBytes } from 'node:crypto'
import { JOB_STATES, type Queue, queue, type Skep } from '../../../index.ts'
import type { Call, Command } from '../../command.ts'
import { using } from '../../connect/open.ts'
import { listenForStop } from '../../connect/stop.ts'
import { EXIT } from '../../exit.ts'
import { count, span } from '../../format/numbers.ts'
import { table } from '../../format/table.ts'

interface Measure {
  readonly name: string
  readonly jobs: number
  readonly ms: number
  /** Of one call, where calls were timed one by one. */
  readonly p50Ms?: number
  readonly p99Ms?: number
}

type BenchQueue = Queue<{ readonly n: number }>

const CALLERS = 100
const BULK = 1_000

export const benchCommand: Command = {
  name: 'bench',
  summary: 'Measure this machine and this database',
  asksNoServer: true,
  usage: ['bench [--jobs n] [--concurrency n]'],
  flags: {
    jobs: {
      kind: 'text',
      value: 'n',
      help: 'Jobs per measurement, fewer where they run one by one. Default: 10000',
    },
    concurrency: { kind: 'text', value: 'n', help: 'Concurrent handlers while draining. Default: 100' },
  },
  examples: ['skep bench', 'skep bench --db postgres://localhost/shop --jobs 50000 --json'],

  async run(call) {
    const { args, out } = call
    const jobs = args.whole('jobs', { min: 1, max: 10_000_000 }) ?? 10_000
    const concurrency = args.whole('concurrency', { min: 1, max: 100_000 }) ?? 100
    // A space of its own: no worker sees these jobs, and no other jobs are touched.
    const name = `bench-${randomBytes(4).toString('hex')}`
    return using(call, { create: true, space: name }, async ({ skep, place }) => {
      const stop = listenForStop({ onHurry: () => {}, onForce: () => process.exit(EXIT.failure) })
      out.note(
        out.paintNote('dim', `Measuring ${place.label} in space ${name}. The jobs are removed afterwards.`),
      )
      try {
        const { detail } = await skep.ready()
        const measures = await measure(skep, queue(name), { jobs, concurrency, signal: stop.signal, call })
        if (out.json)
          out.object({
            store: place.label,
            detail,
            node: process.versions.node,
            measures: measures.map(withRate),
          })
        else out.data(show(measures, call))
        return stop.signal.aborted ? EXIT.failure : EXIT.ok
      } finally {
        await clearAway(skep, name)
        stop.release()
      }
    })
  },
}

async function measure(
  skep: Skep,
  bench: BenchQueue,
  options: { jobs: number; concurrency: number; signal: AbortSignal; call: Call },
): Promise<Measure[]> {
  const { jobs, concurrency, signal, call } = options
  const steps: readonly (() => Promise<Measure>)[] = [
    () => oneByOne(skep, bench, Math.min(jobs, 1_000), signal),
    () => together(skep, bench, jobs, signal),
    () => inBulk(skep, bench, jobs, signal),
    () => drain(skep, bench, concurrency, signal),
  ]
  // Warm-up: the first calls compile code and open connections.
  await oneByOne(skep, bench, Math.min(jobs, 20), signal)
  const measures: Measure[] = []
  for (const [index, step] of steps.entries()) {
    if (signal.aborted) break
    if (process.stderr.isTTY && !call.out.json)
      call.out.note(call.out.paintNote('dim', `${index + 1} of ${steps.length} …`))
    measures.push(await step())
  }
  return measures
}

async function oneByOne(skep: Skep, bench: BenchQueue, jobs: number, signal: AbortSignal): Promise<Measure> {
  const times: number[] = []
  const startedAt = performance.now()
  for (let n = 0; n < jobs && !signal.aborted; n++) {
    const before = performance.now()
    await skep.enqueue(bench, { n })
    times.push(performance.now() - before)
  }
  return {
    name: 'enqueue, one awaited',
    jobs: times.length,
    ms: performance.now() - startedAt,
    ...percentiles(times),
  }
}

async function together(skep: Skep, bench: BenchQueue, jobs: number, signal: AbortSignal): Promise<Measure> {
  const times: number[] = []
  let next = 0
  const startedAt = performance.now()
  const caller = async (): Promise<void> => {
    while (next < jobs && !signal.aborted) {
      const n = next++
      const before = performance.now()
      await skep.enqueue(bench, { n })
      times.push(performance.now() - before)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  const name = `enqueue, ${CALLERS} callers`
  return { name, jobs: times.length, ms: performance.now() - startedAt, ...percentiles(times) }
}

async function inBulk(skep: Skep, bench: BenchQueue, jobs: number, signal: AbortSignal): Promise<Measure> {
  let sent = 0
  const startedAt = performance.now()
  while (sent < jobs && !signal.aborted) {
    const size = Math.min(BULK, jobs - sent)
    await skep.enqueueMany(
      bench,
      Array.from({ length: size }, (_, n) => ({ n })),
    )
    sent += size
  }
  return { name: `enqueueMany, ${count(BULK)} each`, jobs: sent, ms: performance.now() - startedAt }
}

/** Runs everything that was enqueued, with handlers that do nothing. */
async function drain(
  skep: Skep,
  bench: BenchQueue,
  concurrency: number,
  signal: AbortSignal,
): Promise<Measure> {
  const before = await skep.queues.list([bench])
  const waiting = before.reduce((sum, one) => sum + one.ready, 0)
  let done = 0
  const startedAt = performance.now()
  const worker = skep.worker([bench.handle(() => null)], { concurrency })
  await new Promise<void>((resolve) => {
    if (waiting === 0 || signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
    skep.on('finished', () => {
      done++
      if (done === waiting) resolve()
    })
  })
  const ms = performance.now() - startedAt
  await worker.stop({ drain: 0 })
  return { name: `drain, concurrency ${concurrency}`, jobs: done, ms }
}

/** By selection and state by state, until nothing is left: a bench that was cut short leaves jobs in any state. */
async function clearAway(skep: Skep, name: string): Promise<void> {
  const states = JOB_STATES.filter((state) => state !== 'running')
  for (let turn = 0; turn < 50; turn++) {
    await skep.jobs.remove({ queue: name, state: states })
    const left = (await skep.queues.list([name])).some((one) => JOB_STATES.some((state) => one[state] > 0))
    if (!left) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function percentiles(times: readonly number[]): { p50Ms: number; p99Ms: number } {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { p50Ms: at(0.5), p99Ms: at(0.99) }
}

function withRate(measure: Measure): Measure & { readonly perSecond: number } {
  return { ...measure, perSecond: Math.round((measure.jobs / measure.ms) * 1_000) }
}

function show(measures: readonly Measure[], { out }: Call): string {
  const ms = (value: number | undefined): string => (value === undefined ? '–' : `${value.toFixed(2)}ms`)
  const right = 'right'
  return table(
    [
      { title: 'MEASURE' },
      { title: 'JOBS', align: right },
      { title: 'TOOK', align: right },
      { title: 'JOBS/S', align: right },
      { title: 'P50', align: right },
      { title: 'P99', align: right },
    ],
    measures
      .map(withRate)
      .map((one) => [
        one.name,
        count(one.jobs),
        span(one.ms),
        { text: count(one.perSecond), style: ['bold', 'green'] },
        ms(one.p50Ms),
        ms(one.p99Ms),
      ]),
    { width: out.width, paint: out.paint },
  ).join('\n')
}
