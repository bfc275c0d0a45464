import { assertPattern, parseKeyRanges, type RelayedJob, SkepError, toMs } from '../../index.ts'
import type { Caller } from '../../operations/operation.ts'
import type { ReceiverSummary } from '../../operations/schema/wire-types.ts'
import type { Ack, AckAnswer, Extended, Held, Note } from './ack.ts'
import type { Delivery } from './in-flight-job.ts'
import type { HubOptions } from './options.ts'
import { type PollOptions, waitForJobs } from './poll.ts'
import { type ConnectOptions, type Desk, type EndReason, Receiver } from './receiver.ts'
import { mayHave, Office } from './space-dispatcher.ts'

/** How often it looks after receivers. */
const SWEEP_MS = 1_000
/** How often it is asked whether a receiver's credential is still good. */
const RECHECK_MS = 10_000
/** An office without receivers is closed after this. */
const IDLE_MS = 60_000
/** A receiver that has had nothing for so long may have to make room for another. */
const EVICT_AFTER_MS = 60_000
/** Jobs, and bytes, in one message. */
const MOST_JOBS = 1_000
const MOST_BYTES = 1_048_576
const MOST_QUEUES = 1_000
const MOST_ACKS = 10_000
/** Jobs that the polls of one caller may hold, and that one of them may bring. */
const MOST_POLLED = 10_000
const MOST_AT_ONCE = 1_000
const MOST_WAIT_MS = 60_000
export const LEAST_LEASE_MS = 1_000
export const MOST_LEASE_MS = 3_600_000

/**
 * Everybody who streams jobs from this server. It gives each job to the least busy receiver that takes its queue, keeps the leases
 * while the streams live, takes acks in batches, and frees what a vanished receiver held at once. It knows no transport.
 */
export class ReceiverHub {
  readonly #options: HubOptions
  readonly #limits: {
    readonly receivers: number
    readonly perCaller: number
    readonly credits: number
    readonly receiverBytes: number
    readonly totalBytes: number
    readonly slowMs: number
    readonly ackGraceMs: number
    readonly lookMs: number
  }
  readonly #offices = new Map<string, Promise<Office>>()
  readonly #open = new Map<string, Office>()
  readonly #receivers = new Map<string, Receiver>()
  readonly #dirty = new Set<Receiver>()
  readonly #toNudge = new Set<Office>()
  readonly #officeOf = new WeakMap<Receiver, Office>()
  #bytes = 0
  #changes = 0
  #turn = 0
  #isFlushing = false
  #stopSweep: (() => void) | null = null
  #lookedAt = 0
  #recheckedAt = 0
  #isClosed = false

  constructor(options: HubOptions) {
    this.#options = options
    this.#limits = {
      receivers: options.receivers ?? 1_000,
      perCaller: options.receiversPerCaller ?? 200,
      credits: options.credits ?? 10_000,
      receiverBytes: options.receiverBytes ?? 16_777_216,
      totalBytes: options.totalBytes ?? 268_435_456,
      slowMs: toMs('slowAfter', options.slowAfter ?? '30s'),
      ackGraceMs: toMs('ackGrace', options.ackGrace ?? '10s'),
      lookMs: toMs('lookForQueues', options.lookForQueues ?? '2s'),
    }
  }

  // ── for transports ─────────────────────────────────────────────────────────────────────────────

  /**
   * Serves a receiver until it is closed. Rejects with `FORBIDDEN`, `NAME_INVALID`, `OPTION_INVALID`, `QUOTA_EXCEEDED` or
   * `TOO_MANY_REQUESTS` before anything has happened.
   */
  async connect(options: ConnectOptions): Promise<Receiver> {
    const { caller, queues, credits, keys } = options
    this.#check(caller, queues)
    const ranges = keys === undefined || keys === '' ? null : parseKeyRanges(keys)
    if (!Number.isInteger(credits) || credits < 1 || credits > this.#limits.credits) {
      throw new SkepError(
        'OPTION_INVALID',
        `credits is ${credits}; use a whole number from 1 to ${this.#limits.credits}.`,
      )
    }
    const office = await this.#office(caller.space)
    for (const queue of queues) {
      const refusal = queue.includes('*') ? null : office.refusal(queue)
      if (refusal !== null) throw refusal
    }
    this.#makePlace(caller)
    const maxBytes = Math.min(options.maxBytes ?? Infinity, this.#limits.receiverBytes)
    const receiver = new Receiver(
      this.#options.runtime.uuid(),
      { ...options, maxBytes, ranges, mostCredits: this.#limits.credits },
      this.#desk,
    )
    this.#receivers.set(receiver.id, receiver)
    this.#officeOf.set(receiver, office)
    office.join(receiver)
    this.#planSweep()
    return receiver
  }

  /** A receiver of this caller by its id, so that its acks and credits can come another way. */
  find(caller: Caller, id: string): Receiver | null {
    this.#checkScope(caller)
    const receiver = this.#receivers.get(id)
    return receiver && receiver.caller.space === caller.space && receiver.caller.name === caller.name
      ? receiver
      : null
  }

  /**
   * Takes some jobs, waiting for the first of them. They are leased until they are settled or extended; what is not goes to somebody
   * else. When `signal` aborts nothing is taken.
   */
  async poll(options: PollOptions): Promise<readonly RelayedJob<Delivery>[]> {
    const { caller } = options
    assertWhole('max', options.max, 1, MOST_AT_ONCE)
    assertWhole('waitMs', options.waitMs, 0, MOST_WAIT_MS)
    assertLease(options.leaseMs)
    let held = 0
    for (const receiver of this.#receivers.values()) {
      if (receiver.protocol === 'poll' && isSame(receiver.caller, caller)) held += receiver.unacked
    }
    if (held + options.max > MOST_POLLED) {
      throw new SkepError(
        'TOO_MANY_REQUESTS',
        `${caller.name} holds ${held} polled jobs. Settle some of them first.`,
      )
    }
    return waitForJobs(this, options, this.#options.runtime)
  }

  /** Gives a receiver nothing more. What it has it keeps until that is settled, or its lease ends. */
  retire(receiver: Receiver): void {
    receiver.isRetired = true
    receiver.out = []
    this.#officeOf.get(receiver)?.retire(receiver)
  }

  /** Ends jobs by their tokens, whoever handed them out. Never rejects because of a single one. */
  async settle(caller: Caller, acks: readonly Ack[]): Promise<AckAnswer> {
    this.#checkScope(caller)
    assertSize('acks', acks)
    return (await this.#office(caller.space)).ack(caller, acks)
  }

  /** Keeps polled jobs for so long from now. */
  async extend(caller: Caller, jobs: readonly Held[], leaseMs: number): Promise<readonly Extended[]> {
    this.#checkScope(caller)
    assertSize('jobs', jobs)
    assertLease(leaseMs)
    return (await this.#office(caller.space)).extend(caller, jobs, leaseMs)
  }

  /** How far jobs are, and lines for their logs. What is about somebody else's job is passed over. */
  async note(caller: Caller, notes: readonly Note[]): Promise<void> {
    this.#checkScope(caller)
    ;(await this.#office(caller.space)).note(caller, notes)
  }

  // ── for people ─────────────────────────────────────────────────────────────────────────────────

  /** Who streams jobs of a space. */
  async list(space: string): Promise<readonly ReceiverSummary[]> {
    return [...this.#receivers.values()]
      .filter((receiver) => receiver.caller.space === space)
      .map((receiver) => receiver.summary())
  }

  /** Ends a stream; its jobs are free at once. False if there is none. */
  async disconnect(space: string, id: string): Promise<boolean> {
    const receiver = this.#receivers.get(id)
    if (receiver?.caller.space !== space) return false
    this.#end(receiver, 'closed')
    return true
  }

  /** Takes no more jobs, lets receivers end theirs for the drain time, hands the rest back and ends all streams. */
  async close(options: Parameters<Office['stop']>[0] = {}): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#offices.values())
    // Acks still come, and are still answered.
    await Promise.all([...this.#open.values()].map((office) => office.stop(options)))
    this.#open.clear()
    this.#stopSweep?.()
    for (const receiver of this.#receivers.values()) this.#end(receiver, 'stopped')
  }

  // ── who may, and how many ──────────────────────────────────────────────────────────────────────

  #checkScope(caller: Caller): void {
    if (caller.scopes.has('work')) return
    throw new SkepError('FORBIDDEN', `${caller.name} may not take jobs: that needs the scope work.`, {
      facts: { scope: 'work' },
    })
  }

  #check(caller: Caller, queues: readonly string[]): void {
    if (this.#isClosed) throw new SkepError('CLOSED', 'This server stops. Ask another one.')
    this.#checkScope(caller)
    if (queues.length === 0 || queues.length > MOST_QUEUES) {
      throw new SkepError('OPTION_INVALID', `Name 1 to ${MOST_QUEUES} queues, or patterns of them.`)
    }
    for (const queue of queues) {
      assertPattern('Queue', queue)
      if (!queue.includes('*') && !mayHave(caller, queue)) {
        throw new SkepError('FORBIDDEN', `${caller.name} may not take jobs of queue "${queue}".`, {
          facts: { queue },
        })
      }
    }
  }

  /** Refuses one receiver too many, unless another has had nothing for long: that one has to go. */
  #makePlace(caller: Caller): void {
    const { receivers, perCaller } = this.#limits
    const all = [...this.#receivers.values()].filter((receiver) => !receiver.isRetired)
    const { space } = caller
    this.#options.assertReceiver?.(space, all.filter((receiver) => receiver.caller.space === space).length)
    const own = all.filter((receiver) => isSame(receiver.caller, caller))
    const crowd = own.length >= perCaller ? own : all.length >= receivers ? all : null
    if (crowd === null) return
    const before = this.#options.runtime.mono() - EVICT_AFTER_MS
    const idle = crowd
      .filter((receiver) => receiver.unacked === 0 && receiver.activeAt <= before)
      .sort((a, b) => a.activeAt - b.activeAt)[0]
    if (idle) {
      this.#end(idle, 'evicted')
      return
    }
    throw new SkepError(
      'TOO_MANY_REQUESTS',
      crowd === own
        ? `${caller.name} has ${own.length} receivers, which is as many as one caller may have. Close some of them.`
        : `This server has ${all.length} receivers, which is as many as it takes. Ask another one, or later.`,
      { facts: { receivers: crowd.length } },
    )
  }

  #office(space: string): Promise<Office> {
    const known = this.#offices.get(space)
    if (known) return known
    const made = this.#makeOffice(space)
    this.#offices.set(space, made)
    made.catch(() => this.#offices.delete(space))
    return made
  }

  async #makeOffice(space: string): Promise<Office> {
    const skep = await this.#options.skepOf(space)
    const { runtime, logger, queues, worker, inFlight } = this.#options
    const mayHold = (): number => inFlight?.(space) ?? Infinity
    let held = 0
    const office: Office = new Office({
      space,
      skep,
      runtime,
      logger,
      ...(queues ? { queues } : {}),
      ...(worker ? { worker } : {}),
      line: {
        changes: () => this.#changes,
        left: () => (this.#bytes >= this.#limits.totalBytes ? 0 : mayHold() - held),
        nextTurn: () => ++this.#turn,
        onGiven: ({ bytes }) => {
          held += 1
          this.#bytes += bytes
        },
      },
      onRoom: (receiver) => this.#desk.hasRoom(receiver),
      onOver: (delivery) => {
        const wasFull = held >= mayHold()
        held -= 1
        this.#over(delivery)
        if (wasFull) this.#wake([office])
      },
      onStopped: () => this.#forget(space, office),
      onStop: (delivery, why, detail) => {
        delivery.stopReason = detail
        const { receiver, job } = delivery
        receiver.stops.push({ id: job.id, token: job.token, reason: why, detail })
        this.#desk.flush(receiver)
      },
    })
    this.#open.set(space, office)
    this.#planSweep()
    return office
  }

  /** Its receivers connect again, to an office that works. */
  #forget(space: string, office: Office): void {
    if (this.#open.get(space) === office) {
      this.#open.delete(space)
      this.#offices.delete(space)
    }
    if (!this.#isClosed) for (const receiver of office.receivers) this.#end(receiver, 'stopped')
  }

  // ── what receivers ask for ─────────────────────────────────────────────────────────────────────

  readonly #desk: Desk = {
    ack: (caller, acks) =>
      this.settle(caller, acks).catch(
        (): AckAnswer => ({ saved: 0, results: acks.map(({ id }) => ({ id, status: 'unknown' })) }),
      ),
    note: (caller, notes) => void this.note(caller, notes).catch(() => {}),
    hasRoom: (receiver) => {
      this.#changes++
      const office = this.#officeOf.get(receiver)
      if (office) this.#toNudge.add(office)
      this.#plan()
    },
    flush: (receiver) => {
      this.#dirty.add(receiver)
      this.#plan()
    },
    leave: (receiver, reason) => this.#leave(receiver, reason),
    now: () => this.#options.runtime.now(),
    mono: () => this.#options.runtime.mono(),
  }

  #over(delivery: Delivery): void {
    const wasFull = this.#bytes >= this.#limits.totalBytes
    this.#bytes -= delivery.bytes
    if (wasFull) this.#wake(this.#open.values())
    const { receiver } = delivery
    this.#changes++
    if (receiver.isRetired && receiver.unacked === 0) this.#leave(receiver, 'done')
  }

  /** What was full has room again: others may have waited for it. */
  #wake(offices: Iterable<Office>): void {
    for (const office of offices) this.#toNudge.add(office)
    this.#plan()
  }

  /** Sends, at the end of this turn of the event loop, what has gathered in it. */
  #plan(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    this.#options.runtime.defer(() => {
      this.#isFlushing = false
      const offices = [...this.#toNudge]
      this.#toNudge.clear()
      for (const office of offices) office.nudge()
      const receivers = [...this.#dirty]
      this.#dirty.clear()
      for (const receiver of receivers) {
        receiver.tellStops()
        this.#send(receiver)
      }
    })
  }

  #send(receiver: Receiver): void {
    while (!receiver.isClosed && receiver.blockedSince === null && receiver.out.length > 0) {
      const batch: Delivery[] = []
      let bytes = 0
      let taken = 0
      for (const delivery of receiver.out) {
        if (batch.length >= MOST_JOBS || bytes >= MOST_BYTES) break
        taken++
        if (!delivery.job.isOpen) continue
        batch.push(delivery)
        bytes += delivery.bytes
      }
      receiver.out = taken === receiver.out.length ? [] : receiver.out.slice(taken)
      if (batch.length > 0) receiver.send(batch)
    }
  }

  #leave(receiver: Receiver, reason: EndReason): void {
    if (receiver.isClosed) return
    receiver.isClosed = true
    receiver.out = []
    this.#receivers.delete(receiver.id)
    this.#dirty.delete(receiver)
    this.#officeOf.get(receiver)?.leave(receiver, reason)
  }

  #end(receiver: Receiver, reason: EndReason): void {
    if (receiver.isClosed) return
    this.#leave(receiver, reason)
    receiver.end(reason)
  }

  // ── from time to time ──────────────────────────────────────────────────────────────────────────

  #planSweep(): void {
    if (this.#stopSweep !== null) return
    const { runtime } = this.#options
    this.#stopSweep = runtime.timer(
      SWEEP_MS,
      () => {
        this.#stopSweep = null
        this.#sweep()
        if (this.#open.size > 0) this.#planSweep()
      },
      { background: true },
    )
  }

  /** Ends the stream of one whose token was revoked, or is over. */
  async #recheck(receiver: Receiver): Promise<void> {
    const isGood = await receiver.caller.isStillGood?.()
    if (isGood === false) this.#end(receiver, 'closed')
  }

  #sweep(): void {
    const now = this.#options.runtime.mono()
    const { slowMs, ackGraceMs, lookMs } = this.#limits
    for (const receiver of this.#receivers.values()) {
      if (receiver.blockedSince !== null && now - receiver.blockedSince >= slowMs) this.#end(receiver, 'slow')
    }
    if (now - this.#recheckedAt >= RECHECK_MS) {
      this.#recheckedAt = now
      for (const receiver of this.#receivers.values()) void this.#recheck(receiver)
    }
    const isLook = now - this.#lookedAt >= lookMs
    if (isLook) this.#lookedAt = now
    for (const [space, office] of this.#open) {
      office.sweep(ackGraceMs)
      if (isLook) void office.look()
      if (!this.#isClosed && !office.isBusy && now - office.idleSince >= IDLE_MS) {
        this.#open.delete(space)
        this.#offices.delete(space)
        void office.stop()
      }
    }
  }
}

function isSame(a: Caller, b: Caller): boolean {
  return a.name === b.name && a.space === b.space
}

function assertLease(leaseMs: number): void {
  assertWhole('leaseMs', leaseMs, LEAST_LEASE_MS, MOST_LEASE_MS)
}

function assertWhole(what: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return
  throw new SkepError('OPTION_INVALID', `${what} must be a whole number from ${least} to ${most}.`, {
    facts: { path: what },
  })
}

function assertSize(what: string, items: readonly unknown[]): void {
  if (items.length <= MOST_ACKS) return
  throw new SkepError('BATCH_TOO_LARGE', `${items.length} ${what} in one call; ${MOST_ACKS} is the most.`, {
    facts: { limit: MOST_ACKS },
  })
}
