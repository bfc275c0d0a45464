import { clientMissing } from '../../core/errors.ts'
import type { ResolvedOptions } from './options.ts'

/**
 * The part of a NATS client that the notifier uses: `@nats-io/transport-node`, or any client of its shape.
 */
export interface NatsConnectionLike {
  publish(subject: string, payload?: string, options?: { reply?: string }): void
  subscribe(
    subject: string,
    options: { callback: (error: Error | null, message: NatsMessageLike) => void },
  ): NatsSubscriptionLike
  request(subject: string, payload?: string, options?: { timeout: number }): Promise<NatsMessageLike>
  /** Resolves when everything before it has reached the server. */
  flush(): Promise<void>
  /** Connection events without end: `disconnect` and `reconnect` among others. */
  status(): AsyncIterable<{ readonly type: string }>
  closed(): Promise<unknown>
  close(): Promise<void>
  isClosed(): boolean
}

export interface NatsMessageLike {
  readonly subject: string
  readonly data: Uint8Array
  readonly reply?: string | undefined
  readonly headers?: { readonly code: number; readonly description: string } | undefined
}

export interface NatsSubscriptionLike {
  unsubscribe(): void
  /** Ends it once messages in flight have arrived. */
  drain(): Promise<void>
}

/**
 * The client reconnects without a limit, also to discovered servers of the cluster. Pings detect a silent
 * server within about 20 s.
 */
const STAYING = {
  name: 'skep',
  timeout: 5_000,
  reconnect: true,
  maxReconnectAttempts: -1,
  reconnectTimeWait: 200,
  reconnectJitter: 200,
  pingInterval: 10_000,
  maxPingOut: 2,
  ignoreAuthErrorAbort: true,
  noAsyncTraces: true,
} as const

type Connect = (options: object) => Promise<NatsConnectionLike>

/** A new connection to one of the servers. Fails if none of them replies. */
export async function openConnection({ access, client }: ResolvedOptions): Promise<NatsConnectionLike> {
  const connect = await load()
  return connect({ ...STAYING, ...access, ...client })
}

async function load(): Promise<Connect> {
  try {
    const { connect } = await import('@nats-io/transport-node')
    return connect as unknown as Connect
  } catch (cause) {
    throw clientMissing(
      '@nats-io/transport-node',
      cause,
      'The package "@nats-io/transport-node" is not installed. Run "npm install @nats-io/transport-node", or pass a ' +
        'connection of your own to the notifier.',
    )
  }
}
