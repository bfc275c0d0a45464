/**
 * The webhook message with the headers and signature of Standard Webhooks (standardwebhooks.com), for which
 * libraries exist in many languages. The id is the same for each delivery attempt, so receivers can
 * deduplicate; the timestamp is that of the attempt, which prevents replay.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { SkepError, systemRuntime } from '../../index.ts'
import type { Attention } from '../../operations/schema/wire-types.ts'

/** The lifecycle events of an alert. */
export type AlertEvent = 'alert.opened' | 'alert.repeated' | 'alert.resolved'

/** The body of a message. */
export interface AlertMessage {
  readonly type: AlertEvent
  /** When the issue was found, as an ISO 8601 string. */
  readonly timestamp: string
  /** The alert in one line, for chats. */
  readonly text: string
  readonly data: {
    readonly space: string
    /** The configured environment, such as "production". */
    readonly environment: string | null
    readonly kind: Attention['kind']
    readonly level: Attention['level']
    readonly text: string
    /** The dashboard page for details, relative to its root. */
    readonly link: string
    /** When the issue started. */
    readonly since: string
  }
}

const PREFIX = 'whsec_'
const LEAST_BYTES = 24
const MOST_BYTES = 64
/** Messages outside this window are replays, or a clock is wrong. */
const TOLERANCE_MS = 300_000

/** Decodes the key in a secret. Throws `OPTION_INVALID` if it is not one. */
export function keyOf(secret: string): Buffer {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : ''
  const key = /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0)
  if (key.length >= LEAST_BYTES && key.length <= MOST_BYTES) return key
  throw new SkepError(
    'OPTION_INVALID',
    `Invalid alert secret: expected "${PREFIX}" and ${LEAST_BYTES} to ${MOST_BYTES} random bytes in base64. ` +
      `Create one with: echo "${PREFIX}$(openssl rand -base64 32)"`,
  )
}

/** The headers of a delivery attempt. Each key adds a signature; a receiver accepts any of them. */
export function signed(
  keys: readonly Buffer[],
  { id, body, now }: { readonly id: string; readonly body: string; readonly now: number },
): Readonly<Record<string, string>> {
  const at = String(Math.floor(now / 1_000))
  return {
    'content-type': 'application/json',
    'user-agent': 'skep',
    'webhook-id': id,
    'webhook-timestamp': at,
    'webhook-signature': keys.map((key) => `v1,${signature(key, id, at, body).toString('base64')}`).join(' '),
  }
}

/** The parts of a request, as any framework provides them. */
export interface ReceivedAlert {
  /** The request headers in lower case, or a `Headers` object. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> | Headers
  /** The raw body, not parsed. */
  readonly body: string
  /** @default the time of this machine */
  readonly now?: number
}

/**
 * Verifies a webhook request and returns the alert. Throws `UNAUTHENTICATED` if the signature does not match
 * or the request is older than five minutes. A message may be delivered twice, with the same `webhook-id`.
 */
export function verifyAlert(
  secret: string,
  { headers, body, now = systemRuntime().now() }: ReceivedAlert,
): AlertMessage {
  const header = (name: string): string => {
    const value = headers instanceof Headers ? headers.get(name) : headers[name]
    return typeof value === 'string' ? value : ''
  }
  const at = header('webhook-timestamp')
  const isOfNow = /^\d{1,12}$/.test(at) && Math.abs(now - Number(at) * 1_000) <= TOLERANCE_MS
  const wanted = signature(keyOf(secret), header('webhook-id'), at, body)
  const isOurs = header('webhook-signature')
    .split(' ')
    .some((one) => one.startsWith('v1,') && isSame(Buffer.from(one.slice(3), 'base64'), wanted))
  if (isOurs && isOfNow) return JSON.parse(body) as AlertMessage
  throw new SkepError(
    'UNAUTHENTICATED',
    isOurs
      ? 'The timestamp of the alert is out of range: it is a replay, or a clock is wrong.'
      : 'The alert is not signed with this secret.',
  )
}

function signature(key: Buffer, id: string, at: string, body: string): Buffer {
  return createHmac('sha256', key).update(`${id}.${at}.${body}`).digest()
}

function isSame(given: Buffer, wanted: Buffer): boolean {
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}
