import { queue, type Skep } from '../../src/index.ts'

/** The queue of which a load is made. */
export const mail = queue<number, number>('mail')

export interface Load {
  /** How often each number was handled. */
  readonly handled: ReadonlyMap<number, number>
  /** The number of each job of which the enqueue was acknowledged, by its id. */
  readonly acknowledged: ReadonlyMap<string, number>
  /** What enqueues failed with. */
  readonly failures: readonly unknown[]
  /** Enqueues one more job and waits until it is done. */
  runOne(): Promise<void>
  /** Ends the callers; what they enqueued may still be waiting. */
  stop(): Promise<void>
}

/** Callers that enqueue without pause, and workers that count how often they handled each number. */
export function startLoad(producer: Skep, workers: readonly Skep[], lease: '10s' | '60s'): Load {
  const handled = new Map<number, number>()
  const acknowledged = new Map<string, number>()
  const failures: unknown[] = []
  let next = 0
  let isOver = false
  const callers = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const n = next++
      try {
        acknowledged.set((await producer.enqueue(mail, n)).id, n)
      } catch (error) {
        failures.push(error)
      }
    }
  })
  const count = mail.handle(({ payload }) => {
    handled.set(payload, (handled.get(payload) ?? 0) + 1)
    return payload
  })
  for (const skep of workers) skep.worker([count], { concurrency: 10, lease })
  return {
    handled,
    acknowledged,
    failures,
    async runOne() {
      const n = next++
      const job = await producer.enqueue(mail, n)
      acknowledged.set(job.id, n)
      await job.result()
    },
    async stop() {
      isOver = true
      await Promise.all(callers)
    },
  }
}
