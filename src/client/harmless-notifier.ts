import { messageOf } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import type { Notifier, NotifierHealth } from '../notifier.ts'

/**
 * The same notifier, unable to harm its caller. It promises not to throw, but it may be anybody's: what it throws
 * is logged, once for each distinct message, and the hint is lost, which is no more than a hint may be.
 */
export function harmlessNotifier(notifier: Notifier, logger: Logger): Notifier {
  let lastProblem: string | null = null
  const report = (error: unknown): void => {
    const problem = messageOf(error)
    if (problem !== lastProblem) logger.warn(`The notifier failed; polling finds the work: ${problem}`)
    lastProblem = problem
  }
  const attempt = <Value>(call: () => Value, otherwise: (error: unknown) => Value): Value => {
    try {
      return call()
    } catch (error) {
      report(error)
      return otherwise(error)
    }
  }

  return {
    publish: (hints) =>
      attempt(
        () => notifier.publish(hints),
        () => {},
      ),
    subscribe(listener) {
      const subscription = attempt(
        () =>
          notifier.subscribe((hints) =>
            attempt(
              () => listener(hints),
              () => {},
            ),
          ),
        () => ({ end: () => {} }),
      )
      return {
        end: () =>
          attempt(
            () => subscription.end(),
            () => {},
          ),
      }
    },
    health: () =>
      attempt<NotifierHealth>(
        () => notifier.health(),
        (error) => ({ status: 'down', detail: messageOf(error) }),
      ),
    close: () => notifier.close().catch(report),
  }
}
