/** https://github.com/justplainstuff/plainjob, on better-sqlite3: the part of it that is called here. */
import type { Payload } from '../contest.ts'
import type { OpenLine } from '../line.ts'

interface PlainQueue {
  add(type: string, data: Payload, options: { readonly delay?: number }): unknown
  addMany(type: string, data: readonly Payload[]): unknown
  countJobs(which: { readonly type: string; readonly status: number }): number
  close(): void
}

interface PlainjobModule {
  better(database: unknown): unknown
  defineQueue(options: { readonly connection: unknown; readonly logger: object }): PlainQueue
  defineWorker(
    type: string,
    handler: (job: { readonly data: string }) => Promise<void>,
    options: { readonly queue: PlainQueue; readonly logger: object },
  ): { start(): Promise<void>; stop(): Promise<void> }
  readonly JobStatus: Readonly<Record<'Pending' | 'Processing' | 'Done', number>>
}

const TYPE = 'bench'

const silence = { debug() {}, info() {}, warn: console.error, error: console.error }

export const open: OpenLine = async ({ address }) => {
  if (address.kind !== 'sqlite') throw new Error('plainjob keeps its jobs in SQLite.')
  const { default: Database } = (await import('better-sqlite3' as string)) as {
    default: new (file: string) => unknown
  }
  const { JobStatus, better, defineQueue, defineWorker } = (await import(
    'plainjob' as string
  )) as PlainjobModule
  const queue = defineQueue({ connection: better(new Database(address.file)), logger: silence })

  return {
    enqueue: async (job, delay) => queue.add(TYPE, job, delay === undefined ? {} : { delay }),
    enqueueMany: async (jobs) => queue.addMany(TYPE, jobs),
    async work(concurrency, handle) {
      const breathe = breathing()
      const handler = async ({ data }: { readonly data: string }): Promise<void> => {
        await handle(JSON.parse(data) as Payload)
        await breathe()
      }
      const workers = Array.from({ length: concurrency }, () =>
        defineWorker(TYPE, handler, { queue, logger: silence }),
      )
      const ends = workers.map((worker) => worker.start())
      // A worker that ended with an error is reported by whoever stops it.
      for (const end of ends) end.catch(() => {})
      return async () => {
        await Promise.all(workers.map((worker) => worker.stop()))
        // `stop` does not wait for a job that runs; `start` ends after it.
        await Promise.all(ends)
      }
    },
    async count() {
      const having = (status: number): number => queue.countJobs({ type: TYPE, status })
      return { open: having(JobStatus.Pending) + having(JobStatus.Processing), kept: having(JobStatus.Done) }
    },
    close: async () => queue.close(),
  }
}

/**
 * As long as there are jobs, plainjob's loop never lets a timer or a message of another process in, unless a handler waits
 * for something. So once in 20 ms all handlers wait for one turn of the event loop, which costs next to nothing.
 */
function breathing(): () => Promise<void> | undefined {
  let lastAt = performance.now()
  let pause: Promise<void> | undefined
  return () => {
    if (pause === undefined && performance.now() - lastAt > 20) {
      pause = new Promise((resolve) => {
        setImmediate(() => {
          lastAt = performance.now()
          pause = undefined
          resolve()
        })
      })
    }
    return pause
  }
}
