import { NOTICE_DELIVERIES, type Notice, type NoticeSource } from '../../notices.ts'
import type { NatsMessageLike } from './connection.ts'
import type { Graveyard } from './graveyard.ts'
import { nanoseconds } from './jetstream.ts'
import type { Line } from './line.ts'
import { deliveriesOf, readNotice, unreadable } from './message.ts'

/** A server holds a delay of this length; longer ones come again in between. */
const LONGEST_DELAY_MS = 365 * 24 * 3_600_000

/** Puts a message back at once, for anybody. */
export function putBack(line: Line, message: NatsMessageLike): void {
  if (message.reply) line.send(message.reply, '-NAK')
}

/** The notice in a message. Null when the worker shall not see it: then it is buried here. */
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
      `It came more than ${NOTICE_DELIVERIES} times, and no worker could deal with it.`,
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
