import { NOTICE_IDS, type NoticeHint, type NoticeSource } from '../../notifier/notices.ts'
import { type Hint, mergeHints } from '../../notifier/notifier.ts'
import { type Runtime, sleep } from '../../runtime/runtime.ts'
import type { JetStream } from './jetstream.ts'
import { writeNotice } from './message.ts'
import type { Streams } from './streams.ts'
import type { Subjects } from './subjects.ts'

/** The maximum number of pending ids, also while the server is unavailable. The oldest become local hints. */
const MOST_IDS = 1_000_000
const MOST_IDS_AWAY = 50_000
/** The maximum number of notices in flight. */
const AT_ONCE = 256
const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 2_000
/** Notices of one queue with due times this close together are merged. */
const TOGETHER_MS = 1_000

export interface OutboxOptions {
  readonly runtime: Runtime
  readonly jetStream: JetStream
  readonly streams: Streams
  readonly subjects: Subjects
  /** The minimum time between two batches. */
  readonly apartMs: number
  /** Receives work whose notice cannot be sent now, so that at least this process looks for it. */
  readonly tellHere: (hints: readonly Hint[]) => void
}

interface Draft extends NoticeSource {
  dueAt: number
  rank: number
  readonly ids: Set<string>
}

/** Unsent notices. Each stays here until the server confirms it: a duplicate is better than a loss. */
export class Outbox {
  readonly #options: OutboxOptions
  readonly #drafts = new Map<string, Draft>()
  #waiting = 0
  #running: Promise<void> | null = null
  #failures = 0
  #isClosing = false
  #wake: () => void = () => {}

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  add(hints: readonly NoticeHint[]): void {
    if (this.#isClosing) return
    const now = this.#options.runtime.now()
    for (const hint of hints) this.#draft(hint, now)
    this.#running ??= this.#run()
  }

  /** The server may be available again: ends the backoff. */
  retry(): void {
    this.#wake()
  }

  /** Sends pending notices, once. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#wake()
    await this.#running
  }

  #draft(hint: NoticeHint, now: number): void {
    const { space, queue, dueAt, rank } = hint
    // Jobs due now must not share a notice with those due tomorrow: it would be redelivered too often.
    const due = dueAt <= now ? 0 : Math.ceil(dueAt / TOGETHER_MS)
    const key = `${space}\n${queue}\n${due}`
    const draft: Draft = this.#drafts.get(key) ?? { space, queue, dueAt, rank, ids: new Set() }
    this.#drafts.set(key, draft)
    draft.dueAt = Math.min(draft.dueAt, dueAt)
    draft.rank = Math.min(draft.rank, rank)
    this.#waiting -= draft.ids.size
    for (const id of hint.ids) draft.ids.add(id)
    this.#waiting += draft.ids.size
    const most = this.#failures > 0 ? MOST_IDS_AWAY : MOST_IDS
    for (const [oldest, dropped] of this.#drafts) {
      if (this.#waiting <= most) break
      this.#drafts.delete(oldest)
      this.#waiting -= dropped.ids.size
      this.#tellHere([dropped])
    }
  }

  async #run(): Promise<void> {
    const { runtime, apartMs } = this.#options
    // Deferred, so that all hints of one turn are sent together.
    await new Promise<void>((resolve) => runtime.defer(resolve))
    while (this.#drafts.size > 0) {
      const startedAt = runtime.mono()
      const isSent = await this.#sendAll()
      if (this.#isClosing && !isSent) break
      const waitMs = isSent
        ? startedAt + apartMs - runtime.mono()
        : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures++)
      if (isSent) this.#failures = 0
      if (waitMs > 0 && !this.#isClosing) await this.#sleep(waitMs)
    }
    this.#running = null
  }

  async #sleep(ms: number): Promise<void> {
    const woken = new AbortController()
    this.#wake = () => woken.abort()
    await sleep(this.#options.runtime, ms, woken.signal, { background: true })
    this.#wake = () => {}
  }

  /** Sends all pending notices. Unconfirmed ones become pending again. */
  async #sendAll(): Promise<boolean> {
    const { streams, runtime } = this.#options
    const drafts = [...this.#drafts.values()]
    this.#drafts.clear()
    this.#waiting = 0
    try {
      await streams.ready()
      const sendings = drafts.flatMap((draft) => this.#sendings(draft))
      for (let n = 0; n < sendings.length; n += AT_ONCE) {
        const outcomes = await Promise.allSettled(sendings.slice(n, n + AT_ONCE).map((send) => send()))
        const failed = outcomes.find((outcome) => outcome.status === 'rejected')
        if (failed) throw failed.reason
      }
      streams.trust('outbox')
      return true
    } catch (error) {
      streams.blame('outbox', error)
      const unsent = drafts.filter(({ ids }) => ids.size > 0)
      this.#tellHere(unsent)
      const now = runtime.now()
      for (const { ids, ...work } of unsent) this.#draft({ kind: 'work', ...work, ids: [...ids] }, now)
      return false
    }
  }

  #sendings({ space, queue, dueAt, ids }: Draft): (() => Promise<void>)[] {
    const { jetStream, subjects } = this.#options
    const subject = subjects.noticesOf({ space, queue })
    const all = [...ids]
    const sendings: (() => Promise<void>)[] = []
    for (let n = 0; n < all.length; n += NOTICE_IDS) {
      const part = all.slice(n, n + NOTICE_IDS)
      sendings.push(async () => {
        await jetStream.add(subject, writeNotice({ ids: part, dueAt }))
        for (const id of part) ids.delete(id)
      })
    }
    return sendings
  }

  #tellHere(drafts: readonly Draft[]): void {
    const hints = drafts.map(
      ({ space, queue, dueAt, rank }): Hint => ({ kind: 'work', space, queue, dueAt, rank }),
    )
    this.#options.tellHere(mergeHints(hints))
  }
}
