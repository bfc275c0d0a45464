import { StoreError } from '../../core/errors.ts'
import { isFinal, type NewJob } from '../../core/jobs/job.ts'
import { idTakenError, type TakenId, takenIn } from '../../core/jobs/taken-ids.ts'
import { LIMITS } from '../../core/limits.ts'
import {
  type Hint,
  mergeHints,
  type Notifier,
  namingHints,
  type ToldJob,
  workHint,
} from '../../notifier/notifier.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { atMost, LONGEST_RETRY_MS } from '../../runtime/supervise.ts'
import type { AddMembersCall, AddMembersReply } from '../../store/flows.ts'
import type { InsertCall, InsertReply, InsertResult, Store } from '../../store/store.ts'
import { givenUp } from '../jobs/given-up.ts'
import { type Patience, patiently } from '../retry-calls.ts'
import { BusyError, groupsOf, KeyedInserts, mayWait } from './unique-inserts.ts'

/** From this many waiting jobs on, a second insert may be under way, unless the store says otherwise: it is worth keeping busy. */
const WORTH_A_SECOND_CALL = 250
const MOST_CALLS = 2
/** A call that has lasted this long no longer holds up the next batch, up to {@link MOST_SLOW_CALLS}. */
const SLOW_CALL_MS = 500
const MOST_SLOW_CALLS = 4
/** How long a batch waits for a key that another transaction holds, and each part of it after that. */
const BATCH_LOCK_WAIT_MS = 50
const PART_LOCK_WAIT_MS = 10

/** Groups and runs that have to be there with the jobs. */
export interface Made extends Pick<InsertCall, 'groups' | 'runs'> {
  /** Called before the insert resolves, if some of these runs were there before: with their places, from 0. */
  readonly onKnownRuns?: (places: readonly number[]) => void
}

interface EnqueuerOptions {
  readonly store: Store
  readonly notifier: Notifier
  readonly runtime: Runtime
  readonly timeoutMs: number
  /** Whoever hears of a job finds it, also if it is told of as soon as the insert was sent. */
  readonly tellsEarly?: boolean
  /** Jobs that are in the store now, with what became of each. */
  readonly onInserted?: (jobs: readonly NewJob[], results: readonly InsertResult[]) => void
  /** The inserts may run into keys that other transactions hold: they wait briefly and reject with `BusyError`. */
  readonly isKeyed?: boolean
}

interface Order extends Made {
  readonly jobs: readonly NewJob[]
  /** The caller chose the ids, so the jobs may be there already. */
  readonly again: boolean
  readonly resolve: (results: readonly InsertResult[]) => void
  readonly reject: (error: unknown) => void
}

/**
 * Inserts jobs. What arrives while an insert is under way goes together in the next one, so a hundred
 * callers cost one round trip and one commit; a caller on an idle queue goes at once. Each promise resolves
 * only after the commit of its own jobs, and the jobs of one caller are never split.
 */
export class Enqueuer {
  readonly #store: Store
  readonly #notifier: Notifier
  readonly #runtime: Runtime
  readonly #patience: Patience
  readonly #secondAt: number
  readonly #tellsEarly: boolean
  readonly #onInserted: (jobs: readonly NewJob[], results: readonly InsertResult[]) => void
  readonly #isKeyed: boolean
  /** Takes the inserts that may have to wait for another transaction, where that can happen. */
  readonly #keyed: KeyedInserts | null = null
  #orders: Order[] = []
  #waiting = 0
  #calls = 0
  /** Of these, how many have lasted so long that the next batch does not wait for them. */
  #slowCalls = 0
  /** Calls that are not batches: nothing waits for them but `close`. */
  #apart = 0
  #scheduled = false
  /** The last call carried the jobs of several callers. */
  #isBusy = false
  #closed: { readonly error: unknown } | null = null
  #idle: (() => void)[] = []

  constructor(options: EnqueuerOptions) {
    this.#store = options.store
    this.#notifier = options.notifier
    this.#runtime = options.runtime
    this.#patience = { runtime: options.runtime, patienceMs: options.timeoutMs }
    this.#tellsEarly = options.tellsEarly ?? false
    this.#onInserted = options.onInserted ?? (() => {})
    this.#secondAt = options.store.capabilities.secondInsertAt ?? WORTH_A_SECOND_CALL
    this.#isKeyed = options.isKeyed ?? false
    if (!this.#isKeyed && options.store.capabilities.waitsForKeys) {
      this.#keyed = new KeyedInserts(new Enqueuer({ ...options, isKeyed: true }), options)
    }
  }

  insert(jobs: readonly NewJob[], again: boolean, made?: Made): Promise<readonly InsertResult[]> {
    if (this.#keyed && !this.#closed && mayWait(jobs, again)) return this.#keyed.insert(jobs, again, made)
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(this.#closed.error)
      const order = orderOf(jobs, again, made, resolve, reject)
      this.#orders.push(order)
      this.#waiting += sizeOf(order)
      this.#schedule()
    })
  }

  /** Inserts at once, together with nothing else, and waits for keys as briefly as possible. */
  async insertAlone(jobs: readonly NewJob[], again: boolean, made?: Made): Promise<readonly InsertResult[]> {
    if (this.#closed) throw this.#closed.error
    this.#apart++
    try {
      return await new Promise((resolve, reject) => {
        const order = orderOf(jobs, again, made, resolve, reject)
        void this.#deliver([order], PART_LOCK_WAIT_MS)
      })
    } finally {
      this.#apart--
      this.#checkIdle()
    }
  }

  /** Adds members to an open group. It goes by itself, because it may be refused, and is repeated as inserts are. */
  async addMembers(call: AddMembersCall): Promise<AddMembersReply> {
    if (this.#closed) throw this.#closed.error
    this.#apart++
    try {
      const reply = await this.#patiently((again) => this.#store.addMembers({ ...call, again }))
      if ('errorFor' in reply) throw reply.errorFor(call.jobs)
      if (reply.enqueued.length > 0)
        this.#notifier.publish(mergeHints(reply.enqueued.map((one) => ({ kind: 'work', ...one }))))
      return reply
    } finally {
      this.#apart--
      this.#checkIdle()
    }
  }

  /** Takes no more jobs. Resolves when all that were handed in have an answer, or have had their time. */
  async close(error: unknown, timeoutMs = this.#patience.patienceMs + LONGEST_RETRY_MS): Promise<void> {
    this.#closed = { error }
    await Promise.all([this.#keyed?.close(error, timeoutMs), this.#drain(error, timeoutMs)])
  }

  async #drain(error: unknown, timeoutMs: number): Promise<void> {
    await atMost(this.#runtime, timeoutMs, this.#flushed())
    for (const order of this.#orders.splice(0)) order.reject(error)
  }

  #flushed(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #schedule(): void {
    if (this.#scheduled || this.#orders.length === 0) return
    const calls = this.#calls - Math.min(this.#slowCalls, MOST_SLOW_CALLS)
    if (calls > 0 && (calls >= MOST_CALLS || this.#waiting < this.#secondAt)) return
    this.#scheduled = true
    // Under load, what happens in this turn of the event loop goes together. A caller who is alone need not wait for its end.
    if (this.#isBusy) this.#runtime.defer(() => this.#send())
    else void Promise.resolve().then(() => this.#send())
  }

  #send(): void {
    this.#scheduled = false
    const orders = this.#take()
    this.#isBusy = orders.length > 1
    if (orders.length === 0) return
    this.#calls++
    let isSlow = false
    const stop = this.#runtime.timer(
      SLOW_CALL_MS,
      () => {
        isSlow = true
        this.#slowCalls++
        this.#schedule()
      },
      { background: true },
    )
    void this.#deliver(orders).finally(() => {
      stop()
      this.#calls--
      if (isSlow) this.#slowCalls--
      this.#schedule()
      this.#checkIdle()
    })
    this.#schedule()
  }

  #isIdle(): boolean {
    return this.#orders.length === 0 && this.#calls === 0 && this.#apart === 0
  }

  #checkIdle(): void {
    if (this.#isIdle()) for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** As many whole orders as fit in one call. */
  #take(): Order[] {
    let count = 0
    let size = 0
    for (const order of this.#orders) {
      if (count > 0 && size + sizeOf(order) > LIMITS.storeBatch) break
      size += sizeOf(order)
      count++
    }
    this.#waiting -= size
    return this.#orders.splice(0, count)
  }

  async #deliver(orders: readonly Order[], lockWaitMs = BATCH_LOCK_WAIT_MS): Promise<void> {
    const jobs = orders.length === 1 ? (orders[0] as Order).jobs : orders.flatMap((order) => order.jobs)
    const reply = await this.#insert(
      jobs,
      orders.some((order) => order.again),
      this.#isKeyed ? { ...madeBy(orders), lockWaitMs } : madeBy(orders),
    )
    if ('results' in reply) {
      if (!reply.isTold) this.#hint(jobs, reply)
      this.#onInserted(jobs, reply.results)
      if (reply.knownRuns) tellOfKnownRuns(orders, reply.knownRuns)
      if (orders.length === 1) return (orders[0] as Order).resolve(reply.results)
      let from = 0
      for (const order of orders) {
        order.resolve(reply.results.slice(from, from + order.jobs.length))
        from += order.jobs.length
      }
    } else if (reply.busy) {
      await this.#deliverApart(orders, reply.busy)
    } else if (orders.length > 1 && reply.taken.length > 0) {
      await this.#deliverOthers(orders, reply)
    } else if (orders.length > 1 && reply.isRefused) {
      // One caller's data must not fail the others': try each alone. An earlier try may have happened.
      for (const order of orders) await this.#deliver([{ ...order, again: true }])
    } else {
      for (const order of orders) order.reject(reply.errorFor(order.jobs))
    }
  }

  /** Another transaction holds a key of one of them. The two halves go apart, until it is known of which. */
  async #deliverApart(orders: readonly Order[], busy: BusyError): Promise<void> {
    const parts = groupsOf(orders)
    if (parts.length === 1) {
      for (const order of orders) order.reject(busy)
      return
    }
    for (const half of [parts.slice(0, parts.length / 2), parts.slice(parts.length / 2)]) {
      const own = half.flat().map((order) => ({ ...order, again: order.again || busy.isUnknown }))
      await this.#deliver(own, PART_LOCK_WAIT_MS)
    }
  }

  /** Refuses the orders that want ids of others, and delivers the rest: of this attempt nothing was written. */
  async #deliverOthers(orders: readonly Order[], { taken }: NotInserted): Promise<void> {
    const owners = new Map(taken.map(({ id, queue }) => [id, queue]))
    const others: Order[] = []
    for (const order of orders) {
      const wanted = new Set<string>()
      for (const { id, queue } of order.jobs) {
        const owner = owners.get(id)
        if (owner !== undefined && owner !== queue) wanted.add(id)
      }
      // An earlier attempt may have happened.
      if (wanted.size === 0) others.push({ ...order, again: true })
      else order.reject(idTakenError(taken.filter(({ id }) => wanted.has(id))))
    }
    const isApart = others.length < orders.length
    for (const group of isApart ? [others] : others.map((order) => [order])) {
      if (group.length > 0) await this.#deliver(group)
    }
  }

  async #insert(
    jobs: readonly NewJob[],
    known: boolean,
    made: Pick<InsertCall, 'groups' | 'runs' | 'lockWaitMs'>,
  ): Promise<(InsertReply & { readonly isTold: boolean }) | NotInserted> {
    let tries = 0
    const reply = await this.#patiently((again) => {
      const how = known || again ? { again: true } : { fresh: true }
      const early = ++tries === 1 && this.#tellsEarly ? earlyHints(jobs) : []
      const letter = early.length === 0 ? null : (this.#notifier.along?.(early) ?? null)
      const inserted = this.#store.insert({ jobs, ...made, ...how, ...(letter !== null && { letter }) })
      if (early.length > 0 && letter === null) this.#notifier.publish(early)
      return inserted
    })
    if (!('results' in reply)) return reply
    const isPlain =
      tries === 1 && this.#tellsEarly && !reply.isLate && !reply.enqueued && reply.results.every(isReady)
    return { ...reply, isTold: isPlain }
  }

  /** Repeats what may not have arrived: ids are ours, so a second insert of a job does nothing. */
  async #patiently<Reply>(send: (again: boolean) => Promise<Reply>): Promise<Reply | NotInserted> {
    let isUnknown = false
    const note = ({ code, effect }: StoreError): boolean => {
      isUnknown ||= effect === 'unknown'
      return code !== 'STORE_BUSY'
    }
    try {
      return await patiently(this.#patience, () => send(isUnknown), note)
    } catch (error) {
      if (error instanceof StoreError && error.code === 'STORE_BUSY') {
        const busy = new BusyError(error, isUnknown)
        return { isRefused: false, taken: [], busy, errorFor: (mine) => givenUp(mine, isUnknown, error) }
      }
      if (!(error instanceof StoreError) || !error.transient) {
        return { isRefused: true, taken: takenIn(error), errorFor: () => error }
      }
      return { isRefused: false, taken: [], errorFor: (mine) => givenUp(mine, isUnknown, error) }
    }
  }

  #hint(jobs: readonly NewJob[], { results, enqueued = [] }: InsertReply): void {
    const hints: Hint[] = enqueued.map((one) => ({ kind: 'work', ...one }))
    if (this.#notifier.notices !== undefined) hints.push(...namingHints(toldJobs(jobs, results)))
    else this.#tellOfQueues(jobs, results, hints)
    if (hints.length > 0) this.#notifier.publish(hints)
  }

  #tellOfQueues(jobs: readonly NewJob[], results: readonly InsertResult[], hints: Hint[]): void {
    let last: { hint: ReturnType<typeof workHint>; job: NewJob; dueAt: number } | null = null
    for (let i = 0; i < jobs.length; i++) {
      const job = jobs[i] as NewJob
      const result = results[i] as InsertResult
      const dueAt = result.status === 'ok' ? result.dueAt : this.#runtime.now() + job.delayMs
      if (result.status === 'duplicate' && result.action === 'ignored') continue
      // Most inserts are many jobs of one queue, due at one time: one hint tells of them all.
      if (last && last.job.queue === job.queue && last.job.priority === job.priority && last.dueAt <= dueAt)
        continue
      const { space, queue, priority } = job
      last = { hint: workHint({ space, queue, dueAt, priority }), job, dueAt }
      hints.push(last.hint)
    }
  }
}

/** What to tell of jobs whose insert is on its way: if all goes as it mostly does, nothing else has to be told of them. */
function earlyHints(jobs: readonly NewJob[]): Hint[] {
  const hints: Hint[] = []
  let last: NewJob | null = null
  for (const job of jobs) {
    if (job.delayMs > 0 || job.runAt !== null) continue
    if (last && last.queue === job.queue && last.space === job.space && last.priority >= job.priority)
      continue
    const { space, queue, priority } = job
    hints.push(workHint({ space, queue, priority, dueAt: 0 }))
    last = job
  }
  return hints
}

function isReady(result: InsertResult): boolean {
  return result.status === 'ok' && result.state === 'ready'
}

/** What to tell of an insert by id. */
export function* toldJobs(jobs: readonly NewJob[], results: readonly InsertResult[]): Generator<ToldJob> {
  for (const [index, job] of jobs.entries()) {
    const { id, space, queue, priority, lane } = job
    const result = results[index]
    if (result?.status === 'ok') {
      if (!isFinal(result.state)) yield { id, space, queue, priority, lane, dueAt: result.dueAt }
    } else if (result?.action !== 'ignored') {
      // Of one that was changed by its key the time is not known here: whoever is told asks the store.
      yield { id: result?.id ?? id, space, queue, priority, lane, dueAt: 0 }
    }
  }
}

function orderOf(
  jobs: readonly NewJob[],
  again: boolean,
  made: Made | undefined,
  resolve: Order['resolve'],
  reject: Order['reject'],
): Order {
  const { groups, runs, onKnownRuns } = made ?? {}
  return {
    jobs,
    again,
    resolve,
    reject,
    ...(groups && { groups }),
    ...(runs && { runs }),
    ...(onKnownRuns && { onKnownRuns }),
  }
}

/** Each order is told of its own runs. */
function tellOfKnownRuns(orders: readonly Order[], places: readonly number[]): void {
  let from = 0
  for (const { runs = [], onKnownRuns } of orders) {
    const to = from + runs.length
    const own = places.flatMap((place) => (place >= from && place < to ? [place - from] : []))
    if (own.length > 0) onKnownRuns?.(own)
    from = to
  }
}

/** What it is to the store. */
function sizeOf({ jobs, groups = [], runs = [] }: Pick<Order, 'jobs' | 'groups' | 'runs'>): number {
  return jobs.length + groups.length + runs.length
}

/** Most orders have nothing but jobs, and then there is nothing to say of it. */
function madeBy(orders: readonly Order[]): Omit<Made, 'onKnownRuns'> {
  if (!orders.some((order) => order.groups || order.runs)) return {}
  const groups = orders.flatMap((order) => order.groups ?? [])
  const runs = orders.flatMap((order) => order.runs ?? [])
  return { ...(groups.length > 0 && { groups }), ...(runs.length > 0 && { runs }) }
}

/** Jobs that could not be inserted: refused as they are, or given up because the store does not answer. */
interface NotInserted {
  readonly isRefused: boolean
  /** Not tried further because another transaction holds a key. */
  readonly busy?: BusyError
  /** The ids that they could not have, if that is why. */
  readonly taken: readonly TakenId[]
  /** What the caller who wanted these jobs is told. */
  readonly errorFor: (jobs: readonly NewJob[]) => unknown
}
