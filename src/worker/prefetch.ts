import type { ClaimedJob } from '../core/jobs/job.ts'
import type { Source } from '../store/store.ts'
import { isRecalled, type RecallTarget } from './commands.ts'
import type { HandlerSpec } from './handler.ts'
import { type ClaimSizes, Line, MOST_AT_ONCE } from './queue-buffer.ts'
import type { Run } from './runs.ts'

/**
 * So many are asked for in between, when a queue with limits that holds enough hears of new jobs: one of them may be next.
 * Beside another call too, one at a time: what comes would else wait for that call and then for the next, a large one. Not
 * where handlers take so little that calls are as large as they may be: there the store has no time to spare.
 */
const TOP_UP = 8
/**
 * A worker with so many slots keeps one for what it is just asking for, when a queue with limits told of new jobs: the single job of
 * another lane would else wait for the claim and then for a slot, and handlers that began together end together. With
 * fewer slots one would be too much of its pace.
 */
const KEEPS_ONE_OF = 50
/** What to ask the store for. */
export interface Wish {
  readonly sources: readonly Source[]
  readonly limit: number
}

/** What is known of notices. A queue that has some is not searched for more than somebody told of. */
export interface Told {
  readonly isUp: boolean
  /** Whether ids of this queue wait to be claimed. */
  has(spec: HandlerSpec): boolean
}

export interface WishOptions {
  /** A call goes to the store in any case. */
  readonly along: boolean
  /** Fewer jobs than this are not worth a claim. */
  readonly least: number
  /** Another call is under way, and a small claim may go beside it. @default false */
  readonly isBeside?: boolean
}

/**
 * Decides how many jobs to claim, holds those that wait for a slot, and hands them out in turn. It measures in
 * time, not in count: a claim covers the free slots plus what will start within about 100 ms.
 */
export class Window {
  /** By space and queue. Several where a queue is served by ranges of keys. */
  readonly #lines = new Map<string, Line[]>()
  /** Weak, because a line that was closed lives as long as its runs. */
  readonly #lineOf = new WeakMap<HandlerSpec, Line>()
  /** Which line each source of a claim under way is for. */
  readonly #asking = new WeakMap<Source, Line>()
  #order: readonly Line[] = []
  readonly #concurrency: number
  readonly #store: ClaimSizes
  #askAt: number | null = null
  /** How long a claim takes, smoothed. */
  #claimMs = 0
  #turn = 0
  #busy = 0
  #buffered = 0

  constructor(specs: readonly HandlerSpec[], concurrency: number, store: ClaimSizes = {}) {
    this.#concurrency = concurrency
    this.#store = store
    for (const spec of specs) this.open(spec)
  }

  /** Serves this queue from now on. */
  open(spec: HandlerSpec): void {
    const line = new Line(spec, this.#store)
    this.#order = [...this.#order, line]
    this.#lineOf.set(spec, line)
    this.#lines.set(keyOf(spec), [...(this.#lines.get(keyOf(spec)) ?? []), line])
  }

  /** Claims nothing more of this queue, and returns what waited. Runs that go on, and claims under way, end as before. */
  close(spec: HandlerSpec): Run[] {
    const line = this.#lineOf.get(spec)
    if (line === undefined || !this.#order.includes(line)) return []
    this.#order = this.#order.filter((other) => other !== line)
    const rest = (this.#lines.get(keyOf(spec)) ?? []).filter((other) => other !== line)
    if (rest.length > 0) this.#lines.set(keyOf(spec), rest)
    else this.#lines.delete(keyOf(spec))
    const runs = line.waiting.take(() => true)
    this.#buffered -= runs.length
    return runs
  }

  get buffered(): number {
    return this.#buffered
  }

  /** Slots in use: a batch takes one. */
  get busy(): number {
    return this.#busy
  }

  /** When it may ask for what the last wish left to others; null: it left nothing. */
  get askAt(): number | null {
    return this.#askAt
  }

  specOf(space: string, queue: string): HandlerSpec | undefined {
    return this.#lines.get(`${space}\n${queue}`)?.[0]?.spec
  }

  /** The one whose job it is, where a queue is served by ranges of keys: one that has use for it, if there is one. */
  specFor(job: ClaimedJob): HandlerSpec | undefined {
    const lines = this.#lines.get(keyOf(job))
    if (lines === undefined || (lines.length === 1 && lines[0]?.spec.keys === undefined))
      return lines?.[0]?.spec
    const able = lines.filter(({ spec }) => spec.away?.covers(job) !== false)
    return (able.find(({ spec }) => spec.away?.hasRoom() !== false) ?? able[0])?.spec
  }

  /** Notes that the store may have work for this queue, or for all of them; with a rank: that jobs came. */
  heat(source?: { readonly space: string; readonly queue: string }, rank: number | null = null): boolean {
    const lines = source === undefined ? this.#order : (this.#lines.get(keyOf(source)) ?? [])
    let known = false
    for (const line of lines) {
      known = true
      line.heat(rank)
      if (rank !== null) line.hasNews = true
    }
    return known
  }

  /** What to claim now, or null. The lines it asks about count as cold until something says otherwise. */
  wish({ along, least, isBeside = false }: WishOptions, now: number, told: Told | null = null): Wish | null {
    const slots = this.#concurrency - this.#busy
    const isUp = told?.isUp === true
    const sources: Source[] = []
    this.#askAt = null
    let largest = 0
    for (let i = 0; i < this.#order.length; i++) {
      const line = this.#order[(this.#turn + i) % this.#order.length] as Line
      const { spec } = line
      if (line.isClogged) continue
      if (line.hasNews) line.newsAt = now
      if (!line.hot) {
        // What is told by notices is not told by ranges of keys.
        if (
          isUp && spec.keys === undefined ? !line.full || told.has(spec) : !line.full && !(along && line.warm)
        )
          continue
      }
      const free = this.#free(line, slots)
      const spare = line.ahead(Math.min(this.#concurrency, spec.concurrency))
      const coming = line.waiting.size + line.asked
      const hinted = line.hintedRank
      // Topping up a buffer that is still half full would make many small claims of one large one.
      const isStocked = coming > 0 && coming * 2 > spare
      const lacking = free * spec.batch + spare - coming
      const usual = Math.min(
        lacking,
        Math.max(spec.batch, line.mostAtOnce({ free, spare, claimMs: this.#claimMs, now })),
      )
      const isTopUp =
        line.limited &&
        line.hasNews &&
        line.topUp === null &&
        coming < spare * 2 &&
        (isBeside ? spare < MOST_AT_ONCE && (isStocked || usual < least) : isStocked && line.asked === 0)
      if (isStocked && !isTopUp) continue
      if (!line.mayAskBeside && !isTopUp) continue
      const limit = isTopUp ? TOP_UP : usual
      if (limit < least && !(isTopUp && isBeside)) continue
      if (this.#isPatient(line, now)) continue
      const source: Source = {
        space: spec.space,
        queue: spec.queue,
        limit,
        ...(hinted === null ? {} : { hintedRank: hinted }),
        ...(spec.keys === undefined ? {} : { keys: spec.keys }),
      }
      sources.push(source)
      this.#asking.set(source, line)
      if (isTopUp) line.topUp = source
      largest = Math.max(largest, limit)
    }
    if (sources.length === 0) return null
    for (const source of sources) {
      const line = this.#asking.get(source) as Line
      line.hot = false
      line.warm = false
      line.hintedRank = null
      if (line.hasNews && line.limited) line.expected.add(source)
      line.hasNews = false
      line.asked += source.limit
    }
    this.#turn = (this.#turn + 1) % this.#order.length
    return { sources, limit: largest }
  }

  /** Whether others still have the way. It asks afterwards, whatever made it ask now. */
  #isPatient(line: Line, now: number): boolean {
    const patienceMs = line.spec.patienceMs?.() ?? 0
    const askAt = line.askAt ?? now + patienceMs
    const isPatient = patienceMs > 0 && now < askAt
    line.askAt = isPatient ? askAt : null
    if (!isPatient) return false
    line.hot = true
    this.#askAt = Math.min(askAt, this.#askAt ?? askAt)
    return true
  }

  #free({ spec, waiting, running }: Line, slots: number): number {
    // Slots that come free go to what is buffered, so a queue with nothing there may hold one too: beside a
    // busy queue whose buffer never runs empty it would otherwise wait for ever.
    const next = waiting.size === 0 && this.#buffered > 0 ? 1 : 0
    const room = spec.away === undefined ? spec.concurrency - running : spec.away.room()
    return Math.max(0, Math.min(Math.max(slots, next), room))
  }

  /** How many more jobs of this queue there is use for now. */
  room(spec: HandlerSpec): number {
    const line = this.#lineOf.get(spec) as Line
    if (line.isClogged) return 0
    const spare = line.ahead(Math.min(this.#concurrency, spec.concurrency))
    const coming = line.waiting.size + line.asked
    return this.#free(line, this.#concurrency - this.#busy) * spec.batch + spare - coming
  }

  /** Whether its buffer is more than half full, so that a claim now would be a small one of many. */
  isStocked(spec: HandlerSpec): boolean {
    const line = this.#lineOf.get(spec) as Line
    const coming = line.waiting.size + line.asked
    return coming > 0 && coming * 2 > line.ahead(Math.min(this.#concurrency, spec.concurrency))
  }

  /** How many jobs of this queue can run here at once. */
  slots(spec: HandlerSpec): number {
    return Math.min(this.#concurrency, spec.concurrency) * spec.batch
  }

  /** Jobs are claimed by their ids. */
  asking(sources: readonly Source[]): void {
    for (const source of sources) {
      const line = this.#lines.get(keyOf(source))?.find(({ spec }) => spec.keys === undefined)
      if (line === undefined) continue
      this.#asking.set(source, line)
      line.asked += source.limit
    }
  }

  /** A claim by ids was answered, or failed. It says nothing about what else there is. */
  answeredById(sources: readonly Source[], limited: readonly number[] | null = null): void {
    for (const [index, source] of sources.entries()) {
      const line = this.#asking.get(source)
      if (line === undefined) continue
      line.asked -= source.limit
      if (limited !== null) line.limited = limited.includes(index)
    }
  }

  /** A claim took so long. */
  took(ms: number): void {
    this.#claimMs += (ms - this.#claimMs) / 8
  }

  /** A claim was answered, or failed. `full` are the sources that gave all they were asked for. */
  answered(
    sources: readonly Source[],
    full: readonly Source[],
    limited: readonly number[] | null = null,
  ): void {
    for (const [index, source] of sources.entries()) {
      const line = this.#asking.get(source)
      if (line === undefined) continue
      line.asked -= source.limit
      line.expected.delete(source)
      const isTopUp = line.topUp === source
      if (isTopUp) line.topUp = null
      line.full = full.includes(source)
      if (!isTopUp) line.gave(line.full)
      if (limited !== null) line.limited = limited.includes(index)
    }
  }

  /** The outcome of a run waits for another transaction, or does so no longer. */
  hold(spec: HandlerSpec, isHeld: boolean): void {
    const line = this.#lineOf.get(spec)
    if (line === undefined) return
    if (line.isClogged) line.hot = true
    line.held += isHeld ? 1 : -1
  }

  /** A lease of this queue is about to end, which may make room for another. */
  makeRoom(spec: HandlerSpec): void {
    const line = this.#lineOf.get(spec)
    if (!line?.limited) return
    line.hot = true
    if (spec.sharesLimit) this.heatSharing(spec.space)
  }

  /** Room in a shared limit may be taken by any of the queues that share it. */
  heatSharing(space: string): void {
    for (const line of this.#order) {
      if (line.limited && line.spec.sharesLimit && line.spec.space === space) line.hot = true
    }
  }

  /** Whether there may be room that this worker has not claimed: for its own queue, or for others that share its limit. */
  leavesRoom(spec: HandlerSpec): boolean {
    const line = this.#lineOf.get(spec)
    return line?.limited === true && (line.hot || spec.sharesLimit === true)
  }

  /** After a claim that gave these sources all they asked for: they may have more, but nobody came. */
  reheat(sources: readonly Source[]): void {
    for (const source of sources)
      for (const line of this.#lines.get(keyOf(source)) ?? []) line.heat(source.hintedRank ?? null)
  }

  /** After a claim that failed: what was told of these sources is as new as before. */
  retell(sources: readonly Source[]): void {
    for (const source of sources) this.heat(source, source.hintedRank ?? null)
  }

  /** Adds the runs of one claim. Returns those of queues that were closed meanwhile. */
  add(runs: readonly Run[]): Run[] {
    for (const line of this.#order) line.waiting.beginClaim()
    const strays: Run[] = []
    for (const run of runs) {
      const line = this.#lineOf.get(run.spec)
      if (line === undefined) {
        strays.push(run)
        continue
      }
      line.waiting.push(run)
      line.warm = true
    }
    this.#buffered += runs.length - strays.length
    return strays
  }

  /** Takes out a run that waits. False if it does not wait here. */
  remove(run: Run): boolean {
    const found = this.#lineOf.get(run.spec)?.waiting.remove(run) ?? false
    if (found) this.#buffered--
    return found
  }

  /**
   * The runs to start next: one, or a batch of one queue; null when nothing waits or no slot is free. Those that
   * may not start any more are passed over, and theirs is no slot.
   */
  take(mayStart: (run: Run) => boolean): Run[] | null {
    if (this.#buffered === 0 || this.#busy >= this.#concurrency) return null
    for (let i = 0; i < this.#order.length; i++) {
      const line = this.#order[(this.#turn + i) % this.#order.length] as Line
      if (line.waiting.size === 0 || line.isTaken) continue
      if (line.expected.size > 0 && !line.waiting.hasPassing && this.#isLastSlot(line)) continue
      const runs = this.#takeFrom(line, mayStart)
      if (runs.length === 0) continue
      line.running++
      this.#busy++
      if (this.#order.length > 1) this.#turn = (this.#turn + i + 1) % this.#order.length
      return runs
    }
    return null
  }

  /** Whether this queue has one slot left, of so many that one can be kept. */
  #isLastSlot({ spec, running }: Line): boolean {
    if (spec.away !== undefined || Math.min(this.#concurrency, spec.concurrency) < KEEPS_ONE_OF) return false
    return Math.min(this.#concurrency - this.#busy, spec.concurrency - running) === 1
  }

  #takeFrom(line: Line, mayStart: (run: Run) => boolean): Run[] {
    let runs: Run[] = []
    while (runs.length < line.spec.batch && line.waiting.size > 0) {
      const run = line.waiting.shift() as Run
      this.#buffered--
      if (!mayStart(run)) continue
      // An array that grows from nothing takes room for many, and most have one.
      if (runs.length === 0) runs = [run]
      else runs.push(run)
    }
    return runs
  }

  /** Frees the slot of a run, or of the last run of a batch. */
  free(spec: HandlerSpec, durationMs: number): void {
    const line = this.#lineOf.get(spec) as Line
    line.running--
    line.ended(durationMs)
    this.#busy--
  }

  /** Takes back what waits of a target: nothing of it shall start now. */
  takeRecalled(target: RecallTarget): Run[] {
    if (this.#buffered === 0) return []
    const runs = this.#order.flatMap(({ waiting }) => waiting.take(({ job }) => isRecalled(target, job)))
    this.#buffered -= runs.length
    return runs
  }

  /** Takes back what has waited for a slot since before `since`: others may have one free. */
  takeStale(since: number): Run[] {
    const stale: Run[] = []
    for (const line of this.#order) {
      const runs = line.waiting.take((run) => run.since <= since)
      if (runs.length > 0) line.stalled()
      stale.push(...runs)
    }
    this.#buffered -= stale.length
    return stale
  }
}

function keyOf(source: { readonly space: string; readonly queue: string }): string {
  return `${source.space}\n${source.queue}`
}
