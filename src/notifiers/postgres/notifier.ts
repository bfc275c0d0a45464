import type { Notifier } from '../../notifier.ts'
import type { Runtime } from '../../runtime.ts'
import { createChannelNotifier, type HintChannel } from '../shared/channel-notifier.ts'

/** At most one NOTIFY in this time: each takes a lock that all notifying commits share. */
const APART_MS = 5

/** PostgreSQL takes less than 8,000. */
const LETTER_BYTES = 7_900

/** Hints over LISTEN and NOTIFY, on a statement of their own: never in anybody's commit. */
export function createPostgresNotifier(channel: HintChannel, runtime: Runtime): Notifier {
  return createChannelNotifier(channel, { runtime, apartMs: APART_MS, mostBytes: LETTER_BYTES })
}
