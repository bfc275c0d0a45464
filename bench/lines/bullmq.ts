/** https://github.com/taskforcesh/bullmq, on Redis or on Postgres: the part of it that is called here. */
import type { Address, Payload } from '../contest.ts'
import { type BullFlowJob, type BullFlows, bullFlows } from '../flows/bullmq.ts'
import type { OpenLine } from '../line.ts'

interface BullModule extends BullFlows {
  readonly Queue: new (
    name: string,
    options: object,
    backend?: unknown,
  ) => {
    on(event: 'error', listener: (error: unknown) => void): unknown
    waitUntilReady(): Promise<unknown>
    add(name: string, data: Payload, options: { readonly delay?: number }): Promise<unknown>
    addBulk(jobs: readonly { readonly name: string; readonly data: Payload }[]): Promise<unknown>
    getJobCounts(...states: string[]): Promise<Record<string, number>>
    close(): Promise<void>
  }
  readonly Worker: new (
    name: string,
    handler: (job: BullFlowJob) => Promise<unknown>,
    options: object,
    backend?: unknown,
  ) => {
    on(event: 'error', listener: (error: unknown) => void): unknown
    waitUntilReady(): Promise<unknown>
    close(): Promise<void>
  }
  readonly createPostgresBackend: unknown
}

const QUEUE = 'bench'
const OPEN = ['waiting', 'active', 'delayed', 'prioritized', 'paused', 'waiting-children']

export const open: OpenLine = async ({ address, keep, rules: { rate, flow } }) => {
  const bullmq = (await import('bullmq' as string)) as BullModule
  const { Queue, Worker, createPostgresBackend } = bullmq
  const backend = address.kind === 'postgres' ? createPostgresBackend : undefined
  const connection = connectionOf(address)
  const queue = new Queue(QUEUE, { connection }, backend)
  queue.on('error', console.error)
  await queue.waitUntilReady()

  const work = async (
    concurrency: number,
    run: (job: BullFlowJob) => Promise<unknown>,
  ): Promise<() => Promise<void>> => {
    const removal = keep ? {} : { removeOnComplete: { count: 0 } }
    const limit = rate === undefined ? {} : { limiter: { max: rate, duration: 1_000 } }
    const worker = new Worker(QUEUE, run, { connection, concurrency, ...removal, ...limit }, backend)
    worker.on('error', console.error)
    await worker.waitUntilReady()
    return () => worker.close()
  }

  return {
    enqueue: (job, delay) => queue.add('job', job, delay === undefined ? {} : { delay }),
    enqueueMany: async (jobs) => {
      // By the thousand: one call with all of them blocks the server for long.
      for (let i = 0; i < jobs.length; i += 1_000) {
        const some = jobs.slice(i, i + 1_000)
        await queue.addBulk(some.map((data) => ({ name: 'job', data })))
      }
    },
    work: (concurrency, handle) => work(concurrency, async ({ data }) => handle(data)),
    async count() {
      const { completed = 0, ...open } = await queue.getJobCounts(...OPEN, 'completed')
      return { open: Object.values(open).reduce((sum, n) => sum + n, 0), kept: completed }
    },
    close: () => queue.close(),
    ...(flow && {
      flows: await bullFlows({ bullmq, connection, backend, queue: QUEUE, shape: flow, work }),
    }),
  }
}

function connectionOf(address: Address): object {
  if (address.kind === 'postgres') return { connectionString: address.url, max: 20, migrate: true }
  if (address.kind === 'sqlite') throw new Error('BullMQ keeps its jobs in Redis or Postgres.')
  const { hostname, port } = new URL(address.url)
  // A worker must wait for a lost server, however long it takes: so BullMQ's documentation.
  return { host: hostname, port: Number(port), maxRetriesPerRequest: null }
}
