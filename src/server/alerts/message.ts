/**
 * What is posted, and how whoever gets it knows that it is ours: the headers and the signature of Standard Webhooks
 * (standardwebhooks.com), which libraries of many languages can check. The id stays the same however often a message is sent, so that
 * one that comes twice can be told; the time is that of the sending, so that an old one cannot be played again.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { SkepError, systemRuntime } from '../../index.ts'
import type { Attention } from '../../operations/schema/wire-types.ts'

/** How an alert begins, goes on and ends. */
export type AlertEvent = 'alert.opened' | 'alert.repeated' | 'alert.resolved'

/** The body of a message. */
export interface AlertMessage {
  readonly type: AlertEvent
  /** When it was found, as text. */
  readonly timestamp: string
  /** The whole in one line, as chats show it. */
  readonly text: string
  readonly data: {
    readonly space: string
    /** The word that the server was given, such as "production". */
    readonly environment: string | null
    readonly kind: Attention['kind']
    readonly level: Attention['level']
    readonly text: string
    /** The page of the dashboard that tells more, from its root. */
    readonly link: string
    /** Since when it is so. */
    readonly since: string
  }
}

const PREFIX = 'whsec_'
const LEAST_BYTES = 24
const MOST_BYTES = 64
/** A message that is older or younger than this is played again, or the clocks are wrong. */
const TOLERANCE_MS = 300_000

/** The key in a secret. Throws `OPTION_INVALID` if it is none. */
export function keyOf(secret: string): Buffer {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : ''
  const key = /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0)
  if (key.length >= LEAST_BYTES && key.length <= MOST_BYTES) return key
  throw new SkepError(
    'OPTION_INVALID',
    `A secret of alerts is "${PREFIX}" and the base64 of ${LEAST_BYTES} to ${MOST_BYTES} bytes that nobody can guess. ` +
      `echo "${PREFIX}$(openssl rand -base64 32)" makes one.`,
  )
}

/** The headers of a message that is sent now. With several keys there are several signatures: one of them will do. */
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

/** What came, as any framework has it. */
export interface ReceivedAlert {
  /** Of the request, in lower case; or a `Headers`. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> | Headers
  /** As it came, before anybody parsed it. */
  readonly body: string
  /** @default the time of this machine */
  readonly now?: number
}

/**
 * The alert in a request that reached your own server. Throws `UNAUTHENTICATED` if it is not signed with this secret, was changed on
 * its way, or is older than five minutes. The same one may come twice: its `webhook-id` is the same then.
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
      ? 'The alert is too old or too young: it was played again, or a clock is wrong.'
      : 'The alert is not signed with this secret.',
  )
}

function signature(key: Buffer, id: string, at: string, body: string): Buffer {
  return createHmac('sha256', key).update(`${id}.${at}.${body}`).digest()
}

function isSame(given: Buffer, wanted: Buffer): boolean {
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}
