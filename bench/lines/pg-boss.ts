/** https://github.com/timgit/pg-boss: the part of it that is called here. */
import type { Payload } from '../contest.ts'
import type { OpenLine } from '../line.ts'

interface PgBossModule {
  readonly PgBoss: new (
    options: Readonly<Record<string, unknown>>,
  ) => {
    on(event: 'error', listener: (error: unknown) => void): unknown
    start(): Promise<unknown>
    stop(): Promise<void>
    createQueue(name: string, options: { readonly notify: boolean }): Promise<void>
    send(name: string, data: Payload): Promise<string | null>
    insert(name: string, jobs: readonly { readonly data: Payload }[]): Promise<unknown>
    work(
      name: string,
      options: Readonly<Record<string, unknown>>,
      handler: (jobs: readonly { readonly data: Payload }[]) => Promise<unknown>,
    ): Promise<string>
    offWork(name: string, options: { readonly wait: boolean }): Promise<void>
    getDb(): { executeSql(sql: string, values: unknown[]): Promise<{ rows: Record<string, number>[] }> }
  }
}

const QUEUE = 'bench'

/** `notify`: its LISTEN/NOTIFY mode. `batchSize` and `localConcurrency`: else one batch, as large as the concurrency. */
export const open: OpenLine = async ({ address, options }) => {
  if (address.kind !== 'postgres') throw new Error('pg-boss keeps its jobs in Postgres.')
  const notify = options['notify'] === true
  const { PgBoss } = (await import('pg-boss' as string)) as PgBossModule
  const boss = new PgBoss({ connectionString: address.url, max: 20, useListenNotify: notify })
  boss.on('error', console.error)
  await boss.start()
  await boss.createQueue(QUEUE, { notify })

  return {
    enqueue: (job) => boss.send(QUEUE, job),
    enqueueMany: (jobs) =>
      boss.insert(
        QUEUE,
        jobs.map((data) => ({ data })),
      ),
    async work(concurrency, handle) {
      const { batchSize = concurrency, localConcurrency = 1 } = options
      await boss.work(
        QUEUE,
        { batchSize, localConcurrency, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true },
        (jobs) => Promise.all(jobs.map(async ({ data }) => handle(data))),
      )
      return () => boss.offWork(QUEUE, { wait: true })
    },
    async count() {
      const { rows } = await boss.getDb().executeSql(
        `select count(*) filter (where state in ('created', 'retry', 'active'))::int as open,
          count(*) filter (where state = 'completed')::int as kept from pgboss.job where name = $1`,
        [QUEUE],
      )
      return { open: rows[0]?.['open'] ?? 0, kept: rows[0]?.['kept'] ?? 0 }
    },
    close: () => boss.stop(),
  }
}
