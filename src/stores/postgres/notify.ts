import type { Notifier } from '../../notifier/notifier.ts'
import { createChannelNotifier, type HintChannel } from '../../notifiers/shared/channel-notifier.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { createCaller } from './connection/caller.ts'
import { driverOpener } from './connection/open-driver.ts'
import { Session } from './connection/session.ts'
import { channelOf, NOTIFY, type PostgresStoreOptions, resolveOptions } from './options.ts'

/** What a notifier needs of the database: to tell everyone who listens, and to listen. */
export interface StoreChannel {
  send(payload: string): Promise<void>
  /** The connection that listens; null when the user wants none. */
  readonly session: Session | null
  readonly runtime: Runtime
  close(): Promise<void>
}

/** A channel without a store: for processes that only tell or hear. */
export function openChannel(options: Omit<PostgresStoreOptions, 'migrate' | 'unsafe'>): StoreChannel {
  const { schema, runtime, listen, callTimeoutMs, connection } = resolveOptions(options)
  const channel = channelOf(schema)
  let isClosed = false
  const driver = driverOpener(connection, { runtime, callTimeoutMs, listen })
  const { call } = createCaller({
    driver: driver.open,
    runtime,
    schema,
    timeoutMs: callTimeoutMs,
    isClosed: () => isClosed,
  })
  const session = listen
    ? new Session({
        driver: driver.open,
        runtime,
        schema,
        channel,
        timeoutMs: Math.min(5_000, callTimeoutMs),
      })
    : null
  return {
    session,
    runtime,
    async send(payload) {
      await call(NOTIFY, [channel, payload])
    },
    async close() {
      if (isClosed) return
      isClosed = true
      session?.close()
      await driver.close()
    },
  }
}

/** At most one NOTIFY in this time: each takes a lock that all notifying commits share. */
const APART_MS = 5

/** PostgreSQL takes less than 8,000. */
const LETTER_BYTES = 7_900

/** Hints over LISTEN and NOTIFY, on a statement of their own: never in anybody's commit. */
export function createPostgresNotifier(channel: HintChannel, runtime: Runtime): Notifier {
  return createChannelNotifier(channel, { runtime, apartMs: APART_MS, mostBytes: LETTER_BYTES })
}
