import type { Runtime } from '../../runtime.ts'
import { createCaller } from './caller.ts'
import type { Driver } from './driver.ts'
import { openDriver } from './open-driver.ts'
import { channelOf, NOTIFY, type PostgresStoreOptions, resolveOptions } from './options.ts'
import { Session } from './session.ts'

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
  let opening: Promise<Driver> | undefined
  let isClosed = false
  const driver = (): Promise<Driver> => {
    opening ??= openDriver(connection, { runtime, callTimeoutMs, listen }).catch((error: unknown) => {
      opening = undefined
      throw error
    })
    return opening
  }
  const { call } = createCaller({
    driver,
    runtime,
    schema,
    timeoutMs: callTimeoutMs,
    isClosed: () => isClosed,
  })
  const session = listen
    ? new Session({ driver, runtime, schema, channel, timeoutMs: Math.min(5_000, callTimeoutMs) })
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
      if (opening) await (await opening.catch(() => undefined))?.close()
    },
  }
}
