import { messageOf } from '../core/errors.ts'
import type { Notice, Notices } from '../notifier/notices.ts'
import type { Hint, Notifier, NotifierHealth } from '../notifier/notifier.ts'
import type { Logger } from '../runtime/logger.ts'

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
  const attempt: Attempt = (call, otherwise) => {
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
    ...(notifier.along && {
      along: (hints: readonly Hint[]) =>
        attempt<string | null>(
          () => notifier.along?.(hints) ?? null,
          () => null,
        ),
    }),
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
    ...(notifier.notices && { notices: harmlessNotices(notifier.notices, attempt) }),
    close: () => notifier.close().catch(report),
  }
}

type Attempt = <Value>(call: () => Value, otherwise: (error: unknown) => Value) => Value

function harmlessNotices(notices: Notices, attempt: Attempt): Notices {
  const quietly = (call: () => void): void => attempt(call, () => {})
  return {
    open(source, listener) {
      const tap = attempt(
        () => notices.open(source, (notice) => quietly(() => listener(harmlessNotice(notice, quietly)))),
        () => ({ want: () => {}, close: () => {} }),
      )
      return { want: (count) => quietly(() => tap.want(count)), close: () => quietly(() => tap.close()) }
    },
    dead: (call) => notices.dead(call),
  }
}

function harmlessNotice(notice: Notice, quietly: (call: () => void) => void): Notice {
  const { space, queue, ids, dueAt, deliveries } = notice
  return {
    space,
    queue,
    ids,
    dueAt,
    deliveries,
    ack: () => quietly(() => notice.ack()),
    later: (delayMs) => quietly(() => notice.later(delayMs)),
    working: () => quietly(() => notice.working()),
    bury: (reason) => quietly(() => notice.bury(reason)),
  }
}
