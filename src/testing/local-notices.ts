import {
  type DeadNotice,
  type DeadNoticePage,
  NOTICE_DELIVERIES,
  NOTICE_HELD_MS,
  NOTICE_IDS,
  type Notice,
  type NoticeHint,
  type NoticeSource,
  type Notices,
  type NoticeTap,
} from '../notifier/notices.ts'
import type { Notifier } from '../notifier/notifier.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Random } from './random.ts'

/** What may happen to a notice: it is lost, it is there twice, it comes late, or its ack is lost. */
export interface NoticeTrouble {
  readonly random: Random
  /** Shares of all notices, and of all acks. */
  readonly lost: number
  readonly doubled: number
  readonly ackLost: number
  /** How late one comes at most. */
  readonly lateMs: number
}

/** A notice on its way. */
class Message {
  readonly space: string
  readonly queue: string
  readonly ids: readonly string[]
  readonly dueAt: number
  deliveries = 0
  /** Ends what is planned for it: that it comes, or comes again. */
  stop: () => void = () => {}

  constructor({ space, queue, dueAt }: NoticeHint, ids: readonly string[]) {
    this.space = space
    this.queue = queue
    this.ids = ids
    this.dueAt = dueAt
  }
}

interface Tap {
  readonly key: string
  readonly runtime: Runtime
  readonly isGone: () => boolean
  readonly listener: (notice: Notice) => void
  wanted: number
  isClosed: boolean
}

/**
 * Notices in memory, for tests and simulations: they keep the promise of `notices.ts` as a server would, for as many
 * processes as share the object, and, if asked to, only as well as they must.
 */
export class LocalNotices {
  /** Changed by whoever wants the trouble to end. */
  trouble: NoticeTrouble | null
  /** What anybody published, in order. */
  readonly published: NoticeHint[] = []
  /** How often each thing happened. */
  readonly counts: Record<'lost' | 'doubled' | 'acked' | 'later' | 'again' | 'buried', number> = {
    lost: 0,
    doubled: 0,
    acked: 0,
    later: 0,
    again: 0,
    buried: 0,
  }
  readonly #runtime: Runtime
  readonly #waiting = new Map<string, Message[]>()
  readonly #known = new Set<Message>()
  readonly #taps = new Set<Tap>()
  readonly #dead: DeadNotice[] = []

  constructor(runtime: Runtime, trouble: NoticeTrouble | null = null) {
    this.#runtime = runtime
    this.trouble = trouble
  }

  /** Notices that are not dealt with, whoever has them. */
  get size(): number {
    return this.#known.size
  }

  /** Taps of those who are there. */
  get open(): number {
    return [...this.#taps].filter(({ isGone }) => !isGone()).length
  }

  publish(hints: readonly NoticeHint[]): void {
    for (const hint of hints) {
      this.published.push(hint)
      for (let from = 0; from < hint.ids.length; from += NOTICE_IDS) {
        const ids = hint.ids.slice(from, from + NOTICE_IDS)
        for (let copies = this.#copies(); copies > 0; copies--) this.#send(new Message(hint, ids))
      }
    }
  }

  /** The notices as one process sees them: it is called on its own runtime. */
  view(runtime: Runtime, isGone: () => boolean = () => false): Notices {
    return {
      open: (source, listener) => this.#open(source, runtime, isGone, listener),
      dead: (call) => this.#readDead(call),
    }
  }

  #open(source: NoticeSource, runtime: Runtime, isGone: Tap['isGone'], listener: Tap['listener']): NoticeTap {
    const tap: Tap = { key: keyOf(source), runtime, isGone, listener, wanted: 0, isClosed: false }
    this.#taps.add(tap)
    return {
      want: (count) => {
        tap.wanted = count
        this.#dispatch(tap.key)
      },
      close: () => {
        tap.isClosed = true
        this.#taps.delete(tap)
      },
    }
  }

  #copies(): number {
    if (this.trouble === null) return 1
    const { random, lost, doubled } = this.trouble
    if (random.chance(lost)) {
      this.counts.lost++
      return 0
    }
    if (!random.chance(doubled)) return 1
    this.counts.doubled++
    return 2
  }

  #send(message: Message): void {
    this.#known.add(message)
    const late = this.trouble === null ? 0 : this.trouble.random.next() ** 3 * this.trouble.lateMs
    this.#comeAfter(message, late)
  }

  #comeAfter(message: Message, ms: number): void {
    message.stop()
    const come = (): void => {
      message.stop = () => {}
      const key = keyOf(message)
      const line = this.#waiting.get(key)
      if (line) line.push(message)
      else this.#waiting.set(key, [message])
      this.#dispatch(key)
    }
    if (ms > 0) message.stop = this.#runtime.timer(ms, come, { background: true })
    else come()
  }

  #dispatch(key: string): void {
    const line = this.#waiting.get(key) ?? []
    // A copy: whoever gets one goes to the end of the row.
    const taps = [...this.#taps]
    for (const tap of taps) {
      if (tap.key !== key || tap.isGone()) continue
      while (tap.wanted > 0 && line.length > 0) {
        const message = line.shift() as Message
        if (message.deliveries >= NOTICE_DELIVERIES) {
          this.#bury(message, `It came ${NOTICE_DELIVERIES} times and was not dealt with.`)
          continue
        }
        tap.wanted--
        // The next notice is somebody else's.
        this.#taps.delete(tap)
        this.#taps.add(tap)
        this.#deliver(message, tap)
      }
    }
  }

  #deliver(message: Message, tap: Tap): void {
    const { space, queue, ids, dueAt } = message
    const deliveries = ++message.deliveries
    if (deliveries > 1) this.counts.again++
    let isAnswered = false
    const answer = (act: () => void): void => {
      // One that was kept too long has come again, and this answer is nobody's.
      if (isAnswered || message.deliveries !== deliveries || !this.#known.has(message)) return
      isAnswered = true
      act()
    }
    const hold = (): void => this.#comeAfter(message, NOTICE_HELD_MS)
    const notice: Notice = {
      space,
      queue,
      ids,
      dueAt,
      deliveries,
      ack: () =>
        answer(() => {
          if (this.trouble?.random.chance(this.trouble.ackLost) === true) return
          this.counts.acked++
          message.stop()
          this.#known.delete(message)
        }),
      later: (delayMs) =>
        answer(() => {
          this.counts.later++
          this.#comeAfter(message, Math.max(1, delayMs))
        }),
      working: () => {
        if (!isAnswered && message.deliveries === deliveries && this.#known.has(message)) hold()
      },
      bury: (reason) => answer(() => this.#bury(message, reason)),
    }
    hold()
    tap.runtime.defer(() => {
      if (tap.isClosed) notice.later(0)
      else tap.listener(notice)
    })
  }

  #bury(message: Message, reason: string): void {
    const { space, queue, ids, dueAt, deliveries } = message
    message.stop()
    this.#known.delete(message)
    this.counts.buried++
    this.#dead.push({ space, queue, ids, dueAt, deliveries, reason, buriedAt: this.#runtime.now() })
  }

  async #readDead({
    limit,
    cursor = null,
  }: {
    readonly limit: number
    readonly cursor?: string | null
  }): Promise<DeadNoticePage> {
    const from = Number(cursor ?? 0)
    const notices = this.#dead.slice(from, from + limit)
    return { notices, cursor: from + limit < this.#dead.length ? String(from + limit) : null }
  }
}

/** A notifier that carries hints as another does, and notices as these do. */
export function withNotices(notifier: Notifier, all: LocalNotices, notices: Notices): Notifier {
  return {
    publish(hints) {
      const named = hints.filter((hint): hint is NoticeHint => hint.kind === 'work' && hint.ids !== undefined)
      if (named.length > 0) all.publish(named)
      notifier.publish(
        named.length === 0 ? hints : hints.filter((hint) => !named.includes(hint as NoticeHint)),
      )
    },
    subscribe: (listener) => notifier.subscribe(listener),
    health: () => notifier.health(),
    notices,
    close: () => notifier.close(),
  }
}

function keyOf({ space, queue }: NoticeSource): string {
  return `${space}\n${queue}`
}
