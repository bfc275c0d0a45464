import { type Hint, mergeHints, type Notifier, type WorkHint } from '../../notifier/notifier.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { Bus } from './fan-out.ts'
import { readLetter, writeLetter } from './hint-codec.ts'
import { Outgoing } from './throttle.ts'

/** The way to the other processes: a channel of a server, on which everybody hears what anybody says. */
export interface HintChannel {
  send(payload: string): Promise<void>
  /** A store publishes on this channel what it is handed with an insert. @default false */
  readonly takesLetters?: boolean
  /** The connection that listens and comes back by itself; null when the user wants none. */
  readonly session: {
    listen(listener: { onPayload(payload: string): void; onUp(): void }): () => void
    /** Why nothing is heard now; undefined when all is well. */
    readonly problem: string | undefined
    /** It does not try again, because that cannot help. @default false */
    readonly hasGivenUp?: boolean
  } | null
}

export interface ChannelNotifierOptions {
  readonly runtime: Runtime
  /** Messages go at most once in this time; what is told between is merged into the next. */
  readonly apartMs: number
  /** The longest message. */
  readonly mostBytes: number
}

/** Hints over a channel. Inside the process they take the short way, without the server; to others they go merged. */
export function createChannelNotifier(
  channel: HintChannel,
  { runtime, apartMs, mostBytes }: ChannelNotifierOptions,
): Notifier {
  const sender = runtime.uuid()
  const bus = new Bus(runtime)
  const outgoing = new Outgoing(runtime, apartMs, (hints) =>
    channel.send(writeLetter(sender, hints, mostBytes)),
  )
  let stopListening: (() => void) | null = null
  let last: { readonly hint: WorkHint; readonly text: string } | null = null

  /** Whoever enqueues one job after the other says the same each time. */
  const letterFor = (hints: readonly Hint[]): string => {
    const [hint] = hints
    if (!hint || hints.length > 1 || hint.kind !== 'work' || hint.ids) {
      return writeLetter(sender, mergeHints(hints), mostBytes)
    }
    if (last === null || !isSame(last.hint, hint)) {
      last = { hint, text: writeLetter(sender, hints, mostBytes) }
    }
    return last.text
  }
  let isClosed = false

  const connect = (): void => {
    stopListening ??=
      channel.session?.listen({
        onPayload(payload) {
          const letter = readLetter(payload, mostBytes)
          // Our own hints were heard when they were published.
          if (letter !== null && letter.sender !== sender) bus.hear(letter.hints)
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

    ...(channel.takesLetters && {
      along(hints: readonly Hint[]) {
        if (isClosed || !outgoing.takeTurn()) return null
        bus.tell(hints)
        return letterFor(hints)
      },
    }),

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
      const { problem, hasGivenUp = false } = channel.session
      if (problem === undefined) return { status: 'up', detail: 'Listening.' }
      return { status: 'down', detail: `Not listening${hasGivenUp ? '' : ', trying again'}: ${problem}` }
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

function isSame(a: WorkHint, b: WorkHint): boolean {
  return a.space === b.space && a.queue === b.queue && a.dueAt === b.dueAt && a.rank === b.rank
}
