import type { Contestant } from './contest.ts'

/** Two rivals ask for a newer Node than the oldest one that Skep runs on. */
const NEWER_NODE = 24

const FLOWS = ['flow-children', 'flow-chain'] as const

/**
 * Who takes part. Rivals have the settings that their own documentation recommends for throughput, and everything else at
 * its default. All on Postgres share one server with stock settings: fsync and synchronous_commit are on.
 */
export const CONTESTANTS: readonly Contestant[] = [
  {
    name: 'Skep',
    kind: 'skep',
    store: 'postgres',
    line: 'skep',
    options: { store: 'postgres' },
    settings: 'defaults',
  },
  {
    name: 'Skep, flow()',
    kind: 'skep',
    store: 'postgres',
    line: 'skep',
    options: { store: 'postgres', runs: true },
    settings: 'defaults; runs of a typed flow() instead of groups, in the scenarios of flows alone',
    only: FLOWS,
  },
  {
    name: 'pg-boss',
    kind: 'rival',
    store: 'postgres',
    line: 'pg-boss',
    options: {},
    settings:
      'batchSize = concurrency, burstWhenBatchFull, polls every 0.5 s (its least), pool of 20; completed jobs stay 7 days',
    package: 'pg-boss',
    node: NEWER_NODE,
    lacks: ['discard', 'rate'],
  },
  {
    name: 'pg-boss, notify',
    kind: 'rival',
    store: 'postgres',
    line: 'pg-boss',
    options: { notify: true },
    settings: 'the same with useListenNotify and a queue with notify',
    package: 'pg-boss',
    node: NEWER_NODE,
    lacks: ['discard', 'rate'],
  },
  {
    name: 'pg-boss, batches',
    kind: 'rival',
    store: 'postgres',
    line: 'pg-boss',
    options: { batchSize: 2_000, localConcurrency: 2 },
    settings: 'the same with batchSize 2000 and localConcurrency 2, whatever the concurrency',
    package: 'pg-boss',
    node: NEWER_NODE,
    lacks: ['discard', 'rate'],
  },
  {
    name: 'graphile-worker',
    kind: 'rival',
    store: 'postgres',
    line: 'graphile-worker',
    options: {},
    settings: 'concurrentJobs = concurrency, pool of concurrency + 2 (at most 25), log of successes off',
    package: 'graphile-worker',
    node: NEWER_NODE,
    lacks: ['keep', 'wide lanes', 'rate', 'flows'],
  },
  {
    name: 'graphile-worker, batches',
    kind: 'rival',
    store: 'postgres',
    line: 'graphile-worker',
    options: {
      worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
    },
    settings: 'the same with localQueue.size 500, completeJobBatchDelay 0 and failJobBatchDelay 0',
    package: 'graphile-worker',
    node: NEWER_NODE,
    lacks: ['keep', 'wide lanes', 'rate', 'flows'],
  },
  {
    name: 'bullmq, Postgres',
    kind: 'rival',
    store: 'postgres',
    line: 'bullmq',
    options: {},
    settings: 'createPostgresBackend, pools of 20, addBulk by the thousand, removeOnComplete unless kept',
    package: 'bullmq',
    // Its groups are in the paid edition.
    lacks: ['lanes', 'strict'],
  },
  {
    name: 'raw Postgres',
    kind: 'raw',
    store: 'postgres',
    line: 'raw-postgres',
    options: {},
    settings: 'by hand: no retries, renewed leases, counts, unique keys or history',
    package: 'pg',
    lacks: ['keep'],
  },
  {
    name: 'Skep, SQLite',
    kind: 'skep',
    store: 'sqlite',
    line: 'skep',
    options: { store: 'sqlite', synchronous: 'full' },
    settings: 'WAL, synchronous FULL: its default',
  },
  {
    name: 'Skep, SQLite, flow()',
    kind: 'skep',
    store: 'sqlite',
    line: 'skep',
    options: { store: 'sqlite', synchronous: 'full', runs: true },
    settings: 'the same with runs of a typed flow() instead of groups, in the scenarios of flows alone',
    only: FLOWS,
  },
  {
    name: 'plainjob',
    kind: 'rival',
    store: 'sqlite',
    line: 'plainjob',
    options: {},
    settings:
      'better-sqlite3, WAL, synchronous NORMAL (a power cut may lose the last commits), polls every 1 s, a worker for each job at a time; done jobs stay 7 days; its defaults, but handlers let the event loop turn every 20 ms, which its loop never does',
    package: 'plainjob',
    lacks: ['discard', 'lanes', 'strict', 'rate', 'flows'],
  },
  {
    name: 'raw SQLite, FULL',
    kind: 'raw',
    store: 'sqlite',
    line: 'raw-sqlite',
    options: { synchronous: 'full' },
    settings: 'by hand, WAL, synchronous FULL',
    package: '@photostructure/sqlite',
    lacks: ['keep'],
  },
  {
    name: 'bullmq',
    kind: 'rival',
    store: 'redis',
    line: 'bullmq',
    options: {},
    settings:
      'AOF everysec (a crash of the server may lose a second), noeviction, addBulk by the thousand, removeOnComplete unless kept',
    package: 'bullmq',
    // Its groups are in the paid edition.
    lacks: ['lanes', 'strict'],
  },
  {
    name: 'bee-queue',
    kind: 'rival',
    store: 'redis',
    line: 'bee-queue',
    options: {},
    settings:
      'AOF everysec (a crash of the server may lose a second), noeviction, events and storeJobs off, saveAll, removeOnSuccess unless kept, checkStalledJobs every 5 s',
    package: 'bee-queue',
    lacks: ['lanes', 'strict', 'rate', 'flows'],
  },
]
