import { messageOf } from '../core/errors.ts'
import { isFinal, type Job } from '../core/jobs/job.ts'
import { type Hold, holdsQueue, stands } from '../core/lanes/holds.ts'
import { NOTICE_HELD_MS, type Notice, type Notices } from '../notifier/notices.ts'
import { type Notifier, namingHints, workHint } from '../notifier/notifier.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { ClaimCall, ClaimReply, Source, Store } from '../store/store.ts'
import type { HandlerSpec } from './handler.ts'
import { type Entry, HeldNotice } from './held-notice.ts'
import type { Window, Wish } from './prefetch.ts'

/** One claim names at most so many, and of one queue no more notices than this are wanted at once. */
const MOST_AT_ONCE = 500
/** Ids that waited so long for room go out again as new notices: others may have some. */
const STALE_MS = 1_000
/** How long notices are kept while the store is away. Then they come again, later each time. */
const KEPT_MS = 30_000
const LONGEST_MS = 60_000
/** A job that could not be taken for no reason that shows is tried again, so often; somebody may have it locked. */
const TRIES = 3
const TRY_MS = 250
/** About how long after the end of a lease its job has been rescued. */
const RESCUE_MS = 1_000

export interface NoticeBoardOptions {
  readonly notices: Notices
  readonly notifier: Notifier
  readonly store: Store
  readonly runtime: Runtime
  readonly logger: Logger
  readonly specs: readonly HandlerSpec[]
  readonly window: Window
  /** What is due later than this is left to the sweep, which comes more often. */
  readonly sweepMs: number
  /** How long until this moment of the store's clock; 0 if it may have come. */
  readonly waitMs: (at: number) => number
  readonly storeTime: () => number
  /** Whether the store does not answer. */
  readonly isFailing: () => boolean
  /** There may be something to claim. */
  readonly nudge: () => void
}

/** A claim of named jobs. */
export interface NamedWish extends Wish {
  readonly ids: readonly string[]
}

/** The notices of one queue. */
class Line {
  readonly spec: HandlerSpec
  want: (count: number) => void = () => {}
  close: () => void = () => {}
  /** Ids to be claimed, in the order in which they came. */
  waiting: Entry[] = []
  wanted = 0
  /** Until when notices are passed on, or were. */
  askAt = Number.NEGATIVE_INFINITY
  /** How many ids a notice has, smoothed. */
  perNotice = 1

  constructor(spec: HandlerSpec) {
    this.spec = spec
  }
}

/**
 * Takes notices for the queues of a worker, as many as it has room for; gathers their ids for claims; and answers each
 * notice when the store has had its word on every id of it. What becomes of an id:
 *
 *   claimed                       done with: from now on the lease counts
 *   no such job, or finished      done with
 *   held                          done with: who ends the hold tells again
 *   of a queue with limits        done with: the store is searched, because its order decides
 *   not due                       later, or left to the sweep if that comes first
 *   leased by somebody            later, at about the end of that lease
 *   no word, the store is away    kept for a while, then later, and later each time
 */
export class NoticeBoard {
  readonly #options: NoticeBoardOptions
  readonly #lines = new Map<HandlerSpec, Line>()
  #order: readonly Line[] = []
  #isOpen = false
  readonly #held = new Set<HeldNotice>()
  /** What each claim under way was made of, by the list of its ids. */
  readonly #asked = new Map<readonly string[], readonly Entry[]>()
  #turn = 0
  #isClosed = false
  #stopTimer: (() => void) | null = null

  constructor(options: NoticeBoardOptions) {
    this.#options = options
    for (const spec of options.specs) this.add(spec)
  }

  open(): void {
    this.#isOpen = true
    for (const line of this.#order) this.#tap(line)
  }

  /** Takes notices for this queue too. A range of keys has none: its jobs have lanes, and are not told by their ids. */
  add(spec: HandlerSpec): void {
    if (spec.keys !== undefined) return
    const line = new Line(spec)
    this.#lines.set(spec, line)
    this.#order = [...this.#order, line]
    if (this.#isOpen && !this.#isClosed) this.#tap(line)
  }

  /** Takes none for it any more, and gives back at once what is in no claim. */
  remove(spec: HandlerSpec): void {
    const line = this.#lines.get(spec)
    if (line === undefined) return
    this.#lines.delete(spec)
    this.#order = this.#order.filter((other) => other !== line)
    line.close()
    for (const held of new Set(line.waiting.map((entry) => entry.held)))
      if (held.asked === 0) this.#giveBack(held, 0)
    line.waiting = []
  }

  #tap(line: Line): void {
    const { space, queue } = line.spec
    const tap = this.#options.notices.open({ space, queue }, (notice) => this.#take(line, notice))
    line.want = (count) => tap.want(count)
    line.close = () => tap.close()
  }

  /** Whether notices come, so that nothing need be searched for. */
  get isUp(): boolean {
    return this.#options.notifier.health().status === 'up'
  }

  /** Whether ids of this queue wait to be claimed. */
  has(spec: HandlerSpec): boolean {
    return (this.#lines.get(spec)?.waiting.length ?? 0) > 0
  }

  /** The jobs to claim by their ids, or null. Also wants notices for the room that is left. */
  wish(least: number): NamedWish | null {
    const { window } = this.#options
    let most = 0
    let total = 0
    const rooms = new Map<Line, number>()
    for (const line of this.#order) {
      const room = Math.max(0, window.room(line.spec))
      this.#wantFor(line, room - line.waiting.length)
      if (line.waiting.length === 0 || room === 0 || window.isStocked(line.spec)) continue
      const limit = Math.min(room, line.waiting.length, MOST_AT_ONCE)
      rooms.set(line, limit)
      most = Math.max(most, limit)
      total += limit
    }
    if (rooms.size === 0 || Math.min(most, total) < least) return null
    return this.#pick(rooms, most)
  }

  /** Wants nothing for now. */
  rest(): void {
    for (const line of this.#order) this.#wantFor(line, 0)
  }

  /** A claim of ids was answered. */
  answered({ ids = [], sources }: Omit<ClaimCall, 'now'>, { jobs, limited, now }: ClaimReply): void {
    const claimed = new Set(jobs.map(({ id }) => id))
    const asked = this.#asked.get(ids)
    this.#asked.delete(ids)
    if (asked === undefined) {
      // The answer to an earlier call had been lost, and its ids wait again.
      for (const line of this.#order) this.#drop(line, ({ id }) => claimed.has(id))
      return
    }
    const rest: Entry[] = []
    for (const entry of asked) {
      entry.held.asked--
      if (claimed.has(entry.id)) this.#done(entry)
      else if (this.#isClosed) this.#giveBack(entry.held, 0)
      else if (isLimited(entry, sources, limited)) {
        this.#options.window.heat(entry.held.notice)
        this.#done(entry)
      } else rest.push(entry)
    }
    if (rest.length > 0) void this.#lookUp(rest, now)
  }

  /** A claim of ids failed. They are claimed again when the store answers. */
  failed({ ids = [] }: Omit<ClaimCall, 'now'>): void {
    for (const entry of (this.#asked.get(ids) ?? []).toReversed()) {
      entry.held.asked--
      if (this.#isClosed) this.#giveBack(entry.held, 0)
      else this.#wait(entry)
    }
    this.#asked.delete(ids)
  }

  /** Takes no more, and gives back at once what is in no claim. */
  close(): void {
    this.#isClosed = true
    this.#stopTimer?.()
    this.#stopTimer = null
    for (const line of this.#order) line.close()
    for (const held of this.#held) if (held.asked === 0) this.#giveBack(held, 0)
  }

  /** Gives back all that is left: no claim will be answered any more. */
  end(): void {
    for (const held of this.#held) this.#giveBack(held, 0)
  }

  // ── taking notices ─────────────────────────────────────────────────────────────────────────────

  #wantFor(line: Line, room: number): void {
    const count = room <= 0 ? 0 : Math.min(MOST_AT_ONCE, Math.max(1, Math.floor(room / line.perNotice)))
    if (count === line.wanted) return
    line.wanted = count
    line.want(count)
  }

  #take(line: Line, notice: Notice): void {
    const { runtime, window, waitMs } = this.#options
    line.wanted = Math.max(0, line.wanted - 1)
    if (this.#isClosed || !this.#order.includes(line)) {
      notice.later(0)
      return
    }
    const ids = [...new Set(notice.ids)]
    line.perNotice += (ids.length - line.perNotice) / 8
    const early = waitMs(notice.dueAt) || this.#patienceMs(line)
    const held = new HeldNotice(notice, ids.length, runtime.mono())
    this.#held.add(held)
    if (early > 0) {
      for (const id of ids) this.#later({ id, held }, early)
      this.#options.nudge()
      return
    }
    const fit = Math.max(1, window.room(line.spec) - line.waiting.length)
    for (const id of ids.slice(0, fit)) line.waiting.push({ id, held })
    if (ids.length > fit)
      this.#pass(
        line,
        ids.slice(fit).map((id) => ({ id, held })),
      )
    this.#watch()
    this.#options.nudge()
  }

  /** For how long a notice that is due goes to others first. After that the queue's are taken, for as long as ids may wait. */
  #patienceMs(line: Line): number {
    const patienceMs = line.spec.patienceMs?.() ?? 0
    if (patienceMs === 0) return 0
    const now = this.#options.runtime.mono()
    if (now > line.askAt + STALE_MS) line.askAt = now + patienceMs
    return now < line.askAt ? patienceMs : 0
  }

  /** Sends ids for which there is no room as new notices, each no larger than what one worker like this can run. */
  #pass(line: Line, entries: readonly Entry[]): void {
    const { notifier, window } = this.#options
    const size = Math.max(1, window.slots(line.spec))
    const hints = []
    for (let from = 0; from < entries.length; from += size) {
      const part = entries.slice(from, from + size)
      const { dueAt } = (part[0] as Entry).held.notice
      hints.push({
        ...workHint({ ...line.spec, dueAt, priority: 0 }),
        ids: part.map(({ id }) => id),
      })
    }
    notifier.publish(hints)
    for (const entry of entries) this.#done(entry)
  }

  #pick(rooms: ReadonlyMap<Line, number>, most: number): NamedWish {
    const entries: Entry[] = []
    const chosen = new Set<string>()
    const sources: Source[] = []
    for (let n = 0; n < this.#order.length && entries.length < most; n++) {
      const line = this.#order[(this.#turn + n) % this.#order.length] as Line
      const room = Math.min(rooms.get(line) ?? 0, most - entries.length)
      const before = entries.length
      if (room === 0) continue
      line.waiting = line.waiting.filter((entry) => {
        // Two notices may name the same job: the second one asks after the first.
        if (entries.length - before >= room || chosen.has(entry.id)) return true
        chosen.add(entry.id)
        entries.push(entry)
        entry.held.asked++
        return false
      })
      const { space, queue } = line.spec
      sources.push({ space, queue, limit: entries.length - before })
    }
    this.#turn = (this.#turn + 1) % this.#order.length
    const ids = [...chosen]
    this.#asked.set(ids, entries)
    return { sources, limit: ids.length, ids }
  }

  // ── what becomes of them ───────────────────────────────────────────────────────────────────────

  /** Asks the store why these could not be claimed. */
  async #lookUp(entries: readonly Entry[], now: number): Promise<void> {
    const { store, logger } = this.#options
    for (const { held } of entries) held.asked++
    const spaces = new Set(entries.map(({ held }) => held.notice.space))
    for (const space of spaces) {
      const some = entries.filter(({ held }) => held.notice.space === space)
      try {
        const { jobs } = await store.get({ space, ids: some.map(({ id }) => id) })
        const isDue = (job: Job | null | undefined): boolean =>
          job != null && isWaiting(job) && job.dueAt <= now
        // Only a hold keeps back a job that is due, and others are seldom locked: so mostly nobody asks for holds.
        const holds = jobs.some(isDue) ? (await store.holds({ space })).holds : []
        for (const [index, entry] of some.entries()) this.#judge(entry, jobs[index] ?? null, holds, now)
      } catch (error) {
        logger.debug(`Could not look up the jobs of ${some.length} notices: ${messageOf(error)}`)
        for (const { held } of some) this.#giveBack(held, growing(held.notice.deliveries))
      }
    }
    for (const { held } of entries) held.asked--
    this.#options.nudge()
  }

  #judge(entry: Entry, job: Job | null, holds: readonly Hold[], now: number): void {
    const { window } = this.#options
    const { deliveries, space, queue } = entry.held.notice
    if (job === null || isFinal(job.state)) this.#done(entry)
    else if (!isWaiting(job)) this.#later(entry, Math.max(0, (job.leaseUntil ?? now) - now) + RESCUE_MS)
    else if (job.dueAt > now) this.#later(entry, job.dueAt - now)
    else if (holds.some((hold) => stands(hold, now) && holdsQueue(hold, space, queue))) this.#done(entry)
    else if (deliveries < TRIES) this.#later(entry, TRY_MS * 2 ** deliveries)
    else {
      // It is of a kind that cannot be taken by its id.
      window.heat(entry.held.notice)
      this.#done(entry)
    }
  }

  #done({ held }: Entry): void {
    if (--held.open === 0) this.#finish(held)
  }

  #later({ id, held }: Entry, waitMs: number): void {
    if (waitMs <= this.#options.sweepMs) held.rest.push({ id, waitMs })
    if (--held.open === 0) this.#finish(held)
  }

  /** Every id of it has had its word. */
  #finish(held: HeldNotice): void {
    if (!this.#held.delete(held)) return
    const { notifier, storeTime } = this.#options
    const waitMs = held.waitMs()
    if (waitMs !== null) held.notice.later(waitMs)
    else {
      // A part of it, or once more than it may come: what is left gets new notices, each with its own time.
      if (held.rest.length > 0) {
        const { space, queue } = held.notice
        const now = storeTime()
        const plain = { space, queue, priority: 0, lane: null }
        notifier.publish(
          namingHints(held.rest.map(({ id, waitMs }) => ({ ...plain, id, dueAt: now + waitMs }))),
        )
      }
      held.notice.ack()
    }
  }

  /** The whole notice comes again, to anybody. */
  #giveBack(held: HeldNotice, delayMs: number): void {
    if (!this.#held.delete(held)) return
    held.notice.later(delayMs)
    for (const line of this.#order) line.waiting = line.waiting.filter((entry) => entry.held !== held)
  }

  #drop(line: Line, isOver: (entry: Entry) => boolean): void {
    const over = line.waiting.filter(isOver)
    if (over.length === 0) return
    line.waiting = line.waiting.filter((entry) => !isOver(entry))
    for (const entry of over) this.#done(entry)
  }

  /** Looks after notices for as long as there are some. */
  #watch(): void {
    if (this.#stopTimer !== null || this.#held.size === 0 || this.#isClosed) return
    const { runtime, isFailing } = this.#options
    this.#stopTimer = runtime.timer(
      STALE_MS,
      () => {
        this.#stopTimer = null
        const now = runtime.mono()
        if (!isFailing()) for (const line of this.#order) this.#passStale(line, now - STALE_MS)
        for (const held of this.#held) {
          if (held.asked === 0 && now - held.since >= KEPT_MS) {
            this.#giveBack(held, growing(held.notice.deliveries))
          } else if (now - held.toldAt >= NOTICE_HELD_MS / 3) {
            held.toldAt = now
            held.notice.working()
          }
        }
        this.#watch()
      },
      { background: true },
    )
  }

  #passStale(line: Line, since: number): void {
    const isStale = ({ held }: Entry): boolean => held.since <= since
    const stale = line.waiting.filter(isStale)
    if (stale.length === 0) return
    line.waiting = line.waiting.filter((entry) => !isStale(entry))
    this.#pass(line, stale)
  }

  /** Claims it again, before those that wait; if its queue was left meanwhile, somebody else shall. */
  #wait(entry: Entry): void {
    const { space, queue } = entry.held.notice
    const line = this.#order.find(({ spec }) => spec.queue === queue && spec.space === space)
    if (line) line.waiting.unshift(entry)
    else if (entry.held.asked === 0) this.#giveBack(entry.held, 0)
  }
}

function isWaiting({ state }: Job): boolean {
  return state === 'ready' || state === 'delayed'
}

function isLimited({ held }: Entry, sources: readonly Source[], limited: readonly number[] = []): boolean {
  const { space, queue } = held.notice
  return limited.some((index) => sources[index]?.queue === queue && sources[index]?.space === space)
}

function growing(deliveries: number): number {
  return Math.min(LONGEST_MS, 1_000 * 2 ** deliveries)
}
