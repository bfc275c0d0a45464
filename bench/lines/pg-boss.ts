/** https://github.com/timgit/pg-boss: the part of it that is called here. */
import type { Payload, Rules } from '../contest.ts'
import { type BossFlows, bossFlows } from '../flows/pg-boss.ts'
import type { OpenLine } from '../line.ts'

interface PgBossModule {
  readonly PgBoss: new (
    options: Readonly<Record<string, unknown>>,
  ) => BossFlows & {
    on(event: 'error', listener: (error: unknown) => void): unknown
    start(): Promise<unknown>
    stop(): Promise<void>
    createQueue(name: string, options: { readonly notify: boolean; readonly policy?: string }): Promise<void>
    send(name: string, data: Payload, options: JobOptions): Promise<string | null>
    insert(name: string, jobs: readonly (JobOptions & { readonly data: Payload })[]): Promise<unknown>
    work(
      name: string,
      options: Readonly<Record<string, unknown>>,
      handler: (jobs: readonly BossJob[]) => Promise<unknown>,
    ): Promise<string>
    offWork(name: string, options: { readonly wait: boolean }): Promise<void>
  }
}

interface BossJob {
  readonly id: string
  readonly data: Payload
}

interface JobOptions {
  readonly group?: { readonly id: string }
  readonly singletonKey?: string
  readonly startAfter?: Date
}

const QUEUE = 'bench'

/** `notify`: its LISTEN/NOTIFY mode. `batchSize` and `localConcurrency`: else one batch, as large as the concurrency. */
export const open: OpenLine = async ({ address, rules, options }) => {
  if (address.kind !== 'postgres') throw new Error('pg-boss keeps its jobs in Postgres.')
  const notify = options['notify'] === true
  const { PgBoss } = (await import('pg-boss' as string)) as PgBossModule
  const boss = new PgBoss({
    connectionString: address.url,
    max: 20,
    useListenNotify: notify,
    // Its least.
    ...(rules.flow && { flowIntervalSeconds: 1 }),
  })
  boss.on('error', console.error)
  await boss.start()
  await boss.createQueue(QUEUE, { notify, ...(rules.strict && { policy: 'key_strict_fifo' }) })
  const laneOf = ({ lane }: Payload): JobOptions =>
    lane === undefined ? {} : rules.strict ? { singletonKey: lane } : { group: { id: lane } }

  const work = async (
    concurrency: number,
    run: (jobs: readonly BossJob[]) => Promise<unknown>,
    more: Readonly<Record<string, unknown>>,
  ): Promise<() => Promise<void>> => {
    const { batchSize, localConcurrency, groupConcurrency } = sizesOf(rules, options, concurrency)
    await boss.work(
      QUEUE,
      {
        batchSize,
        localConcurrency,
        ...(groupConcurrency !== null && { groupConcurrency }),
        pollingIntervalSeconds: 0.5,
        // It tells of jobs that are enqueued, not of those that may start later. By default that takes 30 s.
        ...(hasWaits(rules) && { notifyPollingIntervalSeconds: 0.5 }),
        burstWhenBatchFull: true,
        ...more,
      },
      run,
    )
    return () => boss.offWork(QUEUE, { wait: true })
  }

  return {
    enqueue: (job, delayMs) =>
      boss.send(QUEUE, job, {
        ...laneOf(job),
        ...(delayMs !== undefined && { startAfter: new Date(Date.now() + delayMs) }),
      }),
    enqueueMany: (jobs) =>
      boss.insert(
        QUEUE,
        jobs.map((data) => ({ data, ...laneOf(data) })),
      ),
    work: (concurrency, handle) =>
      work(concurrency, (jobs) => Promise.all(jobs.map(async ({ data }) => handle(data))), {}),
    async count() {
      const { rows } = await boss.getDb().executeSql(
        `select count(*) filter (where state in ('created', 'retry', 'active'))::int as open,
          count(*) filter (where state = 'completed')::int as kept from pgboss.job where name = $1`,
        [QUEUE],
      )
      const [counts] = rows as { open: number; kept: number }[]
      return { open: counts?.open ?? 0, kept: counts?.kept ?? 0 }
    },
    close: () => boss.stop(),
    ...(rules.flow && {
      flows: bossFlows({
        boss,
        queue: QUEUE,
        shape: rules.flow,
        work: (concurrency, run) => work(concurrency, run, { perJobResults: true }),
      }),
    }),
  }
}

/** Jobs have to wait for something else than a free handler. */
function hasWaits({ lanes, delays, flow }: Rules): boolean {
  return lanes !== undefined || delays === true || flow !== undefined
}

interface BatchSizes {
  readonly batchSize: number
  readonly localConcurrency: number
  /** Null: without groups. */
  readonly groupConcurrency: number | null
}

function sizesOf(rules: Rules, options: Readonly<Record<string, unknown>>, concurrency: number): BatchSizes {
  const batchSize = Number(options['batchSize'] ?? concurrency)
  const localConcurrency = Number(options['localConcurrency'] ?? 1)
  const { lanes, strict, laneAtOnce } = rules
  if (lanes === undefined) return { batchSize, localConcurrency, groupConcurrency: null }
  if (strict === undefined && laneAtOnce === undefined) {
    // It has no turns. The nearest to it are two who fetch, and no more for a group than one of them can have: then the other
    // one has room for the rest.
    const fetchers = Math.max(2, localConcurrency)
    const each = Math.max(1, Math.floor((batchSize * localConcurrency) / fetchers))
    return { batchSize: each, localConcurrency: fetchers, groupConcurrency: each }
  }
  // A batch that is not full makes it wait for its next poll, and no batch can be larger than what may run at once.
  const least = (size: number): number => Math.min(batchSize, Math.max(2, Math.floor(size)))
  // With one who fetches in each of two processes, a third of the lanes is always free. More of them take turns in waiting.
  if (strict) return { batchSize: least(lanes / 3), localConcurrency: 1, groupConcurrency: null }
  const atOnce = laneAtOnce ?? 1
  return { batchSize: least((lanes * atOnce) / localConcurrency), localConcurrency, groupConcurrency: atOnce }
}
