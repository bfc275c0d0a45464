import type { Runtime } from '../../runtime.ts'

/** The outcome of `work`, unless it takes longer than `ms`. */
export function withDeadline<T>(runtime: Pick<Runtime, 'timer'>, ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = runtime.timer(ms, () => reject(new Error(`Redis did not answer within ${ms} ms.`)))
    work.then(resolve, reject).finally(stop)
  })
}
