/**
 * Metrics in the Prometheus text format (0.0.4). Pure: numbers in, text out.
 *
 * Data from the store (jobs, ages, workers, rates of all processes) is the same in every process, so scraping
 * one server is enough. Counters and histograms are those of the process: scrape each worker for them.
 */

import type { Tally } from './counters.ts'
import { boundMs, bucketOf, type Histogram } from './histogram.ts'
import type { QueueRates } from './series.ts'

export interface Exposed {
  readonly space: string
  readonly queues: readonly {
    readonly queue: string
    readonly states: Readonly<Record<string, number>>
    /** How long the oldest ready job has waited since it was due; null if none is ready. */
    readonly oldestMs: number | null
    /** The number of ready jobs that no live worker handles: all of them, or 0. */
    readonly unhandled: number
  }[]
  /** Of all processes. */
  readonly rates: readonly QueueRates[]
  /** Of this process. */
  readonly totals: ReadonlyMap<string, Tally>
  readonly workers: readonly {
    readonly id: string
    readonly host: string
    readonly running: number
    readonly concurrency: number
    readonly lagMs: number | null
    readonly paused: boolean
    readonly life: string
  }[]
  /** Null: disabled. */
  readonly isNotifierUp: boolean | null
  readonly process: {
    readonly memoryBytes: number
    readonly cpuSeconds: number
    readonly startSeconds: number
  }
}

type Labels = Readonly<Record<string, string>>

interface Sample {
  readonly suffix?: string
  readonly labels: Labels
  readonly value: number
}

interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'gauge' | 'counter' | 'histogram'
  readonly samples: readonly Sample[]
}

/**
 * The bounds of the histograms. They are also bounds of our own buckets, so the counts are exact: 1 ms,
 * doubled up to 16 s, then quadrupled.
 */
const BOUNDS_MS: readonly number[] = [
  ...Array.from({ length: 15 }, (_, i) => 2 ** i),
  ...[16, 18, 20, 22].map((i) => 2 ** i),
]

export function exposition(exposed: Exposed): string {
  return familiesOf(exposed).map(write).join('')
}

function familiesOf(exposed: Exposed): Family[] {
  const { space, queues, rates, totals, workers, isNotifierUp, process } = exposed
  const tallies = [...totals]
  const histogram = (of: (tally: Tally) => Histogram): Sample[] =>
    tallies.flatMap(([queue, tally]) => histogramSamples({ space, queue }, of(tally)))
  const perQueue = (value: (tally: Tally) => number): Sample[] =>
    tallies.map(([queue, tally]) => ({ labels: { space, queue }, value: value(tally) }))
  const living = workers.filter(({ life }) => life !== 'gone')
  const gauge = (name: string, help: string, samples: readonly Sample[]): Family => ({
    name,
    help,
    type: 'gauge',
    samples,
  })
  const counter = (name: string, help: string, samples: readonly Sample[]): Family => ({
    name,
    help,
    type: 'counter',
    samples,
  })
  const all = { space }

  return [
    gauge(
      'skep_jobs',
      'Jobs in each state.',
      queues.flatMap(({ queue, states }) =>
        Object.entries(states).map(([state, value]) => ({ labels: { space, queue, state }, value })),
      ),
    ),
    gauge(
      'skep_oldest_ready_seconds',
      'How long the oldest ready job has been due, in any lane and of any priority; 0 if none is ready.',
      queues.map(({ queue, oldestMs }) => ({ labels: { space, queue }, value: (oldestMs ?? 0) / 1_000 })),
    ),
    gauge(
      'skep_jobs_unhandled',
      'Ready jobs of a queue that no live worker handles: all that are ready, or 0.',
      queues.map(({ queue, unhandled }) => ({ labels: { space, queue }, value: unhandled })),
    ),
    gauge(
      'skep_jobs_per_second',
      'Events per second in a queue, over all processes and the last minute.',
      rates.flatMap(({ queue, enqueued, done, failed }) =>
        Object.entries({ enqueued, done, failed }).map(([what, value]) => ({
          labels: { space, queue, what },
          value,
        })),
      ),
    ),
    counter(
      'skep_jobs_enqueued_total',
      'Jobs enqueued by this process.',
      perQueue(({ enqueued }) => enqueued),
    ),
    counter(
      'skep_jobs_finished_total',
      'Attempts that ended in this process, by outcome; retried, dead and failed are failures.',
      tallies.flatMap(([queue, tally]) =>
        Object.entries(outcomesOf(tally)).map(([outcome, value]) => ({
          labels: { space, queue, outcome },
          value,
        })),
      ),
    ),
    counter(
      'skep_jobs_lost_total',
      'Attempts whose worker died or lost its lease, as seen by this process.',
      perQueue(({ lost }) => lost),
    ),
    {
      name: 'skep_job_wait_seconds',
      help: 'Time from due to start.',
      type: 'histogram',
      samples: histogram(({ wait }) => wait),
    },
    {
      name: 'skep_job_run_seconds',
      help: 'Time from start to completion.',
      type: 'histogram',
      samples: histogram(({ run }) => run),
    },
    gauge('skep_workers', 'Live workers.', [{ labels: all, value: living.length }]),
    gauge('skep_workers_paused', 'Live workers that are paused.', [
      { labels: all, value: living.filter(({ paused }) => paused).length },
    ]),
    gauge('skep_worker_slots', 'Handlers that live workers can run concurrently.', [
      { labels: all, value: living.reduce((sum, { concurrency }) => sum + concurrency, 0) },
    ]),
    gauge('skep_worker_slots_used', 'Handlers that live workers were running at their last heartbeat.', [
      { labels: all, value: living.reduce((sum, { running }) => sum + running, 0) },
    ]),
    gauge(
      'skep_worker_event_loop_lag_seconds',
      '99th percentile of the event loop delay of a worker since its last heartbeat.',
      living.flatMap(({ id, host, lagMs }) =>
        lagMs === null ? [] : [{ labels: { space, worker: id, host }, value: lagMs / 1_000 }],
      ),
    ),
    gauge(
      'skep_notifier_up',
      'Whether hints are delivered; if not, only polling finds work.',
      isNotifierUp === null ? [] : [{ labels: all, value: isNotifierUp ? 1 : 0 }],
    ),
    gauge('process_resident_memory_bytes', 'Memory of this process.', [
      { labels: {}, value: process.memoryBytes },
    ]),
    counter('process_cpu_seconds_total', 'CPU time of this process.', [
      { labels: {}, value: process.cpuSeconds },
    ]),
    gauge('process_start_time_seconds', 'Start time of this process since the Unix epoch.', [
      { labels: {}, value: process.startSeconds },
    ]),
  ]
}

function outcomesOf({
  done,
  failed,
  retried,
  dead,
  snoozed,
  cancelled,
}: Tally): Readonly<Record<string, number>> {
  // Failures were retried, became dead, or ended as failed. Some may have been cancelled meanwhile.
  const ended = Math.max(0, failed - retried - dead)
  return { done, retried, dead, failed: ended, snoozed, cancelled }
}

function histogramSamples(labels: Labels, { counts, count, sumMs }: Histogram): Sample[] {
  const samples: Sample[] = []
  let [bucket, below] = [0, 0]
  for (const bound of BOUNDS_MS) {
    for (const last = bucketOf(bound); bucket <= last; bucket++) below += counts[bucket] as number
    samples.push({ suffix: '_bucket', labels: { ...labels, le: number(bound / 1_000) }, value: below })
  }
  samples.push({ suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count })
  samples.push({ suffix: '_sum', labels, value: sumMs / 1_000 }, { suffix: '_count', labels, value: count })
  return samples
}

function write({ name, help, type, samples }: Family): string {
  if (samples.length === 0) return ''
  const lines = samples.map(
    ({ suffix = '', labels, value }) => `${name}${suffix}${labelText(labels)} ${number(value)}`,
  )
  return `# HELP ${name} ${help.replace(/[\\\n]/g, escaped)}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`
}

function labelText(labels: Labels): string {
  const parts = Object.entries(labels).map(
    ([name, value]) => `${name}="${value.replace(/[\\"\n]/g, escaped)}"`,
  )
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}

function escaped(sign: string): string {
  return sign === '\n' ? '\\n' : `\\${sign}`
}

function number(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  return Number.isFinite(value) ? String(value) : value > 0 ? '+Inf' : '-Inf'
}

/** Whether the bounds are bounds of our own buckets; otherwise the counts would not be exact. */
export function boundsAreExact(): boolean {
  return BOUNDS_MS.every((bound) => boundMs(bucketOf(bound)) === bound)
}
