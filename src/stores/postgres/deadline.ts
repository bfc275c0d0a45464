import type { Runtime } from '../../runtime.ts'
import { DeadlineOver } from './driver.ts'

/**
 * The outcome of `work`, unless it takes longer than `ms`. Whatever comes after that is handed to `late`, so that a
 * connection which was granted too late is given back.
 */
export function withDeadline<T>(
  runtime: Pick<Runtime, 'timer'>,
  ms: number,
  work: Promise<T>,
  late?: (value: T) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let over = false
    const stop = runtime.timer(ms, () => {
      over = true
      reject(new DeadlineOver(ms))
    })
    work.then(
      (value) => {
        if (over) return late?.(value)
        stop()
        resolve(value)
      },
      (error: unknown) => {
        if (over) return
        stop()
        reject(error as Error)
      },
    )
  })
}
