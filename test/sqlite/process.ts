/** A process of its own for tests that need several: `process.ts <command> <arguments>`. */
import { hostname } from 'node:os'
import { DatabaseSync } from '@photostructure/sqlite'
import { localNotifier } from '../../src/notifiers/local/notifier.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import { newJob } from '../support/new-job.ts'

const runtime = systemRuntime()
const [command = '', target = '', ...rest] = process.argv.slice(2)
const tell = (message: unknown): void => {
  if (process.send) process.send(message)
  else console.log(JSON.stringify(message))
}
const leave = (): void => process.disconnect()

const commands: Readonly<Record<string, () => Promise<void>>> = {
  /** Opens the store and tells its durability. */
  async open() {
    const store = sqliteStore({ file: target })
    const { level } = await store.ready()
    tell(level)
    await store.close()
    leave()
  },

  /** Claims until nothing is left, and tells the ids. */
  async drain() {
    const store = sqliteStore({ file: target, busyTimeoutMs: 30_000 })
    const ids: string[] = []
    for (;;) {
      const { jobs } = await store.claim({
        sources: [{ space: 'acme', queue: 'mail', limit: 20 }],
        limit: 20,
        workerId: `worker-${process.pid}`,
        token: runtime.uuid(),
        leaseMs: 60_000,
      })
      if (jobs.length === 0) break
      ids.push(...jobs.map(({ id }) => id))
    }
    tell(ids)
    await store.close()
    leave()
  },

  /** Claims and ends one job after the other until nothing is left, and tells how many jobs were enqueued by that. */
  async end() {
    const store = sqliteStore({ file: target, busyTimeoutMs: 30_000 })
    let enqueued = 0
    for (;;) {
      const { jobs } = await store.claim({
        sources: [{ space: 'acme', queue: 'mail', limit: 1 }],
        limit: 1,
        workerId: `worker-${process.pid}`,
        token: runtime.uuid(),
        leaseMs: 60_000,
      })
      const [job] = jobs
      if (!job) break
      const verdict = {
        to: 'done',
        keepMs: null,
        delayMs: 0,
        count: null,
        refund: false,
        keepPlace: false,
        keepCancelledMs: 0,
        result: `${process.pid}`,
        failure: null,
      } as const
      const reply = await store.settle({
        settlements: [{ space: job.space, id: job.id, token: job.token, verdict }],
      })
      enqueued += reply.enqueued?.length ?? 0
    }
    tell(enqueued)
    await store.close()
    leave()
  },

  /** Inserts, claims and settles without end, and tells of each insert that was acknowledged. */
  async write() {
    const store = sqliteStore({ file: target, busyTimeoutMs: 30_000 })
    for (;;) {
      const jobs = Array.from({ length: 20 }, () =>
        newJob({ payload: JSON.stringify({ text: 'x'.repeat(Math.floor(runtime.random() * 5_000)) }) }),
      )
      await store.insert({ jobs })
      tell(jobs.map(({ id }) => id))
      const claim = {
        sources: [{ space: 'acme', queue: 'mail', limit: 5 }],
        limit: 5,
        workerId: 'worker',
        token: runtime.uuid(),
        leaseMs: 60_000,
      }
      const { jobs: claimed } = await store.claim(claim)
      const verdict = {
        to: 'done',
        keepMs: 86_400_000,
        delayMs: 0,
        count: null,
        refund: false,
        keepPlace: false,
        keepCancelledMs: 0,
        result: null,
        failure: null,
      } as const
      await store.settle({
        settlements: claimed.map(({ space, id, token }) => ({ space, id, token, verdict })),
      })
    }
  },

  /** Inserts one job after the other until two have failed, and tells what became of each. */
  async insertUntilFailure() {
    const store = sqliteStore({ file: target })
    const outcomes: string[] = []
    while (outcomes.filter((outcome) => outcome !== 'ok').length < 2) {
      const job = newJob()
      await store.insert({ jobs: [job] }).then(
        () => outcomes.push('ok'),
        (error: { code: string }) => outcomes.push(error.code),
      )
    }
    tell(outcomes)
    await store.close()
  },

  /** Holds the write lock for some milliseconds. */
  async lock() {
    const handle = new DatabaseSync(target)
    handle.exec('BEGIN IMMEDIATE')
    tell('locked')
    await new Promise<void>((resolve) => void runtime.timer(Number(rest[0]), resolve))
    handle.exec('COMMIT')
    handle.close()
    tell('unlocked')
    leave()
  },

  /** Attends as a worker and stays. */
  async attend() {
    const store = sqliteStore({ file: target })
    await store.attend({
      worker: {
        id: 'other',
        space: 'acme',
        host: hostname(),
        pid: process.pid,
        queues: ['mail'],
        concurrency: 1,
        running: 0,
        startedAt: runtime.now(),
        vitals: '{}',
      },
    })
    // The channel to the parent keeps the process alive while somebody listens to it.
    process.on('message', () => {})
    tell('attended')
  },

  /** Publishes a hint for each message, with the time at which it did. */
  async publish() {
    const notifier = localNotifier({ runtime, folder: target })
    process.on('message', () => {
      // The wall clock, because it is the same in both processes.
      const dueAt = performance.timeOrigin + performance.now()
      notifier.publish([{ kind: 'work', space: 'acme', queue: 'mail', dueAt, rank: 0 }])
    })
    tell('ready')
  },
}

await commands[command]?.()
