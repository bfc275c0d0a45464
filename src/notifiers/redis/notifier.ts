import type { Notifier } from '../../notifier.ts'
import type { Runtime } from '../../runtime.ts'
import { createChannelNotifier, type HintChannel } from '../shared/channel-notifier.ts'

/** At most one PUBLISH in this time: the server copies each to everybody who listens. */
const APART_MS = 2

/** Who gets more to tell than this had better look for itself. */
const LETTER_BYTES = 32_000

/** Hints over PUBLISH and SUBSCRIBE. On a cluster every node passes them on, so whichever one is listened to will do. */
export function createRedisNotifier(channel: HintChannel, runtime: Runtime): Notifier {
  return createChannelNotifier(channel, { runtime, apartMs: APART_MS, mostBytes: LETTER_BYTES })
}
