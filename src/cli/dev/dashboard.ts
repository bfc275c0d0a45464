import { FINAL_STATES, type HoldKind, type JobState, type Skep, type Worker } from '../../index.ts'
import type { QueueSummary, WorkerSummary } from '../../operations/schema/outputs.ts'
import type { OutputOf } from '../../operations/table.ts'
import type { Backend } from '../connect/backend.ts'
import { briefly } from '../explain-error.ts'
import { type JobEvent, watchJobs } from '../format/event-lines.ts'

/** One queue as the board shows it. */
export interface QueueRow {
  readonly name: string
  readonly states: Readonly<Record<JobState, number>>
  /** Jobs ended per second, over the last few seconds. */
  readonly rate: number
  readonly oldestMs: number | null
  readonly hold: HoldKind | null
  /** Workers, here and elsewhere, that take its jobs. */
  readonly workers: number
}

/** The flows that run. */
export interface FlowRow {
  readonly running: number
  readonly failed: number
  /** The busiest first. */
  readonly names: readonly { readonly name: string; readonly running: number }[]
  /** False when there are more than were counted. */
  readonly isAll: boolean
}

/** Everything the board shows, at one time. */
export interface Snapshot {
  readonly at: number
  readonly upMs: number
  /** `connecting`: not yet there. `away`: it was there and does not answer now. */
  readonly status: 'connecting' | 'running' | 'away' | 'stopping'
  /** Why it is not running, in words. */
  readonly trouble: string | null
  readonly rows: readonly QueueRow[]
  /** The queues that this process serves, also those that had no job yet. */
  readonly own: readonly string[]
  readonly rate: number
  /** Jobs ended in each of the last seconds, oldest first. */
  readonly history: readonly number[]
  readonly workers: number
  readonly running: number
  readonly slots: number
  readonly finished: number
  readonly retried: number
  readonly dead: number
  /** Runs of flows that are running, by flow; those that failed count only where some run. */
  readonly flows: FlowRow
  /** The workers on the list, those that are gone among them. */
  readonly presences: readonly WorkerSummary[]
  /** Newest first. */
  readonly events: readonly JobEvent[]
}

const RATE_SECONDS = 5
const HISTORY_SECONDS = 30
const MOST_EVENTS = 200
const FLOWS_MS = 2_000
/** A queue that is faster than this does not show every success. */
const CHATTY_PER_SECOND = 0.5

/** Collects events and counts, so that a view can show them at its own rate. */
export class Board {
  readonly #backend: Backend
  readonly #where: string
  #own: ReadonlySet<string>
  readonly #workers: readonly Worker[]
  readonly #startedAt = Date.now()
  /** By queue, how many jobs ended in each second. */
  readonly #ended = new Map<string, Map<number, number>>()
  readonly #lastDone = new Map<string, number>()
  readonly #totals = { finished: 0, retried: 0, dead: 0 }
  readonly #events: JobEvent[] = []
  readonly #unwatch: () => void
  #queues: readonly QueueSummary[] = []
  #servers = new Map<string, number>()
  #flowsDueAt = 0
  #flows: FlowRow = { running: 0, failed: 0, names: [], isAll: true }
  #presences: readonly WorkerSummary[] = []
  #presence = { workers: 0, running: 0, slots: 0 }
  #status: Snapshot['status'] = 'connecting'
  #trouble: string | null = null
  #fault: string | null = null
  #looking = false

  /** `queues` are those that this process serves with `skep`: it receives every completion of them. */
  constructor(
    backend: Backend,
    own: {
      readonly queues: ReadonlySet<string>
      readonly workers: readonly Worker[]
      readonly skep?: Skep
      /** What the board reads from. @default 'The database' */
      readonly where?: string
    },
  ) {
    this.#backend = backend
    this.#where = own.where ?? 'The database'
    this.#own = own.queues
    this.#workers = own.workers
    this.#unwatch = own.skep === undefined ? () => {} : watchJobs(own.skep, (event) => this.#see(event))
  }

  set(status: Snapshot['status'], trouble: string | null = null): void {
    this.#status = status
    // Stopping takes longer while something is wrong, so the reason stays.
    if (status !== 'stopping') this.#trouble = trouble
  }

  /** Reports a mistake in the user's files; null: it is fixed. */
  complain(fault: string | null): void {
    this.#fault = fault
  }

  /** These queues are served by this process from now on. */
  serve(queues: readonly string[]): void {
    this.#own = new Set(queues)
  }

  /** Forgets what happened so far. */
  clear(): void {
    this.#events.length = 0
  }

  /** Adds a line of another component to the events. */
  say(queue: string, what: string, kind: JobEvent['kind'] = 'other'): void {
    this.#add({ at: Date.now(), kind, queue, what, why: '', id: '' })
  }

  /** Reads the state of the store. One read at a time, so that a slow store is not read more often. */
  async look(): Promise<void> {
    if (this.#looking || this.#status === 'connecting') return
    this.#looking = true
    try {
      const [{ queues }, { workers }, flows] = await Promise.all([
        this.#backend.call('queues.list', {}),
        this.#backend.call('workers.list', {}),
        this.#lookAtFlows(),
      ])
      this.#flows = flows
      this.#queues = [...queues].sort((a, b) => a.queue.localeCompare(b.queue))
      this.#presences = workers
      const here = workers.filter(({ life }) => life !== 'gone')
      this.#servers = new Map()
      for (const name of here.flatMap((worker) => worker.queues)) {
        this.#servers.set(name, (this.#servers.get(name) ?? 0) + 1)
      }
      this.#presence = {
        workers: here.length,
        // Other workers report with every heartbeat. The running jobs of a queue include prefetched ones.
        running: here.reduce((sum, { id, running }) => sum + (this.#runningIn(id) ?? running), 0),
        slots: here.reduce((sum, worker) => sum + worker.concurrency, 0),
      }
      this.#noticeOthers()
      if (this.#status === 'away') this.set('running')
    } catch (error) {
      if (this.#status === 'running' || this.#status === 'away') {
        this.set('away', `${this.#where} does not answer: ${briefly(error)}. Nothing is lost; trying again.`)
      }
    } finally {
      this.#looking = false
    }
  }

  /** Counting runs costs more than the rest, so it is done less often. */
  async #lookAtFlows(): Promise<FlowRow> {
    if (Date.now() < this.#flowsDueAt) return this.#flows
    const flows = flowRow(await this.#backend.call('flows.list', {}))
    this.#flowsDueAt = Date.now() + FLOWS_MS
    return flows
  }

  snapshot(): Snapshot {
    const now = Date.now()
    const rows = this.#queues.map((queue): QueueRow => {
      const { counts: states, oldestMs, hold } = queue
      const workers = this.#servers.get(queue.queue) ?? 0
      return { name: queue.queue, states, rate: this.#rateOf(queue.queue, now), oldestMs, hold, workers }
    })
    return {
      at: now,
      upMs: now - this.#startedAt,
      status: this.#status,
      trouble: this.#trouble ?? this.#fault,
      rows,
      own: [...this.#own],
      rate: rows.reduce((sum, row) => sum + row.rate, 0),
      history: this.#history(now),
      ...this.#presence,
      ...this.#totals,
      flows: this.#flows,
      presences: this.#presences,
      events: this.#events,
    }
  }

  close(): void {
    this.#unwatch()
  }

  #runningIn(id: string): number | undefined {
    return this.#workers.find((worker) => worker.id === id)?.health().running
  }

  #see(event: JobEvent): void {
    if (event.kind === 'done') this.#totals.finished++
    if (event.kind === 'error') this.#totals.retried++
    if (event.kind === 'dead') this.#totals.dead++
    if (event.kind !== 'error') this.#count(event.queue, event.at, 1)
    if (event.kind !== 'done' || this.#rateOf(event.queue, event.at) < CHATTY_PER_SECOND) this.#add(event)
  }

  #add(event: JobEvent): void {
    this.#events.unshift(event)
    this.#events.length = Math.min(this.#events.length, MOST_EVENTS)
  }

  /** Workers of other processes send no events, but their finished jobs can be counted. */
  #noticeOthers(): void {
    const now = Date.now()
    for (const queue of this.#queues) {
      const ended = FINAL_STATES.reduce((sum, state) => sum + queue.counts[state], 0)
      const before = this.#lastDone.get(queue.queue)
      this.#lastDone.set(queue.queue, ended)
      if (!this.#own.has(queue.queue) && before !== undefined && ended > before)
        this.#count(queue.queue, now, ended - before)
    }
  }

  #count(queue: string, at: number, jobs: number): void {
    const seconds = this.#ended.get(queue) ?? new Map<number, number>()
    this.#ended.set(queue, seconds)
    const second = Math.floor(at / 1_000)
    seconds.set(second, (seconds.get(second) ?? 0) + jobs)
    for (const old of seconds.keys()) {
      if (old >= second - HISTORY_SECONDS) break
      seconds.delete(old)
    }
  }

  /** Over whole seconds only: the current one is incomplete. */
  #rateOf(queue: string, now: number): number {
    const seconds = this.#ended.get(queue)
    if (seconds === undefined) return 0
    const present = Math.floor(now / 1_000)
    let jobs = 0
    for (let ago = 1; ago <= RATE_SECONDS; ago++) jobs += seconds.get(present - ago) ?? 0
    return jobs / RATE_SECONDS
  }

  #history(now: number): number[] {
    const present = Math.floor(now / 1_000)
    return Array.from({ length: HISTORY_SECONDS }, (_, index) => {
      const second = present - HISTORY_SECONDS + index
      let jobs = 0
      for (const seconds of this.#ended.values()) jobs += seconds.get(second) ?? 0
      return jobs
    })
  }
}

function flowRow({ flows, isAll }: OutputOf<'flows.list'>): FlowRow {
  const total = (status: 'running' | 'failed'): number =>
    flows.reduce((sum, { runs }) => sum + runs[status], 0)
  const names = new Map<string, number>()
  for (const { name, runs } of flows) {
    if (runs.running > 0) names.set(name, (names.get(name) ?? 0) + runs.running)
  }
  return {
    running: total('running'),
    failed: total('failed'),
    names: [...names].map(([name, running]) => ({ name, running })).sort((a, b) => b.running - a.running),
    isAll,
  }
}
