/** https://github.com/bee-queue/bee-queue: the part of it that is called here. */
import type { Payload } from '../contest.ts'
import type { OpenLine } from '../line.ts'

interface BeeJob {
  delayUntil(time: number): BeeJob
  save(): Promise<unknown>
}

interface BeeModule {
  readonly default: new (
    name: string,
    settings: object,
  ) => {
    on(event: 'error', listener: (error: unknown) => void): unknown
    ready(): Promise<unknown>
    createJob(data: Payload): BeeJob
    saveAll(jobs: readonly BeeJob[]): Promise<ReadonlyMap<BeeJob, Error>>
    process(concurrency: number, handler: (job: { readonly data: Payload }) => Promise<void>): unknown
    checkStalledJobs(intervalMs: number): Promise<unknown>
    checkHealth(): Promise<Record<'waiting' | 'active' | 'delayed' | 'succeeded', number>>
    close(timeoutMs: number): Promise<void>
  }
}

const QUEUE = 'bench'

export const open: OpenLine = async ({ address, keep, rules: { delays = false } }) => {
  if (address.kind !== 'redis') throw new Error('bee-queue keeps its jobs in Redis.')
  const { default: BeeQueue } = (await import('bee-queue' as string)) as BeeModule
  // Nobody listens to events here, and its documentation says to turn off what is not needed.
  const silent = { redis: address.url, getEvents: false, sendEvents: false, storeJobs: false }
  const producer = new BeeQueue(QUEUE, { ...silent, isWorker: false })
  producer.on('error', console.error)
  await producer.ready()

  return {
    enqueue(data, delayMs) {
      const job = producer.createJob(data)
      return (delayMs === undefined ? job : job.delayUntil(Date.now() + delayMs)).save()
    },
    async enqueueMany(jobs) {
      // By the thousand: one call with all of them blocks the server for long.
      for (let i = 0; i < jobs.length; i += 1_000) {
        const some = jobs.slice(i, i + 1_000)
        const errors = await producer.saveAll(some.map((job) => producer.createJob(job)))
        for (const error of errors.values()) throw error
      }
    },
    async work(concurrency, handle) {
      const worker = new BeeQueue(QUEUE, { ...silent, removeOnSuccess: !keep, activateDelayedJobs: delays })
      worker.on('error', console.error)
      await worker.ready()
      worker.process(concurrency, async ({ data }) => handle(data))
      // Without this, only a worker that starts looks for the jobs of one that died.
      await worker.checkStalledJobs(5_000)
      return () => worker.close(30_000)
    },
    async count() {
      const { waiting, active, delayed, succeeded } = await producer.checkHealth()
      return { open: waiting + active + delayed, kept: succeeded }
    },
    close: () => producer.close(30_000),
  }
}
