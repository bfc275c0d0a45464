import type { Hint, Notifier, NotifierHealth } from '../notifier/notifier.ts'
import { type DeadNoticeOptions, type DeadNoticeViewPage, readDeadNotices } from './jobs/dead-notices.ts'

/** What programs can see of the notifier of a {@link Skep}. */
export class NotifierAccess {
  readonly #notifier: Notifier
  readonly #space: string
  readonly #assertOpen: () => void

  constructor(notifier: Notifier, space: string, assertOpen: () => void) {
    this.#notifier = notifier
    this.#space = space
    this.#assertOpen = assertOpen
  }

  /** The state of its connection. A notifier that connects on first use is down until then. */
  health(): NotifierHealth {
    return this.#notifier.health()
  }

  /**
   * Calls `listener` when something of this space may have changed, in any process. A hint may be late, repeated or lost, so a
   * listener that must not miss a change also reads the store from time to time. Returns the function that ends it.
   */
  onHint(listener: (hints: readonly Hint[]) => void): () => void {
    this.#assertOpen()
    const subscription = this.#notifier.subscribe((hints) => {
      const own = hints.filter((hint) => !('space' in hint) || hint.space === this.#space)
      if (own.length > 0) listener(own)
    })
    return () => subscription.end()
  }

  /** Whether it has notices: `natsNotifier` has, others have none. */
  get hasNotices(): boolean {
    return this.#notifier.notices !== undefined
  }

  /**
   * One page of notices (of `natsNotifier`) that were delivered too often without being acknowledged, oldest first. Their jobs are
   * in the store: the sweep of a worker finds those that still wait.
   */
  async deadNotices(options: DeadNoticeOptions = {}): Promise<DeadNoticeViewPage> {
    this.#assertOpen()
    return readDeadNotices(this.#notifier, this.#space, options)
  }
}
