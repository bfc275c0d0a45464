import { messageOf, StoreError } from '../core/errors.ts'
import type { NewJob } from '../core/jobs/job.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { retryDelayMs } from '../runtime/supervise.ts'
import type { Settlement } from '../store/store.ts'
import type { Parcel } from './store-batcher.ts'

/** Settlements in one call. Fewer than usual: while one of them waits for a lock, the rows of all are locked. */
const MOST_AT_ONCE = 250
/** How long a call waits for a lock that another transaction holds, and each part of it after that. */
const BATCH_LOCK_WAIT_MS = 50
const PART_LOCK_WAIT_MS = 10
/** Parts and held settlements that are tried at the same time: each takes a connection for a moment. */
const MOST_TRIES = 2
const SHORTEST_WAIT_MS = 20
const LONGEST_WAIT_MS = 500
/** After this time a held settlement is worth a warning. */
const WARN_AFTER_MS = 5_000

export interface HeldSettlementsOptions {
  readonly runtime: Runtime
  readonly logger: Logger
  /** Sends one call and reports the results. Returns the parcels that got none. */
  readonly send: (parcels: readonly Parcel[], lockWaitMs: number) => Promise<readonly Parcel[]>
  /** Finds the one that the store refuses: sends them one by one. Returns those that have to be sent again. */
  readonly isolate: (parcels: readonly Parcel[], lockWaitMs: number) => Promise<readonly Parcel[]>
  /** A call has been answered, or failed. */
  readonly onTurn: () => void
}

/** Parcels that need the same keys: one transaction holds up all of them or none. */
interface Part {
  readonly name: string
  readonly parcels: Parcel[]
}

/** A part that waits for another transaction. Its first parcel is tried; the others wait for that. */
interface Held extends Part {
  readonly since: number
  waitMs: number
  isWarned: boolean
  stop: () => void
}

/**
 * Saves settlements that can have to wait for a transaction that a program left open: their follow-up jobs have unique keys
 * or given ids. They share no call with others, and each call waits for locks only briefly:
 *
 *   fresh ── saved
 *     │ STORE_BUSY: in halves, until it is known which keys are held
 *     ▼
 *   held ── tried alone, with a backoff, until the store has an answer ──▶ saved; those that need the same keys are fresh again
 *
 * Between two attempts nothing of them is locked in the store, so their leases are renewed as usual. A new settlement that
 * needs a held key joins those that wait for it, without a call.
 */
export class HeldSettlements {
  readonly #options: HeldSettlementsOptions
  #fresh: Parcel[] = []
  #isSending = false
  /** Halves of calls that ran into a held lock. */
  #parts: Part[][] = []
  readonly #held = new Map<string, Held>()
  /** Those of them whose wait has passed. */
  #due: Held[] = []
  #tries = 0
  #size = 0
  #failures = 0
  #retryTimer: (() => void) | null = null
  #scheduled = false
  /** Set while a withdrawal waits for the calls in flight: nothing new is sent. */
  #drained: (() => void) | null = null
  #closed = false

  constructor(options: HeldSettlementsOptions) {
    this.#options = options
  }

  /** Settlements that are not saved yet. */
  get size(): number {
    return this.#size
  }

  /** Whether some wait for a transaction that is still open. */
  get isHolding(): boolean {
    return this.#held.size > 0
  }

  /** True while the store does not answer. */
  get failing(): boolean {
    return this.#failures > 0
  }

  add(parcel: Parcel): void {
    if (this.#closed) return
    this.#size++
    const names = namesOf(parcel)
    const name = names.join('\n')
    const held = this.#held.get(name)
    if (held !== undefined) {
      held.parcels.push(parcel)
      parcel.onHeld?.()
    } else if (names.some((one) => this.#held.has(one))) {
      this.#hold({ name, parcels: [parcel] })
    } else {
      this.#fresh.push(parcel)
      this.#nudge()
    }
  }

  /** Takes over what a usual call could not save because one of its settlements needs a lock that is held. */
  takeOver(parcels: readonly Parcel[]): void {
    if (this.#closed) return
    this.#size += parcels.length
    this.#split(partsOf(parcels))
    this.#send()
  }

  /**
   * Removes and returns the settlements whose jobs can be handed back instead. Waits for the calls in flight first, so that
   * none of them has two outcomes under way; where the reply was lost, the token of the lease decides.
   */
  async withdraw(): Promise<readonly Parcel[]> {
    if (this.#isCalling()) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve
      })
    }
    this.#drained = null
    if (this.#closed) return []
    const held = [...this.#held.values()]
    for (const one of held) one.stop()
    const all = [...held, ...this.#parts.flat(), ...partsOf(this.#fresh)].flatMap(({ parcels }) => parcels)
    this.#held.clear()
    this.#parts = []
    this.#due = []
    this.#fresh = all.filter((parcel) => parcel.canGoBack !== true)
    const withdrawn = all.filter((parcel) => parcel.canGoBack === true)
    this.#size -= withdrawn.length
    for (const { parcels } of partsOf(withdrawn)) this.#warnOfWithdrawal(parcels)
    this.#nudge()
    return withdrawn
  }

  #isCalling(): boolean {
    return this.#isSending || this.#tries > 0
  }

  /** Sends nothing more. */
  close(): void {
    this.#closed = true
    this.#retryTimer?.()
    for (const held of this.#held.values()) held.stop()
    this.#held.clear()
    this.#fresh = []
    this.#parts = []
    this.#due = []
    this.#size = 0
  }

  /** What comes in one turn of the event loop goes together. */
  #nudge(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    this.#options.runtime.defer(() => {
      this.#scheduled = false
      this.#send()
    })
  }

  #send(): void {
    if (this.#drained !== null) {
      if (!this.#isCalling()) this.#drained()
      return
    }
    if (this.#closed || this.#retryTimer !== null) return
    if (!this.#isSending && this.#fresh.length > 0) {
      this.#isSending = true
      const parts = partsOf(this.#fresh.splice(0, MOST_AT_ONCE))
      void this.#guarded(() => this.#sendParts(parts, BATCH_LOCK_WAIT_MS)).finally(() => {
        this.#isSending = false
        this.#send()
      })
    }
    while (this.#tries < MOST_TRIES) {
      const attempt = this.#nextAttempt()
      if (attempt === null) return
      this.#tries++
      void this.#guarded(attempt).finally(() => {
        this.#tries--
        this.#send()
      })
    }
  }

  #nextAttempt(): (() => Promise<void>) | null {
    const parts = this.#parts.shift()
    if (parts !== undefined) return () => this.#sendParts(parts, PART_LOCK_WAIT_MS)
    const held = this.#due.shift()
    return held === undefined ? null : () => this.#tryHeld(held)
  }

  /** A fault of our own must not end the process. */
  async #guarded(attempt: () => Promise<void>): Promise<void> {
    try {
      await attempt()
    } catch (error) {
      this.#options.logger.error(`In a worker: ${messageOf(error)}`)
    } finally {
      this.#options.onTurn()
    }
  }

  async #sendParts(parts: readonly Part[], lockWaitMs: number): Promise<void> {
    const parcels = parts.flatMap((part) => part.parcels)
    const again = await this.#settle(parcels, lockWaitMs)
    if (again === 'busy') this.#split(parts)
    else this.#saved(parcels, again)
  }

  /** Another transaction holds a lock that one of them needs: halves go apart until it is known which. */
  #split(parts: readonly Part[]): void {
    if (this.#closed) return
    if (parts.length === 1) {
      this.#hold(parts[0] as Part)
      return
    }
    const middle = Math.ceil(parts.length / 2)
    for (const half of [parts.slice(0, middle), parts.slice(middle)]) this.#parts.push(half)
  }

  #hold({ name, parcels }: Part): void {
    for (const parcel of parcels) parcel.onHeld?.()
    const known = this.#held.get(name)
    if (known !== undefined) {
      known.parcels.push(...parcels)
      return
    }
    const since = this.#options.runtime.mono()
    const held = { name, parcels, since, waitMs: SHORTEST_WAIT_MS, isWarned: false, stop: () => {} }
    this.#held.set(name, held)
    this.#wait(held)
  }

  #wait(held: Held): void {
    const { runtime } = this.#options
    this.#warn(held)
    held.stop = runtime.timer(held.waitMs * (0.5 + runtime.random()), () => {
      this.#due.push(held)
      this.#send()
    })
    held.waitMs = Math.min(LONGEST_WAIT_MS, held.waitMs * 1.6)
  }

  async #tryHeld(held: Held): Promise<void> {
    const first = held.parcels.slice(0, 1)
    const again = await this.#settle(first, PART_LOCK_WAIT_MS)
    if (this.#closed) return
    if (again === 'busy') {
      this.#wait(held)
      return
    }
    // Released, as far as is known: the others may go.
    this.#held.delete(held.name)
    this.#fresh.push(...held.parcels.slice(1))
    this.#saved(first, again)
  }

  /** Returns those that have to be sent again, or that a lock was held: then nothing has happened. */
  async #settle(parcels: readonly Parcel[], lockWaitMs: number): Promise<readonly Parcel[] | 'busy'> {
    const { send, isolate } = this.#options
    try {
      const again = await send(parcels, lockWaitMs)
      this.#recovered()
      if (again.length > 0) this.#later('some outcomes got no word.')
      return again
    } catch (error) {
      if (isBusy(error)) {
        this.#recovered()
        return 'busy'
      }
      if (error instanceof StoreError && error.transient) {
        this.#later(messageOf(error))
        return parcels
      }
      const again = await isolate(parcels, lockWaitMs)
      if (again.length > 0) this.#later('it failed while outcomes were sent one by one.')
      return again
    }
  }

  #saved(parcels: readonly Parcel[], again: readonly Parcel[]): void {
    if (this.#closed) return
    this.#size -= parcels.length - again.length
    this.#fresh.unshift(...again)
  }

  /** Nothing is sent for a while that grows with every failure. */
  #later(reason: string): void {
    if (this.#closed) return
    const { runtime, logger } = this.#options
    this.#failures++
    if (this.#failures === 1) logger.warn(`The store does not answer; trying again: ${reason}`)
    this.#retryTimer ??= runtime.timer(retryDelayMs(this.#failures, runtime.random()), () => {
      this.#retryTimer = null
      this.#send()
    })
  }

  #recovered(): void {
    if (this.#failures > 0) this.#options.logger.info('The store answers again.')
    this.#failures = 0
  }

  #warn(held: Held): void {
    const { runtime, logger } = this.#options
    if (held.isWarned || runtime.mono() - held.since < WARN_AFTER_MS) return
    held.isWarned = true
    logger.warn(
      `The outcome of ${jobsOf(held.parcels)} is not saved yet: another transaction holds ${lockOf(held.parcels)}. ` +
        'It is retried until that ends; PostgreSQL lists open transactions in pg_stat_activity.',
    )
  }

  #warnOfWithdrawal(parcels: readonly Parcel[]): void {
    const runAgain =
      parcels.length === 1 ? 'The job is handed back and runs' : 'The jobs are handed back and run'
    this.#options.logger.warn(
      `The worker stops, and the outcome of ${jobsOf(parcels)} is not saved: another transaction holds ` +
        `${lockOf(parcels)}. ${runAgain} again. PostgreSQL lists open transactions in pg_stat_activity.`,
    )
  }
}

function jobsOf(parcels: readonly Parcel[]): string {
  const others = parcels.length === 1 ? '' : `, and of ${parcels.length - 1} more,`
  return `job "${parcels[0]?.settlement.id}"${others}`
}

function lockOf([first]: readonly Parcel[]): string {
  const key = first && keyedIn(first.settlement).next().value
  return key?.unique ? `unique key "${key.unique.key}" of queue "${key.queue}"` : 'a lock that it needs'
}

/** Whether a settlement can have to wait for a transaction of a stranger. */
export function mayWait({ settlement, hasGivenIds }: Parcel): boolean {
  const { enqueue, groups, move } = settlement
  if (enqueue === undefined && groups === undefined && move === undefined) return false
  return hasGivenIds === true || keyedIn(settlement).next().done !== true
}

/** Whether the store did nothing, because another transaction holds a lock that the call needs. */
export function isBusy(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'STORE_BUSY'
}

/** The jobs with unique keys that a settlement enqueues, or may enqueue. */
function* keyedIn({ enqueue = [], groups = [], move }: Settlement): Generator<NewJob> {
  for (const job of enqueue) if (job.unique !== null) yield job
  for (const job of move?.jobs ?? []) if (job.unique !== null) yield job
  for (const { jobs } of [...groups, ...(move?.groups ?? [])]) {
    for (const job of Object.values(jobs)) if (job.unique !== null) yield job
  }
}

/** What others may hold of what a settlement needs, each once and in order. If that is not known, it has a name of its own. */
function namesOf({ settlement, hasGivenIds }: Parcel): string[] {
  const names = new Set<string>()
  for (const { space, queue, unique } of keyedIn(settlement)) names.add(`${space} ${queue} ${unique?.key}`)
  if (hasGivenIds) for (const { id } of settlement.enqueue ?? []) names.add(id)
  return names.size > 0 ? [...names].sort() : [settlement.id]
}

function partsOf(parcels: readonly Parcel[]): Part[] {
  const parts = new Map<string, Part>()
  for (const parcel of parcels) {
    const name = namesOf(parcel).join('\n')
    const part = parts.get(name)
    if (part) part.parcels.push(parcel)
    else parts.set(name, { name, parcels: [parcel] })
  }
  return [...parts.values()]
}
