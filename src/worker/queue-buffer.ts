import type { Capabilities, Source } from '../store/store.ts'
import type { HandlerSpec } from './handler.ts'
import { WaitingRuns } from './runs.ts'

/** Prefetch at most what will start within this time at the present pace. */
const AHEAD_MS = 100
/** The same for a queue with limits. What is held here has had its turn: whoever comes now waits for it. */
const AHEAD_LIMITED_MS = 20
/** One claim takes at most this many, or one batch, unless the store says otherwise: one claim stays short. */
export const MOST_AT_ONCE = 500
/** So many times of that are held, so that a crash puts few jobs back: one half runs while the other is on its way. */
const AHEAD_SHARE = 2
/**
 * One claim takes no more, unless more can start at once or the store says otherwise, of a queue with limits to which jobs keep coming: one of those
 * that just came may be next, and it waits for the claim that is under way and then for its own. It is too little for a second claim beside it.
 */
const MOST_WITH_NEWS = 170
/** So long after the last one jobs are said to keep coming. */
const NEWS_MS = 200
/**
 * After so many claims in a row that brought all that was asked for, a queue with limits may be asked twice at a time. One that brings less has
 * no more that may start now, and what is asked beside it only makes claims of others small: in strict lanes two workers would share a
 * call's work by ten to one, in many calls.
 */
const FULL_IN_A_ROW = 128
/** Less than this is not worth being cut off a claim. */
const LEAST_LIMITED = 64
/** The most for jobs that go to somebody elsewhere: each claim of them is a message, too, and they hold thousands. */
const MOST_AWAY_AT_ONCE = 1_000
/** With this number of outcomes of a queue waiting for other transactions, no more of its jobs are claimed. */
const MOST_HELD = 500
/** The pace assumed of a queue whose claimed jobs found no slot. */
const STALLED_MS = 60_000

/** What a store says of its claims. */
export type ClaimSizes = Pick<Capabilities, 'jobsPerClaim' | 'jobsPerClaimWithNews'>

/** What a claim is decided by, beside the line itself. */
interface ClaimMoment {
  /** Slots that it may have. */
  readonly free: number
  /** What is worth holding ahead. */
  readonly spare: number
  /** How long a claim takes. */
  readonly claimMs: number
  readonly now: number
}

/** One queue the worker serves: what waits in its buffer, what runs, and whether the store may have more. */
export class Line {
  readonly spec: HandlerSpec
  /** One claim takes at most so many, where there are no limits. */
  readonly #perClaim: number
  readonly #perClaimWithNews: number
  readonly waiting: WaitingRuns = new WaitingRuns()
  running = 0
  /** Runs that have ended and whose outcomes wait for another transaction, see `HeldSettlements`. */
  held = 0
  /** The store may have work. Set by hints, timers, polls and full claims; cleared when a claim is sent. */
  hot = true
  /** The last claim brought something. So work may be flowing, and asking again costs little when a call goes out anyway. */
  warm = false
  /** The last claim brought all that was asked for, so there is more. */
  full = false
  /** So many claims in a row did, small ones in between apart. */
  fullInARow: number = FULL_IN_A_ROW
  /** The store keeps limits for this queue, so the end of a run may make room for another. */
  limited = false
  /** How many jobs were asked for in claims that are not answered yet. */
  asked = 0
  hintedRank: number | null = null
  /** Jobs came since the last claim was sent, of which one may be next. */
  hasNews = false
  /** When a claim was last asked for because jobs came. */
  newsAt: number = -Infinity
  /** Until when what may be there is left to others; null while nobody is given the way. */
  askAt: number | null = null
  /** The sources of claims under way that ask for jobs that just came, of which one may be next. */
  readonly expected: Set<Source> = new Set()
  /** The source of a small claim in between that is not answered yet. */
  topUp: Source | null = null
  /**
   * How many the store may be expected to give in one claim, if it keeps limits for this queue. Whoever asks for hundreds where a
   * rate gives three makes it look at hundreds.
   */
  gives: number = MOST_AT_ONCE
  /** How long a run takes, smoothed; null until the first one ended. */
  meanMs: number | null = null

  constructor(spec: HandlerSpec, store: ClaimSizes) {
    this.spec = spec
    this.#perClaim = store.jobsPerClaim ?? MOST_AT_ONCE
    this.#perClaimWithNews = store.jobsPerClaimWithNews ?? MOST_WITH_NEWS
  }

  heat(rank: number | null): void {
    this.hot = true
    if (rank !== null) this.hintedRank = Math.min(rank, this.hintedRank ?? rank)
  }

  ended(durationMs: number): void {
    this.meanMs = this.meanMs === null ? durationMs : this.meanMs + (durationMs - this.meanMs) / 8
  }

  /** A claim brought all that was asked for, or less. */
  gave(all: boolean): void {
    this.fullInARow = all ? this.fullInARow + 1 : 0
    this.gives = all ? Math.min(MOST_AT_ONCE, this.gives * 2) : Math.max(LEAST_LIMITED, this.gives / 2)
  }

  /** Slots do not come free at the pace of this queue's own runs: take nothing ahead until they do again. */
  stalled(): void {
    this.meanMs = Math.max(this.meanMs ?? 0, STALLED_MS)
  }

  /** How many jobs are worth holding beyond those that can start at once. Slow handlers get none. */
  ahead(slots: number): number {
    if (this.meanMs === null) return 0
    const aheadMs = this.limited ? AHEAD_LIMITED_MS : AHEAD_MS
    const atOnce = this.limited ? MOST_AT_ONCE : this.#perClaim
    const startsInTime = (slots * this.spec.batch * aheadMs) / Math.max(this.meanMs, 0.01)
    return Math.min(AHEAD_SHARE * atOnce, Math.floor(startsInTime))
  }

  /** Whether the limit of unsaved outcomes of this queue is reached. */
  get isClogged(): boolean {
    return this.held >= MOST_HELD
  }

  /** Whether there may be a claim beside those that are not answered yet. */
  get mayAskBeside(): boolean {
    return this.asked === 0 || !this.limited || this.fullInARow >= FULL_IN_A_ROW
  }

  /**
   * The most that one claim takes. In a queue with limits a large one holds up whoever comes, so beyond what can start at once
   * it is half of what is held ahead, or what will start until the next claim is answered, and less while jobs keep coming.
   */
  mostAtOnce({ free, spare, claimMs, now }: ClaimMoment): number {
    const { spec, limited, gives, newsAt } = this
    if (spec.away !== undefined) return MOST_AWAY_AT_ONCE
    if (!limited) return this.#perClaim
    const startable = free * spec.batch
    const share = Math.max(0.5, claimMs / AHEAD_LIMITED_MS)
    const enough = startable + Math.floor(spare * share)
    const most = now - newsAt < NEWS_MS ? Math.max(startable, this.#perClaimWithNews) : gives
    return Math.min(gives, most, Math.max(LEAST_LIMITED, enough))
  }

  /** Whether none of its jobs can start now, however many slots the worker has. */
  get isTaken(): boolean {
    const { spec, running } = this
    return spec.away === undefined ? running >= spec.concurrency : !spec.away.hasRoom()
  }
}
