/** `skep/nats`: hints over NATS, and notices over JetStream, for jobs in any store. */

import type { Notices } from './notifier/notices.ts'
import type { Notifier } from './notifier/notifier.ts'
import { createNatsNotifier } from './notifiers/nats/notifier.ts'
import type { NatsNotifierOptions } from './notifiers/nats/options.ts'

export type {
  NatsConnectionLike,
  NatsMessageLike,
  NatsSubscriptionLike,
} from './notifiers/nats/connection.ts'
export type { NatsNotifierOptions, NatsServers } from './notifiers/nats/options.ts'

/** Hints over NATS, and notices over JetStream (NATS 2.9 or newer). Jobs stay in their store, which alone decides. */
export function natsNotifier(options: NatsNotifierOptions): Notifier & { readonly notices: Notices } {
  return createNatsNotifier(options)
}
