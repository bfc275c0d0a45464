import type { Hint, Notifier } from '../../notifier.ts'
import type { Runtime } from '../../runtime.ts'
import { Bus } from '../shared/bus.ts'
import { readLetter, writeLetter } from '../shared/letter.ts'
import { Outgoing } from '../shared/outgoing.ts'

/** At most one NOTIFY in this time: each takes a lock that all notifying commits share. */
const APART_MS = 5

/** PostgreSQL takes less than 8,000. */
const LETTER_BYTES = 7_900

/** The way to the other processes: a channel of the database. */
export interface HintChannel {
  /** NOTIFY. */
  send(payload: string): Promise<void>
  /** The connection that LISTENs and comes back by itself; null when the user wants none. */
  readonly session: {
    listen(listener: { onPayload(payload: string): void; onUp(): void }): () => void
    /** Why nothing is heard now; undefined when all is well. */
    readonly problem: string | undefined
  } | null
}

/**
 * Hints over LISTEN and NOTIFY. Inside the process they take the short way, without the database; to others they
 * go merged, a few milliseconds apart at most, on a statement of their own: never in anybody's commit.
 */
export function createPostgresNotifier(channel: HintChannel, runtime: Runtime): Notifier {
  const sender = runtime.uuid()
  const bus = new Bus(runtime)
  const outgoing = new Outgoing(runtime, APART_MS, (hints) =>
    channel.send(writeLetter(sender, hints, LETTER_BYTES)),
  )
  let stopListening: (() => void) | null = null
  let isClosed = false

  const connect = (): void => {
    stopListening ??=
      channel.session?.listen({
        onPayload(payload) {
          const letter = readLetter(payload, LETTER_BYTES)
          // Our own hints were heard when they were published.
          if (letter !== null && letter.sender !== sender) bus.tell(letter.hints)
        },
        onUp: () => bus.tell([{ kind: 'sync' }]),
      }) ?? null
  }

  return {
    publish(hints: readonly Hint[]) {
      if (isClosed) return
      bus.tell(hints)
      outgoing.add(hints)
    },

    subscribe(listener) {
      if (isClosed) return { end: () => {} }
      let isGreeting = true
      return bus.add((hints) => {
        // The first call says "look at everything". While nothing is heard yet it would come too early: what is
        // told between it and the connection would be missed. The connection's own sync takes its place.
        const isEarly = isGreeting && channel.session !== null && channel.session.problem !== undefined
        isGreeting = false
        if (!isEarly) listener(hints)
      }, connect)
    },

    health() {
      if (channel.session === null)
        return { status: 'off', detail: 'Not listening, by choice (listen: false).' }
      const { problem } = channel.session
      return problem === undefined
        ? { status: 'up', detail: 'Listening.' }
        : { status: 'down', detail: `Not listening, trying again: ${problem}` }
    },

    async close() {
      if (isClosed) return
      isClosed = true
      stopListening?.()
      bus.close()
      await outgoing.flush()
    },
  }
}
