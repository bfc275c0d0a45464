import { messageOf, StoreError } from '../core/errors.ts'
import { CHAIN_TURN_MS } from '../core/flows/chains.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { retryDelayMs } from '../runtime/supervise.ts'
import type { Enqueued } from '../store/flows.ts'
import type { ClaimCall, ClaimReply, Settlement, SettleResult, Store } from '../store/store.ts'
import { HeldSettlements, isBusy, mayWait } from './held-settlements.ts'
import type { WishOptions } from './prefetch.ts'

/** Settlements in one call. */
const MOST_AT_ONCE = 1_000
/** With this much to settle or to claim a second call goes beside the first: the store is worth keeping busy. */
const WORTH_A_SECOND_CALL = 250
const MOST_CALLS = 2
/** A smaller claim goes beside a call so often at most: each costs the store as much as a few dozen jobs. */
const BESIDE_EVERY_MS = 10

/**
 * How long a call waits for a lock that another transaction holds, where that can happen. Longer than PostgreSQL takes to find a
 * deadlock, and short while it is known that some transaction stays open.
 */
const LOCK_WAIT_MS = 2_000
const LOCK_WAIT_WHILE_HELD_MS = 100

/** How often a settlement may fail alone with an error no store should let through, before it is given up. */
const MOST_STRANGE_FAILURES = 10

/** A settlement on its way, and who wants to know how it went. */
export interface Parcel {
  readonly settlement: Settlement
  /** Called once, with the store's word on it. */
  readonly onResult: (result: SettleResult) => void
  /** The job that it enqueues for the chain to go on, and since when that has its turn; null if there is none. */
  readonly turn?: Turn | null
  /** Jobs that it enqueues have ids that the handler chose. */
  readonly hasGivenIds?: boolean
  /** Called when it waits for another transaction, see {@link HeldSettlements}. */
  readonly onHeld?: () => void
  /** Called after it was answered in a call of its own, which claimed nothing. */
  readonly onApart?: () => void
  /** When the worker stops and it still waits, its job can be handed back instead. */
  readonly canGoBack?: boolean
}

/** A chain that this worker goes on with, see `CHAIN_TURN_MS`. */
export interface Turn {
  readonly next: string
  /** By the monotonic clock. */
  readonly since: number
}

/** By the job that is next, when the turn of its chain began. */
export type Turns = ReadonlyMap<string, number>

export interface ExchangeOptions {
  readonly store: Store
  readonly runtime: Runtime
  readonly logger: Logger
  /** What to claim along with the next call, or null. Asked only when a call is about to be sent. */
  readonly wish: (options: WishOptions) => Omit<ClaimCall, 'now'> | null
  readonly onClaimed: (
    call: Omit<ClaimCall, 'now'>,
    reply: ClaimReply,
    sentAt: number,
    turns: Turns | null,
  ) => void
  /** The claim failed: nothing came, or nothing is known. `isOver`: it is not asked about again, so nothing will come of it. */
  readonly onClaimFailed: (call: Omit<ClaimCall, 'now'>, isOver: boolean) => void
  /** Groups that fired have enqueued jobs. */
  readonly onEnqueued: (enqueued: readonly Enqueued[]) => void
  /** A call has been answered, or failed: there may be something to do. */
  readonly onTurn: () => void
}

/**
 * The one place where a worker talks to the store about jobs: all outcomes that have gathered and the next
 * claim go in one call. While a call is under way the next one gathers, so batches form by themselves under
 * load and a single job goes at once when idle. Under full load there are two: the store works on one while the jobs
 * of the other run.
 *
 * A settlement leaves only with the store's word. When the store fails, the same call is sent again:
 * every settlement can be repeated. So can a claim: one whose answer was lost is asked about before the next, or what
 * it took would belong to nobody until the leases end.
 *
 * Settlements that can have to wait for a transaction of a stranger go apart, in calls of their own beside those two.
 */
export class Exchange {
  readonly #options: ExchangeOptions
  #outbox: Parcel[] = []
  /** Parcels in the calls that are under way. */
  #sent = 0
  #underWay = 0
  /** When a claim last went beside a call. */
  #besideAt = -Infinity
  #closed = false
  #scheduled = false
  #failures = 0
  #retryTimer: (() => void) | null = null
  /** Claims that may have taken jobs of which we do not know. */
  readonly #uncertain: Omit<ClaimCall, 'now'>[] = []
  #idle: (() => void)[] = []
  /** Takes the settlements that may have to wait for another transaction, where that can happen. */
  readonly #apart: HeldSettlements | null = null

  constructor(options: ExchangeOptions) {
    this.#options = options
    if (options.store.capabilities.waitsForKeys) {
      this.#apart = new HeldSettlements({
        runtime: options.runtime,
        logger: options.logger,
        send: (parcels, lockWaitMs) => this.#settleOnly(parcels, lockWaitMs),
        isolate: (parcels, lockWaitMs) => this.#oneByOne(parcels, lockWaitMs),
        onTurn: () => {
          options.onTurn()
          this.#checkIdle()
        },
      })
    }
  }

  /** How often each parcel failed alone for reasons that are not a store's. */
  readonly #strange = new WeakMap<Parcel, number>()

  /** Outcomes not yet saved. */
  get pending(): number {
    return this.#outbox.length + this.#sent + (this.#apart?.size ?? 0)
  }

  /** True while the store does not answer. */
  get failing(): boolean {
    return this.#failures > 0 || this.#apart?.failing === true
  }

  settle(parcel: Parcel): void {
    if (this.#closed) return
    if (this.#apart !== null && mayWait(parcel)) {
      this.#apart.add(parcel)
      return
    }
    this.#outbox.push(parcel)
    this.nudge()
  }

  /** Removes and returns the settlements that wait for another transaction and whose jobs can be handed back. */
  async withdrawHeld(): Promise<readonly Parcel[]> {
    return this.#apart === null ? [] : this.#apart.withdraw()
  }

  /** Sends nothing more. What is not saved by now never will be: its leases end. */
  close(): void {
    this.#closed = true
    this.#apart?.close()
    this.#outbox = []
    this.#retryTimer?.()
    this.#retryTimer = null
  }

  /** Sends what there is to send at the end of this turn of the event loop, so that what happens in it goes together. */
  nudge(): void {
    if (this.#scheduled || !this.#canSend()) return
    this.#scheduled = true
    this.#options.runtime.defer(() => {
      this.#scheduled = false
      this.#send()
    })
  }

  /** The same, but at once if nothing is under way: a job has come, and waits. */
  nudgeAtOnce(): void {
    if (this.#underWay === 0 && !this.#scheduled) this.#send()
    else this.nudge()
  }

  /** Resolves when nothing is on its way and nothing waits to be sent. */
  flushed(): Promise<void> {
    if (this.#isIdle() && this.#uncertain.length === 0) return Promise.resolve()
    this.nudge()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #isIdle(): boolean {
    return this.#outbox.length === 0 && this.#underWay === 0 && (this.#apart?.size ?? 0) === 0
  }

  #checkIdle(): void {
    if (this.#idle.length > 0 && this.#isIdle()) this.nudge()
  }

  #send(): void {
    if (!this.#canSend()) return
    const isSecond = this.#underWay > 0
    const now = this.#options.runtime.mono()
    const isWorthIt = this.#outbox.length >= (isSecond ? WORTH_A_SECOND_CALL : 1)
    // What was doubted comes first, also beside another call: under full load there is always one.
    const claim =
      this.#uncertain.shift() ??
      this.#options.wish({
        along: isWorthIt,
        least: isSecond && !isWorthIt ? WORTH_A_SECOND_CALL : 1,
        isBeside: isSecond && !isWorthIt && now - this.#besideAt >= BESIDE_EVERY_MS,
      })
    if (isSecond && claim !== null) this.#besideAt = now
    if (isWorthIt || claim !== null) {
      this.#sendWith(claim)
      // There may be enough left for a second call.
      this.nudge()
    } else if (this.#isIdle()) {
      for (const resolve of this.#idle.splice(0)) resolve()
    }
  }

  #canSend(): boolean {
    return this.#underWay < MOST_CALLS && this.#retryTimer === null && !this.#closed
  }

  #sendWith(claim: Omit<ClaimCall, 'now'> | null): void {
    const parcels = this.#outbox.splice(0, MOST_AT_ONCE)
    this.#underWay++
    this.#sent += parcels.length
    this.#call(parcels, claim)
      .finally(() => {
        this.#underWay--
        this.#sent -= parcels.length
        this.#options.onTurn()
      })
      // A fault of our own must not end the exchange, or the process with it.
      .catch((error: unknown) => this.#options.logger.error(`In a worker: ${messageOf(error)}`))
      .finally(() => this.nudge())
  }

  async #call(parcels: readonly Parcel[], wish: Omit<ClaimCall, 'now'> | null): Promise<void> {
    const { store, runtime, onClaimed } = this.#options
    const sentAt = runtime.mono()
    const turns = wish === null || wish.ids !== undefined || wish.again ? null : turnsOf(parcels, sentAt)
    const claim = wish === null || turns === null ? wish : { ...wish, first: [...turns.keys()] }
    let claimed: ClaimReply | null
    try {
      if (parcels.length === 0) {
        claimed = await store.claim(claim as Omit<ClaimCall, 'now'>)
      } else {
        const settlements = parcels.map((parcel) => parcel.settlement)
        const reply = await store.settle({ settlements, ...(claim && { claim }), ...this.#lockWait() })
        claimed = reply.claimed
        if (reply.enqueued) this.#options.onEnqueued(reply.enqueued)
        const again = this.#answered(parcels, reply.results)
        if (again.length > 0) this.#later(again, 'some outcomes got no word.')
      }
      if (this.#retryTimer === null) this.#recovered()
    } catch (error) {
      if (claim) {
        this.#options.onClaimFailed(claim, !this.#doubt(claim, parcels, error))
      }
      await this.#failed(parcels, error)
      return
    }
    if (claim && claimed) onClaimed(claim, claimed, sentAt, turns)
  }

  /** Keeps in mind a claim that failed if it may have happened all the same, and returns whether it did so. */
  #doubt(claim: Omit<ClaimCall, 'now'>, parcels: readonly Parcel[], error: unknown): boolean {
    const isUnknown = !(error instanceof StoreError) || error.effect === 'unknown'
    // One that was doubted before stays so, unless it was refused by itself: asking for ever would help nobody.
    const isStill = claim.again === true && (isTransient(error) || parcels.length > 0)
    if (isUnknown || isStill) this.#uncertain.push({ ...claim, again: true })
    return isUnknown || isStill
  }

  /** Passes on what the store said, and returns the parcels about which it said nothing. */
  #answered(parcels: readonly Parcel[], results: readonly SettleResult[]): Parcel[] {
    const again: Parcel[] = []
    parcels.forEach((parcel, index) => {
      const result = results[index] ?? { status: 'unknown' }
      if (result.status === 'unknown') again.push(parcel)
      else this.#tell(parcel, result)
    })
    return again
  }

  /** The keys that others hold are not all it can wait for: a row of a group, or of a job that its handler's transaction has ended. */
  #lockWait(): { readonly lockWaitMs?: number } {
    if (this.#apart === null) return {}
    return { lockWaitMs: this.#apart.isHolding ? LOCK_WAIT_WHILE_HELD_MS : LOCK_WAIT_MS }
  }

  async #settleOnly(parcels: readonly Parcel[], lockWaitMs: number): Promise<readonly Parcel[]> {
    const settlements = parcels.map((parcel) => parcel.settlement)
    const { results, enqueued } = await this.#options.store.settle({ settlements, lockWaitMs })
    if (enqueued) this.#options.onEnqueued(enqueued)
    const again = this.#answered(parcels, results)
    for (const parcel of parcels) if (!again.includes(parcel)) parcel.onApart?.()
    return again
  }

  async #failed(parcels: readonly Parcel[], error: unknown): Promise<void> {
    if (this.#apart !== null && isBusy(error) && parcels.length > 0) {
      this.#apart.takeOver(parcels)
      return
    }
    // A refusal of the data itself would come again for ever: find the one settlement that causes it.
    if (!isTransient(error) && parcels.length > 0) {
      await this.#isolate(parcels)
      return
    }
    this.#later(parcels, messageOf(error))
  }

  /** Sends these again after a while that grows with every failure. */
  #later(parcels: readonly Parcel[], reason: string): void {
    if (this.#closed) return
    const { runtime, logger } = this.#options
    this.#outbox.unshift(...parcels)
    this.#failures++
    if (this.#failures === 1) logger.warn(`The store does not answer; trying again: ${reason}`)
    this.#retryTimer ??= runtime.timer(retryDelayMs(this.#failures, runtime.random()), () => {
      this.#retryTimer = null
      this.nudge()
    })
  }

  async #isolate(parcels: readonly Parcel[]): Promise<void> {
    const again = await this.#oneByOne(parcels, this.#lockWait().lockWaitMs)
    if (again.length > 0) this.#later(again, 'it failed while outcomes were sent one by one.')
  }

  /** Returns those that have to be sent again. */
  async #oneByOne(parcels: readonly Parcel[], lockWaitMs: number | undefined): Promise<readonly Parcel[]> {
    const again: Parcel[] = []
    for (const [index, parcel] of parcels.entries()) {
      try {
        // Without its notes: should they be what is refused, the outcome is worth more.
        const { note: _note, ...settlement } = parcel.settlement
        const { results, enqueued } = await this.#options.store.settle({
          settlements: [settlement],
          ...(lockWaitMs !== undefined && { lockWaitMs }),
        })
        if (enqueued) this.#options.onEnqueued(enqueued)
        again.push(...this.#answered([parcel], results))
      } catch (error) {
        if (isBusy(error)) again.push(parcel)
        else if (isTransient(error)) {
          again.push(...parcels.slice(index))
          break
        } else if (this.#isHopeless(parcel, error)) {
          this.#options.logger.error(
            `The outcome of job "${parcel.settlement.id}" cannot be saved: ${messageOf(error)}`,
          )
          this.#tell(parcel, { status: 'refused', reason: 'lost' })
        } else {
          again.push(parcel)
        }
      }
    }
    return again
  }

  /** A refusal is final. An error that is not a store's may be a broken connection that its adapter did not recognise. */
  #isHopeless(parcel: Parcel, error: unknown): boolean {
    if (error instanceof StoreError) return true
    const failures = (this.#strange.get(parcel) ?? 0) + 1
    this.#strange.set(parcel, failures)
    return failures >= MOST_STRANGE_FAILURES
  }

  #tell(parcel: Parcel, result: SettleResult): void {
    try {
      parcel.onResult(result)
    } catch (error) {
      this.#options.logger.error(`After settling job "${parcel.settlement.id}": ${messageOf(error)}`)
    }
  }

  #recovered(): void {
    if (this.#failures > 0) this.#options.logger.info('The store answers again.')
    this.#failures = 0
  }
}

/** The chains of these that go on at once; null if there are none. */
function turnsOf(parcels: readonly Parcel[], now: number): Turns | null {
  let turns: Map<string, number> | null = null
  for (const { turn } of parcels) {
    if (!turn || now - turn.since >= CHAIN_TURN_MS) continue
    turns ??= new Map()
    turns.set(turn.next, turn.since)
  }
  return turns
}

function isTransient(error: unknown): boolean {
  return error instanceof StoreError && error.transient
}
