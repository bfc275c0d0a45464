import { messageOf, SkepError } from '../../core/errors.ts'
import type { NoticeHint, Notices } from '../../notices.ts'
import { type Hint, mergeHints, type Notifier } from '../../notifier.ts'
import { sleep } from '../../runtime.ts'
import { Bus } from '../shared/bus.ts'
import { readLetter, writeLetter } from '../shared/letter.ts'
import { Outgoing } from '../shared/outgoing.ts'
import type { NatsConnectionLike } from './connection.ts'
import { Graveyard } from './graveyard.ts'
import { JetStream } from './jetstream.ts'
import { Line } from './line.ts'
import { createNotices } from './notices.ts'
import { openConnection } from './open-connection.ts'
import { type NatsNotifierOptions, resolveOptions } from './options.ts'
import { Outbox } from './outbox.ts'
import { Streams } from './streams.ts'
import { subjectsOf } from './subjects.ts'

/** What is told within this time after a message goes together in the next. */
const APART_MS = 2
/** NATS takes 1 MB unless it is told otherwise. */
const LETTER_BYTES = 100_000

/** More hints than this that wait for a connection become one: look at everything. */
const MOST_UNSENT = 1_000
/** The longest that closing waits for what is pending to be sent. */
const FAREWELL_MS = 5_000

/**
 * Hints over plain NATS, notices over JetStream. Inside the process hints take the short way, without the server; to others
 * they go merged.
 */
export function createNatsNotifier(given: NatsNotifierOptions): Notifier & { readonly notices: Notices } {
  const options = resolveOptions(given)
  const { runtime, connection: own, prefix, inboxPrefix } = options
  const sender = runtime.uuid()
  const subjects = subjectsOf(prefix)
  const bus = new Bus(runtime)
  const line = new Line({
    runtime,
    open: own === null ? () => openConnection(options) : async () => own,
    isOwn: own === null,
  })
  const jetStream = new JetStream(line, options)
  const streams = new Streams(jetStream, subjects)
  const graveyard = new Graveyard({ runtime, line, jetStream, streams, subjects })
  const notices = createNotices({ runtime, line, jetStream, streams, subjects, graveyard, inboxPrefix })
  const tellHere = (hints: readonly Hint[]): void => bus.tell(hints)
  const outbox = new Outbox({ runtime, jetStream, streams, subjects, apartMs: APART_MS, tellHere })
  /** Hints that found no connection. They go with the next one. */
  let unsent: Hint[] = []
  const outgoing = new Outgoing(runtime, APART_MS, async (hints) => {
    if ((await line.settled()) !== null) {
      line.send(subjects.hints, writeLetter(sender, hints, LETTER_BYTES))
    } else {
      unsent = mergeHints([...unsent, ...hints])
      if (unsent.length > MOST_UNSENT) unsent = [{ kind: 'sync' }]
    }
  })
  let heardOn: NatsConnectionLike | null = null
  let hintProblem: string | undefined
  let isSynced = false
  let isListening = false
  let isClosed = false

  const hear = (connection: NatsConnectionLike): void => {
    heardOn = connection
    hintProblem = undefined
    connection.subscribe(subjects.hints, {
      callback(error, message) {
        if (isClosed) return
        if (error) {
          // The server does not let us listen. It is asked again with the next connection.
          hintProblem = messageOf(error)
          if (heardOn === connection) heardOn = null
          return
        }
        const letter = readLetter(Buffer.from(message.data).toString(), LETTER_BYTES)
        // Our own hints were heard when they were published.
        if (letter !== null && letter.sender !== sender) bus.tell(letter.hints)
      },
    })
  }

  const onUp = (): void => {
    outbox.retry()
    outgoing.add(unsent)
    unsent = []
    if (isListening) void greet()
  }

  const greet = async (): Promise<void> => {
    isSynced = false
    const { connection } = line
    if (connection === null) return
    try {
      if (heardOn !== connection) hear(connection)
    } catch {
      return // The connection was closed just now.
    }
    // Until the server has the subscription, hints are missed: the sync comes after that.
    while (line.connection === connection && !(await line.flush())) {}
    if (line.connection !== connection) return
    isSynced = true
    bus.tell([{ kind: 'sync' }])
  }
  line.onUp(onUp)

  const listen = (): void => {
    if (isListening) return
    isListening = true
    line.start()
    void greet()
  }

  return {
    notices,

    publish(hints) {
      if (isClosed || hints.length === 0) return
      line.start()
      const named = hints.filter((hint): hint is NoticeHint => hint.kind === 'work' && hint.ids !== undefined)
      if (named.length > 0) outbox.add(named.filter(({ ids }) => ids.length > 0))
      const plain =
        named.length === 0 ? hints : hints.filter((hint) => !(named as readonly Hint[]).includes(hint))
      bus.tell(plain)
      if (plain.length > 0) outgoing.add(plain)
    },

    subscribe(listener) {
      if (isClosed) return { end: () => {} }
      let isGreeting = true
      return bus.add((hints) => {
        // The first call says "look at everything". While nothing is heard yet it would come too early: what is
        // told between it and the connection would be missed. The connection's own sync takes its place.
        const isEarly = isGreeting && !isSynced
        isGreeting = false
        if (!isEarly) listener(hints)
      }, listen)
    },

    health() {
      if (isClosed) return { status: 'down', detail: 'Closed.' }
      const { problem } = line
      if (problem instanceof SkepError) return { status: 'down', detail: problem.message }
      if (problem !== undefined)
        return { status: 'down', detail: `No connection, trying again: ${messageOf(problem)}` }
      if (hintProblem !== undefined) return { status: 'down', detail: `Hears no hints: ${hintProblem}` }
      if (streams.problem !== undefined) {
        return { status: 'down', detail: `Hints flow, notices do not, trying again: ${streams.problem}` }
      }
      return { status: 'up', detail: streams.remark ?? 'Connected.' }
    },

    async close() {
      if (isClosed) return
      isClosed = true
      notices.close()
      bus.close()
      const given = new AbortController()
      const sent = Promise.all([outgoing.flush(), outbox.close(), graveyard.settle()])
      await Promise.race([sent, sleep(runtime, FAREWELL_MS, given.signal)])
      given.abort()
      await line.close()
    },
  }
}
