/** https://github.com/graphile/worker: the part of it that is called here. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Payload } from '../contest.ts'
import type { OpenLine } from '../line.ts'

interface GraphileModule {
  readonly Logger: new (factory: () => (level: string, message: string) => void) => object
  readonly WorkerPreset: object
  makeWorkerUtils(options: { readonly preset: object }): Promise<{
    migrate(): Promise<void>
    addJob(task: string, payload: Payload, spec: Spec): Promise<unknown>
    addJobs(
      jobs: readonly (Spec & { readonly identifier: string; readonly payload: Payload })[],
    ): Promise<unknown>
    withPgClient<T>(
      use: (client: { query(sql: string): Promise<{ rows: Record<string, number>[] }> }) => Promise<T>,
    ): Promise<T>
    release(): Promise<void>
  }>
  run(options: {
    readonly preset: object
    readonly pgPool: Pool
    readonly taskList: Readonly<Record<string, (payload: Payload) => void | Promise<void>>>
    readonly parsedCronItems: readonly []
    readonly noHandleSignals: boolean
  }): Promise<{ stop(): Promise<void> }>
}

interface Spec {
  /** Jobs of one queue name run one at a time, in order. */
  readonly queueName?: string
  readonly runAt?: Date
}

interface PgModule {
  readonly default: {
    readonly Pool: new (options: { readonly connectionString: string; readonly max: number }) => Pool
  }
}

interface Pool {
  readonly totalCount: number
  readonly idleCount: number
  readonly waitingCount: number
  on(event: 'error', listener: (error: unknown) => void): unknown
  end(): Promise<void>
}

const TASK = 'bench'

/** `worker`: settings that are given to its worker as they are. */
export const open: OpenLine = async ({ address, options }) => {
  if (address.kind !== 'postgres') throw new Error('graphile-worker keeps its jobs in Postgres.')
  const { Logger, WorkerPreset, makeWorkerUtils, run } = (await import(
    'graphile-worker' as string
  )) as GraphileModule
  // It tells about every job that succeeds; its own benchmark silences that too.
  const logger = new Logger(() => (level, message) => {
    if (level === 'error' || level === 'warning') console.error(message)
  })
  const preset = (worker: object): object => ({
    extends: [WorkerPreset],
    worker: { connectionString: address.url, logger, ...worker },
  })
  const { default: pg } = (await import('pg' as string)) as PgModule
  const utils = await makeWorkerUtils({ preset: preset({ maxPoolSize: 20 }) })
  await utils.migrate()

  return {
    enqueue: (job, delayMs) =>
      utils.addJob(TASK, job, {
        ...laneOf(job),
        ...(delayMs !== undefined && { runAt: new Date(Date.now() + delayMs) }),
      }),
    enqueueMany: (jobs) =>
      utils.addJobs(jobs.map((payload) => ({ identifier: TASK, payload, ...laneOf(payload) }))),
    async work(concurrency, handle) {
      // Its advice is two more than the jobs. With a hundred that is too much for the server if there are two processes;
      // 25 is what its own benchmark has.
      const pgPool = new pg.Pool({
        connectionString: address.url,
        max: Math.max(10, Math.min(concurrency + 2, 25)),
      })
      pgPool.on('error', console.error)
      const runner = await run({
        preset: preset({ concurrentJobs: concurrency, ...(options['worker'] as object | undefined) }),
        pgPool,
        taskList: { [TASK]: (job) => handle(job) },
        parsedCronItems: [],
        noHandleSignals: true,
      })
      return async () => {
        await runner.stop()
        // It does not wait until the ends of the last jobs are saved, and a pool of its own would be closed before.
        while (pgPool.waitingCount > 0 || pgPool.idleCount < pgPool.totalCount) await sleep(5)
        await pgPool.end()
      }
    },
    async count() {
      // A job that succeeds is deleted.
      const { rows } = await utils.withPgClient((client) =>
        client.query('select count(*)::int as open from graphile_worker.jobs'),
      )
      return { open: rows[0]?.['open'] ?? 0, kept: 0 }
    },
    close: () => utils.release(),
  }
}

function laneOf({ lane }: Payload): Spec {
  return lane === undefined ? {} : { queueName: lane }
}
