import type { SecureContextOptions } from 'node:tls'
import { type Duration, SkepError, toMs } from '../index.ts'
import { assertBetween } from './options.ts'

/** The port of a server: SKEP on the keys of a phone. */
export const DEFAULT_PORT = 7537

/** What a server of its own can be told about its connections. */
export interface ConnectionOptions {
  /** Connections at once; one more is closed at once. @default 10000 */
  readonly connections?: number
  /** The largest headers of a request, in bytes. @default 16384 */
  readonly headerBytes?: number
  /** How long a client may take to send its headers. @default '10s', or `requestTimeout` if that is shorter */
  readonly headersTimeout?: Duration
  /** How long it may take to send the whole request. @default '60s' */
  readonly requestTimeout?: Duration
  /** How long a connection that is not used stays open. @default '65s' */
  readonly idleTimeout?: Duration
  /** Streams at once on one connection of HTTP/2. @default 250 */
  readonly streamsPerConnection?: number
  /** How long `close` waits for what is being answered. @default '10s' */
  readonly closeTimeout?: Duration
  /** A key and a certificate, for https without a proxy in front. */
  readonly tls?: SecureContextOptions
}

export interface ResolvedConnections {
  readonly connections: number
  readonly headerBytes: number
  readonly headersMs: number
  readonly requestMs: number
  readonly idleMs: number
  readonly streams: number
  readonly closeMs: number
  readonly tls: SecureContextOptions | null
}

export function resolveConnections(options: ConnectionOptions): ResolvedConnections {
  const { connections = 10_000, headerBytes = 16_384, streamsPerConnection = 250, tls = null } = options
  assertBetween('connections', connections, 1, 1_000_000)
  assertBetween('headerBytes', headerBytes, 1_024, 1_048_576)
  assertBetween('streamsPerConnection', streamsPerConnection, 1, 100_000)
  const requestMs = timeout('requestTimeout', options.requestTimeout ?? '60s')
  // Headers are a part of the request: its timeout, if shorter, holds for them too.
  const headersMs = timeout('headersTimeout', options.headersTimeout ?? Math.min(10_000, requestMs))
  if (headersMs > requestMs) {
    throw new SkepError(
      'OPTION_INVALID',
      `headersTimeout (${headersMs} ms) must not be longer than requestTimeout (${requestMs} ms), which includes it.`,
    )
  }
  return {
    connections,
    headerBytes,
    headersMs,
    requestMs,
    idleMs: toMs('idleTimeout', options.idleTimeout ?? '65s'),
    streams: streamsPerConnection,
    closeMs: toMs('closeTimeout', options.closeTimeout ?? '10s'),
    tls,
  }
}

function timeout(name: string, duration: Duration): number {
  const ms = toMs(name, duration)
  if (ms >= 1 && ms <= LONGEST_MS) return ms
  throw new SkepError('OPTION_INVALID', `${name} must be from 1 ms to a day.`)
}

const LONGEST_MS = 86_400_000
