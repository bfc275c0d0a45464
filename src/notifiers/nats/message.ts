import { isJobId } from '../../core/names.ts'
import {
  type DeadNotice,
  NOTICE_DELIVERIES,
  NOTICE_IDS,
  type Notice,
  type NoticeSource,
} from '../../notifier/notices.ts'
import type { NatsMessageLike } from './connection.ts'
import type { Graveyard } from './dead-letters.ts'
import { nanoseconds } from './jetstream.ts'
import type { Line } from './stream.ts'

/** A notice as the text of a message. Any client of the server may send one, so nothing in it is trusted. */

export interface NoticeText {
  readonly ids: readonly string[]
  readonly dueAt: number
}

export function writeNotice({ ids, dueAt }: NoticeText): string {
  return JSON.stringify([dueAt, ...ids])
}

/** Parses a notice; null if it is invalid. */
export function readNotice(text: string): NoticeText | null {
  const read = parse(text)
  if (!Array.isArray(read)) return null
  const [dueAt, ...ids] = read as unknown[]
  if (!Number.isSafeInteger(dueAt) || ids.length === 0 || ids.length > NOTICE_IDS || !ids.every(isJobId))
    return null
  return { ids, dueAt: dueAt as number }
}

export function writeDead(notice: DeadNotice): string {
  return JSON.stringify(notice)
}

/** Parses a dead notice. An invalid one is shown as it is, in the reason, for inspection. */
export function readDead(text: string): DeadNotice {
  const read = parse(text)
  const fields = (typeof read === 'object' && read !== null ? read : {}) as Record<keyof DeadNotice, unknown>
  const { space, queue, ids, dueAt, deliveries, reason, buriedAt } = fields
  return {
    space: typeof space === 'string' ? space : '',
    queue: typeof queue === 'string' ? queue : '',
    ids: Array.isArray(ids) ? ids.filter(isJobId) : [],
    dueAt: numberOf(dueAt),
    deliveries: numberOf(deliveries),
    reason: typeof reason === 'string' ? reason : unreadable(text),
    buriedAt: numberOf(buriedAt),
  }
}

export function unreadable(text: string): string {
  return `Not a notice: ${text.slice(0, 200)}`
}

function numberOf(value: unknown): number {
  return Number.isSafeInteger(value) ? (value as number) : 0
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * The number of deliveries, from the reply subject: `$JS.ACK.stream.consumer.deliveries.…`, or with a domain
 * and an account before the stream. 1 if it is missing.
 */
export function deliveriesOf(reply: string): number {
  const parts = reply.split('.')
  const count = Number(parts[parts.length >= 11 ? 6 : 4])
  return Number.isSafeInteger(count) && count > 0 ? count : 1
}

/** The longest delay of a server; longer ones are redelivered in between. */
const LONGEST_DELAY_MS = 365 * 24 * 3_600_000

/** Puts a message back at once, for any worker. */
export function putBack(line: Line, message: NatsMessageLike): void {
  if (message.reply) line.send(message.reply, '-NAK')
}

/** The notice in a message. Null if the worker must not receive it: then it is buried here. */
export function openNotice(
  message: NatsMessageLike,
  source: NoticeSource,
  { line, graveyard }: { readonly line: Line; readonly graveyard: Graveyard },
): Notice | null {
  const { reply = '' } = message
  const text = Buffer.from(message.data).toString()
  const deliveries = deliveriesOf(reply)
  const read = readNotice(text)
  const facts = { space: source.space, queue: source.queue, ...(read ?? { ids: [], dueAt: 0 }), deliveries }
  if (read === null) {
    graveyard.bury(facts, unreadable(text), reply)
    return null
  }
  if (deliveries > NOTICE_DELIVERIES) {
    graveyard.bury(
      facts,
      `It was delivered more than ${NOTICE_DELIVERIES} times, and no worker could process it.`,
      reply,
    )
    return null
  }

  let isAnswered = false
  const answer = (give: () => void): void => {
    if (isAnswered) return
    isAnswered = true
    give()
  }
  return {
    ...facts,
    ack: () => answer(() => line.send(reply, '+ACK')),
    later: (delayMs) =>
      answer(() => {
        const delay = nanoseconds(Math.min(LONGEST_DELAY_MS, Math.max(0, Math.ceil(delayMs))))
        line.send(reply, delay > 0 ? `-NAK ${JSON.stringify({ delay })}` : '-NAK')
      }),
    working: () => {
      if (!isAnswered) line.send(reply, '+WPI')
    },
    bury: (reason) => answer(() => graveyard.bury(facts, reason, reply)),
  }
}
