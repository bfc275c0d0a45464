import { type Hint, mergeHints, type Notifier, type WorkHint } from '../../notifier/notifier.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { Bus } from './fan-out.ts'
import { readLetter, writeLetter } from './hint-codec.ts'
import { Outgoing } from './throttle.ts'

/** The connection to the other processes: a pub/sub channel of a server. */
export interface HintChannel {
  send(payload: string): Promise<void>
  /** A store publishes messages on this channel that are passed with an insert. @default false */
  readonly takesLetters?: boolean
  /** The listening connection, which reconnects; null if disabled. */
  readonly session: {
    listen(listener: { onPayload(payload: string): void; onUp(): void }): () => void
    /** Why no hints are received now; undefined if all is well. */
    readonly problem: string | undefined
    /** It does not retry, because that cannot help. @default false */
    readonly hasGivenUp?: boolean
  } | null
}

export interface ChannelNotifierOptions {
  readonly runtime: Runtime
  /** The minimum time between two messages; hints in between are merged into the next. */
  readonly apartMs: number
  readonly mostBytes: number
}

/** Hints over a channel. Inside the process they are delivered directly; to other processes merged. */
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

  /** Caches the last message: a caller that enqueues one job after the other repeats it. */
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
          // Our own hints were delivered when they were published.
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
        // The first call is a sync. Before the channel listens it would be too early: hints between it and
        // the connection would be missed. The sync of the connection replaces it.
        const isEarly = isGreeting && channel.session !== null && channel.session.problem !== undefined
        isGreeting = false
        if (!isEarly) listener(hints)
      }, connect)
    },

    health() {
      if (channel.session === null) return { status: 'off', detail: 'Not listening (listen: false).' }
      const { problem, hasGivenUp = false } = channel.session
      if (problem === undefined) return { status: 'up', detail: 'Listening.' }
      return { status: 'down', detail: `Not listening${hasGivenUp ? '' : ', retrying'}: ${problem}` }
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
