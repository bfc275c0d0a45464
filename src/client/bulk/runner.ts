import { messageOf, StoreError } from '../../core/errors.ts'
import type { Job } from '../../core/jobs/job.ts'
import { storedPriority } from '../../core/jobs/priority.ts'
import { isSoAlready } from '../../core/jobs/transitions.ts'
import type { Duty } from '../../maintenance/background-task.ts'
import type { Hint, Notifier } from '../../notifier/notifier.ts'
import { sleep } from '../../runtime/runtime.ts'
import { retryDelayMs } from '../../runtime/supervise.ts'
import { changeJobs } from '../jobs/change.ts'
import { type InspectEnv, planText } from '../jobs/list.ts'
import { SetAside } from '../jobs/set-aside.ts'
import { type Budget, type Found, searchJobs, type Wanted } from '../search/search.ts'
import { changeActionOf, moveJobs, wantedBy } from './move.ts'
import type { BulkBook, BulkRecord, Kept } from './record.ts'

export interface BulkEnv extends InspectEnv {
  readonly notifier: Notifier
  readonly book: BulkBook
  /** Hears of jobs that were put among the dead. */
  readonly onBuried: (ids: readonly string[]) => Promise<void>
}

/** Jobs of one page, and what may be looked at for it. */
const PAGE = 200
const BUDGET: Budget = { rows: 5_000, ms: 500 }
/** So long one action is worked off before the others have their turn. */
const SLICE_MS = 1_000
/** How long to rest when there is nothing to do, and when somebody else does it. */
const IDLE_MS = 10_000
const WATCH_MS = 3_000
/** Whoever works an action off writes after every page. Seen unchanged for so long, it is taken over. */
const ABANDONED_MS = 15_000
/** After a search that took so long, it is made sure that nobody has taken over. */
const LONG_MS = 5_000
/** How often a page that could not be saved is tried to be saved at once. */
const TRIES = 4

const KEEP = { cancel: '3d', bury: '30d' } as const

/** What one page came to. Without a cursor it was the last. */
type Progress = Pick<BulkRecord, 'cursor' | 'searched' | 'changed' | 'refused' | 'isAside'>

/** Instead of a cursor: the walk is over, and what was set aside comes back. */
const ASIDE = 'aside'
/** And another walk begins. */
const FROM_THE_BEGINNING = 'again'

/**
 * Works off bulk actions, page by page. One process holds an action at a time: it says so in the record, by compare and swap, and
 * writes its progress there after every page. If it dies the record does not change any more, which others see by their own
 * clocks, and one of them goes on where it ended. A page that is done twice changes nothing the second time: what was changed
 * does not fit any more.
 */
export class BulkRunner implements Duty {
  readonly name = 'bulk'
  readonly isForFew = true
  readonly #env: BulkEnv
  /** Who we are, in the records. */
  readonly #id: string
  /** Since when each action has had this revision, as far as we saw. */
  readonly #seen = new Map<string, { readonly revision: string; readonly since: number }>()
  /** When the next page of an action may begin. */
  readonly #nextAt = new Map<string, number>()
  readonly #held = new Set<string>()
  /** What retries have set aside, to bring it back in order. */
  readonly #aside = new Map<string, SetAside>()
  #underWay: Promise<number> | null = null
  /** Aborted when the client is closed: then no write is repeated. */
  readonly #closed = new AbortController()

  constructor(env: BulkEnv) {
    this.#env = env
    this.#id = env.runtime.uuid()
  }

  /** Told whenever an action begins, and now and then besides. */
  concerns(hint: Hint): boolean {
    return hint.kind === 'sync'
  }

  /** Several loops of one process share a turn. */
  turn(signal: AbortSignal): Promise<number> {
    this.#underWay ??= this.#turn(signal).finally(() => {
      this.#underWay = null
    })
    return this.#underWay
  }

  async #turn(signal: AbortSignal): Promise<number> {
    const open = (await this.#env.book.list()).filter(({ record }) => record.status === 'running')
    this.#forgetAllBut(new Set(open.map(({ id }) => id)))
    let waitMs = IDLE_MS
    for (const kept of open) {
      if (signal.aborted) break
      waitMs = Math.min(waitMs, await this.#workOn(kept, signal))
    }
    return waitMs
  }

  /** Lets go of what this process holds, so that another can go on at once. */
  async release(): Promise<void> {
    for (const id of this.#held) {
      const kept = await this.#env.book.get(id)
      if (kept?.record.holder === this.#id) await this.#write(kept, { ...kept.record, holder: null })
    }
    this.#held.clear()
    this.#aside.clear()
  }

  close(): void {
    this.#closed.abort()
  }

  /** Some pages of one action. Returns how long to wait before the next. */
  async #workOn(found: Kept, signal: AbortSignal): Promise<number> {
    const { runtime } = this.#env
    const startedAt = runtime.mono()
    const untilBegin = found.record.beginsAt - runtime.now()
    if (untilBegin > 0) return Math.min(untilBegin, IDLE_MS)
    const waitMs = (this.#nextAt.get(found.id) ?? 0) - startedAt
    if (found.record.holder === this.#id && waitMs > 0) return waitMs
    let kept = await this.#take(found)
    while (kept !== null && kept.record.status === 'running') {
      if (signal.aborted) return 0
      kept = await this.#page(kept)
      const restMs = kept === null ? 0 : this.#restAfter(kept)
      if (restMs > 0) return restMs
      if (runtime.mono() - startedAt >= SLICE_MS) return 0
      // Other things of this process have their turn.
      await new Promise<void>((resolve) => runtime.defer(resolve))
    }
    this.#held.delete(found.id)
    this.#aside.delete(found.id)
    return kept === null ? WATCH_MS : IDLE_MS
  }

  /** Makes it ours, unless somebody is at it. */
  async #take(kept: Kept): Promise<Kept | null> {
    const { holder, bound } = kept.record
    if (holder !== null && holder !== this.#id && !this.#isAbandoned(kept)) return null
    if (holder !== this.#id) this.#aside.delete(kept.id)
    const taken =
      holder === this.#id
        ? kept
        : await this.#write(kept, { ...kept.record, holder: this.#id, bound: bound ?? kept.writtenAt })
    if (taken !== null) this.#held.add(kept.id)
    return taken
  }

  #isAbandoned({ id, revision }: Kept): boolean {
    const { runtime } = this.#env
    const seen = this.#seen.get(id)
    if (seen?.revision === revision) return runtime.mono() - seen.since >= ABANDONED_MS
    this.#seen.set(id, { revision, since: runtime.mono() })
    return false
  }

  /** One page: looks, changes, writes down. Null: somebody else has it now, or it is gone. */
  async #page(kept: Kept): Promise<Kept | null> {
    let progress: Progress
    try {
      const { action } = kept.record
      const does = action === 'move' ? this.#move : action === 'retry' ? this.#retry : this.#change
      const done = await does.call(this, kept)
      if (done === null || 'record' in done) return done
      progress = done
    } catch (error) {
      if (error instanceof StoreError && error.transient) throw error
      return this.#save(kept, null, messageOf(error))
    }
    return this.#save(kept, progress, null)
  }

  async #change({ id, record, revision }: Kept): Promise<Progress | null> {
    const { book, runtime } = this.#env
    const before = runtime.mono()
    const { jobs, cursor, searched } = await this.#search(record)
    if (runtime.mono() - before > LONG_MS && (await book.get(id))?.revision !== revision) return null
    const priority = storedPriority(record.priority, record.priorityMode)
    const action = changeActionOf(record.action)
    const { dueAt } = record
    const to = { priority, ...(dueAt === null ? {} : { dueAt }) }
    const ids = jobs.filter((job) => !isSoAlready(job, action, to)).map((job: Job) => job.id)
    const keep = action === 'cancel' || action === 'bury' ? KEEP[action] : 0
    const said = action === 'bury' ? 'Buried by hand.' : 'Cancelled.'
    const options = { reason: record.reason ?? said, keep, ...to }
    const env = action === 'bury' ? { ...this.#env, onChanged: this.#env.onBuried } : this.#env
    const { changed, requested, refused } = await changeJobs(env, action, ids, options)
    const rate = record.perSecond
    if (rate !== null) this.#nextAt.set(id, before + (1_000 * ids.length) / rate)
    return { cursor, searched, changed: changed + requested, refused: refused.length }
  }

  /**
   * One page of a retry. Its jobs are set aside until the walk is over, and are then retried in the order of their enqueues. If this process dies before, its successor walks anew: what has come back does not fit any more.
   */
  async #retry(kept: Kept): Promise<Progress | Kept | null> {
    const { id, record, revision } = kept
    const { book, runtime } = this.#env
    const aside = this.#aside.get(id) ?? new SetAside()
    if (record.isAside && !this.#aside.has(id)) {
      this.#aside.set(id, aside)
      // What is refused is met again.
      return this.#write(kept, { ...record, cursor: null, searched: 0, refused: 0, isAside: false })
    }
    this.#aside.set(id, aside)
    const before = runtime.mono()
    if (record.cursor !== ASIDE) {
      const { jobs, cursor, searched } = await this.#search(record, PAGE)
      for (const job of jobs) aside.add(job)
      const isAside = !aside.isEmpty
      return { searched, changed: 0, refused: 0, isAside, cursor: cursor ?? (isAside ? ASIDE : null) }
    }
    const { ids, earlierMs } = aside.first(pageOf(record))
    const wanted = await this.#stillFit(record, ids)
    if ((await book.get(id))?.revision !== revision) return null
    // All are due at the moment of its beginning, also when another process goes on with it.
    const due = record.bound === null ? {} : { dueAt: record.bound }
    const options = { reason: '', keep: 0, earlierMs, ...due }
    const { changed, refused } = await changeJobs(this.#env, 'retry', wanted, options)
    const rate = record.perSecond
    if (rate !== null) this.#nextAt.set(id, before + (1_000 * wanted.length) / rate)
    const done = { searched: 0, changed, refused: refused.length, isAside: true }
    aside.drop(ids.length)
    if (!aside.isOver) return { ...done, cursor: ASIDE }
    // If not all fitted in memory, the next walk begins.
    const next = aside.next()
    if (next !== null) this.#aside.set(id, next)
    return { ...done, cursor: next && FROM_THE_BEGINNING }
  }

  /** Of jobs that were set aside those that were not changed since. */
  async #stillFit(record: BulkRecord, ids: readonly string[]): Promise<string[]> {
    const { store, space } = this.#env
    const { fits } = await this.#wantedBy(record)
    const { jobs } = await store.get({ space, ids })
    return jobs.filter((job): job is Job => job !== null && fits(job)).map((job) => job.id)
  }

  /**
   * One page of a move, in two turns: first its ids are written down, then they are moved. After a crash in between, those that were
   * buried would not fit the query any more.
   */
  async #move(kept: Kept): Promise<Progress | Kept | null> {
    const { id, record, revision } = kept
    const { book, runtime } = this.#env
    const { moving, queue, perSecond } = record
    if (moving === null) {
      const { jobs, cursor, searched } = await this.#search(record)
      const ids = jobs.map((job) => job.id)
      if (ids.length === 0) return { cursor, searched, changed: 0, refused: 0 }
      return this.#write(kept, { ...record, moving: ids, cursor, searched: record.searched + searched })
    }
    const before = runtime.mono()
    if ((await book.get(id))?.revision !== revision) return null
    const { changed, refused } = await moveJobs(this.#env, { id, queue: queue as string, jobs: moving })
    if (perSecond !== null) this.#nextAt.set(id, before + (1_000 * moving.length) / perSecond)
    return { cursor: record.cursor, searched: 0, changed, refused }
  }

  async #search(record: BulkRecord, limit: number = pageOf(record)): Promise<Found> {
    const cursor = record.cursor === FROM_THE_BEGINNING ? null : record.cursor
    return searchJobs(this.#env, await this.#wantedBy(record), { limit, cursor, budget: BUDGET })
  }

  async #wantedBy({ action, query, startedAt, bound }: BulkRecord): Promise<Wanted> {
    return wantedBy(action, await planText(this.#env, query, startedAt), bound ?? Infinity)
  }

  #restAfter({ id }: Kept): number {
    return Math.max(0, (this.#nextAt.get(id) ?? 0) - this.#env.runtime.mono())
  }

  /** Adds what a page came to. Somebody may have stopped it meanwhile: then this is its last page. */
  async #save(kept: Kept, progress: Progress | null, error: string | null): Promise<Kept | null> {
    const { book, runtime } = this.#env
    for (let now: Kept | null = kept; now !== null; now = await book.get(kept.id)) {
      const { record } = now
      if (record.holder !== this.#id) return null
      const added = progress === null ? record : plus(record, progress)
      const isOver = error !== null || progress?.cursor === null
      const ends = isOver && record.status === 'running'
      const next: BulkRecord = ends
        ? {
            ...added,
            status: error === null ? 'done' : 'failed',
            error,
            endedAt: runtime.now(),
            holder: null,
          }
        : added
      const written = await this.#write(now, next)
      if (written !== null) return written
    }
    return null
  }

  /** Null if somebody else wrote in between. If the answer is lost it is sent again, which does no harm. */
  async #write({ id, revision: expect }: Kept, record: BulkRecord): Promise<Kept | null> {
    const { book, runtime } = this.#env
    const revision = runtime.uuid()
    for (let failures = 1; ; failures++) {
      try {
        const isWritten = await book.put(id, record, revision, expect)
        return isWritten ? { id, record, revision, writtenAt: runtime.now() } : null
      } catch (error) {
        const { signal } = this.#closed
        if (!(error instanceof StoreError && error.transient) || failures >= TRIES || signal.aborted)
          throw error
        await sleep(runtime, retryDelayMs(failures, runtime.random()), signal, { background: true })
        if (signal.aborted) throw error
      }
    }
  }

  #forgetAllBut(open: ReadonlySet<string>): void {
    for (const id of this.#seen.keys()) if (!open.has(id)) this.#seen.delete(id)
    for (const id of this.#nextAt.keys()) if (!open.has(id)) this.#nextAt.delete(id)
    for (const id of this.#aside.keys()) if (!open.has(id)) this.#aside.delete(id)
  }
}

/** So many jobs are changed at once. */
function pageOf({ perSecond }: BulkRecord): number {
  return Math.min(PAGE, perSecond ?? PAGE)
}

function plus(record: BulkRecord, { cursor, searched, changed, refused, isAside }: Progress): BulkRecord {
  return {
    ...record,
    cursor,
    ...((isAside || record.isAside) && { isAside: true }),
    searched: record.searched + searched,
    moving: null,
    changed: record.changed + changed,
    refused: record.refused + refused,
  }
}
