import type { Skep, Store } from 'skep'
import { Tally } from '../../src/metrics/counters.ts'
import { ERROR_KIND, ERRORS_KEPT_MS, mergeGroups, newGroup } from '../../src/metrics/error-groups.ts'
import { METRIC_KIND, Page } from '../../src/metrics/minute-records.ts'
import type { NewRecord } from '../../src/store/records.ts'
import { failureOf } from './fill-jobs.ts'
import { ERRORS_OF_A_QUEUE, HOLDS, LANED, METRIC_MINUTES, QUEUES, RUNS, SCHEDULES, WORKERS } from './shape.ts'

type Package = typeof import('skep')

/** What stays the same however many jobs there are: schedules, runs of flows, holds, limits. */
export async function fillOnce(built: Package, skep: Skep): Promise<void> {
  const { flow, queue, schedule } = built
  for (let n = 0; n < SCHEDULES; n++) {
    const id = `schedule-${String(n).padStart(3, '0')}`
    const cron = `${n % 60} ${n % 24} * * *`
    const target = queue<{ readonly n: number }>(QUEUES[n % QUEUES.length] as string)
    const daily = { queue: target, cron, timeZone: 'Europe/Berlin', payload: { n } }
    await skep.schedules.put(schedule(id, daily))
  }
  const step = queue<{ readonly n: number }, number>('flow-steps')
  const two = flow('two-steps', (f) =>
    f
      .input<{ readonly n: number }>()
      .step(step, { name: 'first', as: 'one', payload: ({ state }) => ({ n: state.n }) })
      .step(step, { name: 'second', as: 'two', payload: ({ state }) => ({ n: state.n }) }),
  )
  let started = 0
  const callers = Array.from({ length: 20 }, async () => {
    while (started < RUNS) await skep.start(two, { n: started++ })
  })
  await Promise.all(callers)
  const chunk = Array.from({ length: 20 }, (_, n) => step.job({ n }))
  await skep.groups.chord(chunk, step.job({ n: 0 }))
  for (let n = 0; n < HOLDS; n++)
    await skep.queues.pause({ queue: LANED, lane: `tenant-${n}` }, { reason: 'Asked for', by: 'bench' })
  await skep.queues.pause(QUEUES[2] as string, { reason: 'A migration', by: 'bench' })
  await skep.limits.set({ queue: LANED }, { lanes: { concurrency: 2 } })
}

/** What tells of the last minutes, so it is written anew before each measurement: workers, metrics, groups of errors. */
export async function fillLately(store: Store, space: string, now: number): Promise<void> {
  for (let n = 0; n < WORKERS; n++) {
    await store.attend({
      worker: {
        id: `worker-${n}`,
        space,
        host: `host-${n % 10}`,
        // Of this machine none of them are; only their heartbeats tell of them.
        pid: 1,
        queues: QUEUES,
        concurrency: 20,
        running: 5,
        startedAt: now - 3_600_000,
        vitals: JSON.stringify({
          version: '1.0.0',
          node: 'v20.20.2',
          memoryBytes: 1e8,
          lagMs: 2,
          quiet: false,
        }),
      },
    })
  }
  await fillMetrics(store, space, now)
  await fillErrors(store, space, now)
}

async function fillMetrics(store: Store, space: string, now: number): Promise<void> {
  const minute = Math.floor(now / 60_000) * 60_000
  const recent = new Tally()
  Object.assign(recent, { enqueued: 20, done: 18, failed: 2, retried: 1, dead: 1 })
  for (let i = 0; i < 20; i++) {
    recent.wait.add(2 ** (i % 7))
    recent.run.add(3 ** (i % 5))
  }
  for (let worker = 0; worker < WORKERS; worker++) {
    const records: NewRecord[] = []
    const write = (page: Page): void => {
      for (const one of page.records(`worker-${worker}`))
        records.push({ ...one, revision: '1', expiresAt: page.expiresAt })
    }
    for (let m = METRIC_MINUTES - 1; m >= 0; m--) {
      const page = new Page('minute', minute - m * 60_000)
      for (let slot = 0; slot < 6; slot++)
        for (const queue of QUEUES) page.add(page.from + slot * 10_000, queue, recent)
      write(page)
    }
    for (let h = 23; h >= 0; h--) {
      const page = new Page('hour', Math.floor(now / 3_600_000) * 3_600_000 - h * 3_600_000)
      for (let slot = 0; slot < 12; slot++)
        for (const queue of QUEUES) page.add(page.from + slot * 300_000, queue, recent)
      write(page)
    }
    await store.putRecords({ scope: space, kind: METRIC_KIND, records })
  }
}

async function fillErrors(store: Store, space: string, now: number): Promise<void> {
  for (const queue of QUEUES) {
    const groups = Array.from({ length: ERRORS_OF_A_QUEUE }, (_, n) => {
      const seen = { queue, job: '018f0000-0000-7000-8000-000000000000', isDead: true }
      const { id, body } = newGroup({ ...seen, failure: failureOf(queue, n), at: now - n * 1_000 })
      return { id, body: mergeGroups(body, body) }
    })
    await store.putRecords({
      scope: space,
      kind: ERROR_KIND,
      records: [...new Map(groups.map((one) => [one.id, one])).values()].map(({ id, body }) => ({
        id,
        body: JSON.stringify(body),
        revision: '1',
        expiresAt: now + ERRORS_KEPT_MS,
      })),
    })
  }
}
