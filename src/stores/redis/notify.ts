import type { Notifier } from '../../notifier/notifier.ts'
import { createChannelNotifier, type HintChannel } from '../../notifiers/shared/channel-notifier.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { type RedisClient, withDeadline } from './connection/client.ts'
import { openClient } from './connection/open-client.ts'
import { Session } from './connection/session.ts'
import { type RedisStoreOptions, type ResolvedOptions, resolveOptions } from './options.ts'

/** What a notifier needs of the server: to tell everyone who listens, and to listen. */
export interface StoreChannel {
  send(payload: string): Promise<void>
  readonly takesLetters: boolean
  readonly session: Session
  readonly runtime: Runtime
}

/** What it is called. It is no key, and what is said there leaves nothing behind. */
export function channelName(prefix: string): string {
  return `{${prefix}}:hints`
}

/** The channel of the store with this prefix. */
export function channelOf(
  client: () => Promise<RedisClient>,
  { prefix, runtime, callTimeoutMs }: Pick<ResolvedOptions, 'prefix' | 'runtime' | 'callTimeoutMs'>,
  takesLetters: boolean,
): StoreChannel {
  const channel = channelName(prefix)
  const timeoutMs = Math.min(5_000, callTimeoutMs)
  return {
    session: new Session({ client, runtime, channel, timeoutMs }),
    takesLetters,
    runtime,
    async send(payload) {
      // Whoever sends hints waits for the last one before the next: it must not wait for ever.
      const sent = client().then((open) => open.send('PUBLISH', [channel, payload]))
      await withDeadline(runtime, timeoutMs, sent)
    },
  }
}

/** What a channel without a store needs to know. */
export type ChannelOptions = Omit<RedisStoreOptions, 'wait' | 'unsafe' | 'onLoss' | 'onUnsafe' | 'liveness'>

/** A channel without a store: for processes that only tell or hear. */
export function openChannel(given: ChannelOptions): StoreChannel & { close(): Promise<void> } {
  const options = resolveOptions(given)
  let opening: Promise<RedisClient> | undefined
  const open = (): Promise<RedisClient> => {
    opening ??= openClient(options.connection, options)
    return opening
  }
  const channel = channelOf(open, options, false)
  return {
    ...channel,
    async close() {
      channel.session.close()
      const opened = await opening?.catch(() => undefined)
      opened?.close()
    },
  }
}

/** At most one PUBLISH in this time: the server copies each to everybody who listens. */
const APART_MS = 2

/** Who gets more to tell than this had better look for itself. */
const LETTER_BYTES = 32_000

/** Hints over PUBLISH and SUBSCRIBE. On a cluster every node passes them on, so whichever one is listened to will do. */
export function createRedisNotifier(channel: HintChannel, runtime: Runtime): Notifier {
  return createChannelNotifier(channel, { runtime, apartMs: APART_MS, mostBytes: LETTER_BYTES })
}
