import { describe, expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import { Tally } from '../../src/metrics/counters.ts'
import { boundsAreExact, exposition } from '../../src/metrics/prometheus.ts'
import { openScene } from '../worker/support/scene.ts'
import { type Exposition, parseExposition } from './support/exposition.ts'

const process = { memoryBytes: 1, cpuSeconds: 0.5, startSeconds: 7 }

function exposed(tally: Tally): Exposition {
  const text = exposition({
    space: 'default',
    queues: [{ queue: 'mail', states: { ready: 3, dead: 1 }, oldestMs: 1_500, unhandled: 3 }],
    rates: [{ queue: 'mail', enqueued: 0.5, done: 2, failed: 0, spark: [], failures: [] }],
    totals: new Map([['mail', tally]]),
    workers: [
      { id: 'a', host: 'h"o\\s\nt', running: 2, concurrency: 10, lagMs: 12, paused: false, life: 'here' },
      { id: 'b', host: 'h', running: 1, concurrency: 5, lagMs: null, paused: true, life: 'unsure' },
      { id: 'c', host: 'h', running: 9, concurrency: 9, lagMs: 9, paused: false, life: 'gone' },
    ],
    isNotifierUp: true,
    process,
  })
  return parseExposition(text)
}

describe('the exposition for Prometheus', () => {
  it('tells jobs, ages, rates and workers', () => {
    const { value } = exposed(new Tally())

    expect(value('skep_jobs', { queue: 'mail', state: 'ready' })).toBe(3)
    expect(value('skep_oldest_ready_seconds', { queue: 'mail' })).toBe(1.5)
    expect(value('skep_jobs_unhandled', { queue: 'mail' })).toBe(3)
    expect(value('skep_jobs_per_second', { queue: 'mail', what: 'enqueued' })).toBe(0.5)
    expect(value('skep_workers', {})).toBe(2)
    expect(value('skep_workers_paused', {})).toBe(1)
    expect(value('skep_worker_slots', {})).toBe(15)
    expect(value('skep_worker_slots_used', {})).toBe(3)
    expect(value('skep_notifier_up', {})).toBe(1)
    expect(value('process_cpu_seconds_total', {})).toBe(0.5)
  })

  it('escapes what stands in labels', () => {
    expect(exposed(new Tally()).value('skep_worker_event_loop_lag_seconds', { host: 'h"o\\s\nt' })).toBe(
      0.012,
    )
  })

  it('counts each run that ended once, by its outcome', () => {
    const tally = new Tally()
    Object.assign(tally, { done: 5, failed: 6, retried: 3, dead: 2, snoozed: 1, cancelled: 4 })
    const { value } = exposed(tally)
    const count = (outcome: string): number | undefined =>
      value('skep_jobs_finished_total', { queue: 'mail', outcome })

    expect(['done', 'retried', 'dead', 'failed', 'snoozed', 'cancelled'].map(count)).toEqual([
      5, 3, 2, 1, 1, 4,
    ])
  })

  it('has histograms whose buckets are exact, grow and end with the count', () => {
    const tally = new Tally()
    for (const ms of [0.5, 1, 1.01, 900, 1_024, 1_025, 20_000, 1e9]) tally.run.add(ms)
    const { value, family } = exposed(tally)
    const below = (le: string): number | undefined =>
      value('skep_job_run_seconds_bucket', { queue: 'mail', le })

    expect(boundsAreExact()).toBe(true)
    expect([below('0.001'), below('0.002'), below('1.024'), below('2.048'), below('+Inf')]).toEqual([
      2, 3, 5, 6, 8,
    ])
    expect(value('skep_job_run_seconds_count', { queue: 'mail' })).toBe(8)
    expect(value('skep_job_run_seconds_sum', { queue: 'mail' })).toBeCloseTo(tally.run.sumMs / 1_000)
    const buckets = family('skep_job_run_seconds').samples.filter(({ name }) => name.endsWith('_bucket'))
    const values = buckets.map((sample) => sample.value)
    expect(values).toEqual([...values].sort((a, b) => a - b))
  })

  it('is made of what a Skep knows', async () => {
    const scene = openScene()
    const mail = queue<number>('mail')
    const worker = scene.skep.worker([
      mail.handle(({ payload }) => {
        if (payload === 3) throw new Error('no')
      }),
    ])
    await scene.skep.enqueueMany(mail, [1, 2, 3])
    await scene.skep.enqueue(mail, 4, { delay: '1h' })
    await scene.until(async () => (await scene.counts('mail')).done === 2)
    await scene.advance(12_000)

    const { value } = parseExposition(await scene.skep.metrics.prometheus())

    expect(value('skep_jobs', { space: 'default', queue: 'mail', state: 'done' })).toBe(2)
    expect(value('skep_jobs_enqueued_total', { queue: 'mail' })).toBe(4)
    expect(value('skep_jobs_finished_total', { queue: 'mail', outcome: 'done' })).toBe(2)
    expect(value('skep_jobs_finished_total', { queue: 'mail', outcome: 'retried' })).toBeGreaterThan(0)
    expect(value('skep_job_wait_seconds_count', { queue: 'mail' })).toBeGreaterThan(2)
    expect(value('skep_jobs_unhandled', { queue: 'mail' })).toBe(0)
    expect(value('skep_jobs_per_second', { queue: 'mail', what: 'done' })).toBeCloseTo(2 / 60)
    expect(value('skep_workers', {})).toBe(1)
    expect(value('process_resident_memory_bytes', {})).toBeGreaterThan(1e6)
    await scene.through(worker.stop())
  })
})
