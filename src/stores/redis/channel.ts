import type { Runtime } from '../../runtime.ts'
import type { RedisClient } from './client.ts'
import { withDeadline } from './deadline.ts'
import { openClient } from './open-client.ts'
import { type RedisStoreOptions, type ResolvedOptions, resolveOptions } from './options.ts'
import { Session } from './session.ts'

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
