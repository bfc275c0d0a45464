import { messageOf, SkepError } from '../../core/errors.ts'
import type { NoticeHint, Notices } from '../../notifier/notices.ts'
import type { Hint, Notifier } from '../../notifier/notifier.ts'
import { sleep } from '../../runtime/runtime.ts'
import { Bus } from '../shared/fan-out.ts'
import { openConnection } from './connection.ts'
import { Tap, type TapOptions } from './consumer.ts'
import { Graveyard } from './dead-letters.ts'
import { Hints } from './hints.ts'
import { JetStream } from './jetstream.ts'
import { type NatsNotifierOptions, resolveOptions } from './options.ts'
import { Outbox } from './publisher.ts'
import { Line } from './stream.ts'
import { Streams } from './streams.ts'
import { subjectsOf } from './subjects.ts'

/** Hints within this time after a message are merged into the next. */
const APART_MS = 2
/** The timeout for sending pending messages on close. */
const CLOSE_MS = 5_000

/**
 * Hints over core NATS, notices over JetStream. Inside the process hints are delivered directly, without the
 * server; to other processes they are merged.
 */
export function createNatsNotifier(given: NatsNotifierOptions): Notifier & { readonly notices: Notices } {
  const options = resolveOptions(given)
  const { runtime, connection: theirs, prefix, inboxPrefix } = options
  const subjects = subjectsOf(prefix)
  const bus = new Bus(runtime)
  const line = new Line({
    runtime,
    open: theirs === null ? () => openConnection(options) : async () => theirs,
    isOwn: theirs === null,
  })
  const tellHere = (hints: readonly Hint[]): void => bus.tell(hints)
  const jetStream = new JetStream(line, options)
  const streams = new Streams(jetStream, subjects)
  const graveyard = new Graveyard({ runtime, line, jetStream, streams, subjects })
  const notices = createNotices({ runtime, line, jetStream, streams, subjects, graveyard, inboxPrefix })
  const outbox = new Outbox({ runtime, jetStream, streams, subjects, apartMs: APART_MS, tellHere })
  const others = new Hints({ runtime, line, subject: subjects.hints, apartMs: APART_MS, onHints: tellHere })
  line.onUp(() => outbox.retry())
  let isClosed = false

  return {
    notices,

    publish(hints) {
      if (isClosed || hints.length === 0) return
      line.start()
      const named = hints.filter(isNamed)
      if (named.length > 0) outbox.add(named)
      const plain = named.length > 0 ? hints.filter((hint) => !isNamed(hint)) : hints
      bus.tell(plain)
      others.send(plain)
    },

    subscribe(listener) {
      if (isClosed) return { end: () => {} }
      let isGreeting = true
      return bus.add(
        (hints) => {
          // The first call is a sync. Before the subscription works it would be too early: hints between it
          // and the connection would be missed. The sync of the connection replaces it.
          const isEarly = isGreeting && !others.isSynced
          isGreeting = false
          if (!isEarly) listener(hints)
        },
        () => others.listen(),
      )
    },

    health() {
      if (isClosed) return { status: 'down', detail: 'Closed.' }
      const { problem } = line
      if (problem instanceof SkepError) return { status: 'down', detail: problem.message }
      if (problem !== undefined) {
        return { status: 'down', detail: `No connection, retrying: ${messageOf(problem)}` }
      }
      if (others.problem !== undefined) {
        return { status: 'down', detail: `Receives no hints, retrying: ${others.problem}` }
      }
      if (streams.problem !== undefined) {
        return {
          status: 'down',
          detail: `Hints are delivered, notices are not, retrying: ${streams.problem}`,
        }
      }
      return { status: 'up', detail: streams.remark ?? 'Connected to NATS.' }
    },

    async close() {
      if (isClosed) return
      isClosed = true
      notices.close()
      bus.close()
      const closing = new AbortController()
      const sent = Promise.all([others.close(), outbox.close(), graveyard.settle()])
      await Promise.race([sent, sleep(runtime, CLOSE_MS, closing.signal)])
      closing.abort()
      await line.close()
    },
  }
}

function isNamed(hint: Hint): hint is NoticeHint {
  return hint.kind === 'work' && hint.ids !== undefined
}

export interface NatsNotices extends Notices {
  close(): void
}

export function createNotices(options: TapOptions): NatsNotices {
  const taps = new Set<Tap>()
  let isClosed = false
  return {
    open(source, listener) {
      const tap = new Tap(options, { space: source.space, queue: source.queue }, listener)
      if (isClosed) tap.close()
      else taps.add(tap)
      return {
        want: (count) => tap.want(count),
        close() {
          taps.delete(tap)
          tap.close()
        },
      }
    },

    async dead(call) {
      return options.graveyard.read(call)
    },

    close() {
      isClosed = true
      for (const tap of taps) tap.close()
      taps.clear()
    },
  }
}
