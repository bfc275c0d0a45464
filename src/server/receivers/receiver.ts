import type { KeyRange, RelayedJob } from '../../index.ts'
import type { Caller } from '../../operations/operation.ts'
import type { ReceiverSummary } from '../../operations/schema/wire-types.ts'
import type { Ack, AckAnswer, Note, Stop } from './ack.ts'
import { Delivery } from './in-flight-job.ts'
import type { Line } from './receiver-queue.ts'

/** Letters of a name. */
const MOST_NAME = 128

/** How a receiver's stream ended, which decides what becomes of its jobs. */
export type EndReason =
  /** It vanished: its jobs are lost, and that counts. */
  | 'gone'
  /** It took nothing for too long: the same. */
  | 'slow'
  /** Somebody ended it, or made room for others: the same. */
  | 'closed'
  | 'evicted'
  /** It said that it goes: its jobs go back, and nothing is counted but their starts. */
  | 'done'
  /** The server stops: the same. */
  | 'stopped'

/** The way to a receiver. None of these may throw; what does ends the receiver. */
export interface Transport {
  /**
   * Sends jobs. False: it can take no more until {@link Receiver.drained} is called. A promise: until that resolves; if it
   * rejects, the receiver is gone.
   */
  send(jobs: readonly RelayedJob<Delivery>[]): boolean | Promise<unknown>
  /** Tells that jobs shall end. */
  stop(stops: readonly Stop[]): void
  /** The hub has ended the receiver. Not called when its transport did. */
  end(reason: EndReason): void
}

export interface ConnectOptions extends Transport {
  readonly caller: Caller
  /** How it is called in the dashboard. @default the caller's */
  readonly name?: string
  /** Names, or patterns in which `*` stands for anything. */
  readonly queues: readonly string[]
  /** Only lanes whose keys are in this range, such as `-80` or `80-`, or in one of several: `-40,c0-`. */
  readonly keys?: string
  /** How many jobs it may hold. Each ack makes room for another. */
  readonly credits: number
  /** How many bytes of jobs it may hold; one more job than that is possible. @default 16 MiB */
  readonly maxBytes?: number
  readonly protocol: ReceiverSummary['protocol']
}

export interface ResolvedConnectOptions extends ConnectOptions {
  readonly maxBytes: number
  readonly ranges: readonly KeyRange[] | null
  /** More than this it cannot be granted. */
  readonly mostCredits: number
}

/** What a receiver asks of those who made it. */
export interface Desk {
  ack(caller: Caller, acks: readonly Ack[]): Promise<AckAnswer>
  note(caller: Caller, notes: readonly Note[]): void
  /** There may be room for more. */
  hasRoom(receiver: Receiver): void
  flush(receiver: Receiver): void
  leave(receiver: Receiver, reason: EndReason): void
  now(): number
  mono(): number
}

/** One who streams jobs: how much he may have, what he has, and the way to him. */
export class Receiver {
  readonly id: string
  readonly name: string
  readonly caller: Caller
  readonly queues: readonly string[]
  readonly keys: string | null
  /** The same, read; null: all keys. */
  readonly ranges: readonly KeyRange[] | null
  readonly protocol: ReceiverSummary['protocol']
  readonly connectedAt: number
  /** The queues it is served from. */
  readonly lines: Set<Line> = new Set()
  /** Jobs that are his, in the order in which they came, and not yet on their way. */
  out: Delivery[] = []
  stops: Stop[] = []
  unacked = 0
  unackedBytes = 0
  acked = 0
  nacked = 0
  lastAckAt: number | null = null
  /** When it last acked, took or asked for something, by the monotonic clock. */
  activeAt: number
  /** When its transport last said that it can take no more; null while it can. */
  blockedSince: number | null = null
  /** When it last got a job, counted in jobs: among equals it is the turn of the one who waited longest. */
  turn = 0
  /** It gets nothing more, and is there only for what it has. */
  isRetired = false
  isClosed = false
  #credits: number
  readonly #mostCredits: number
  readonly #maxBytes: number
  readonly #transport: Transport
  readonly #desk: Desk
  #first: Delivery | null = null

  constructor(id: string, options: ResolvedConnectOptions, desk: Desk) {
    const { caller, name = caller.name, queues, keys = null, credits, maxBytes, protocol } = options
    this.id = id
    this.name = name.replace(/\p{C}/gu, ' ').slice(0, MOST_NAME)
    this.caller = caller
    this.queues = queues
    this.keys = keys === '' ? null : keys
    this.ranges = options.ranges
    this.protocol = protocol
    this.#credits = credits
    this.#mostCredits = options.mostCredits
    this.#maxBytes = maxBytes
    this.#transport = options
    this.#desk = desk
    this.connectedAt = desk.now()
    this.activeAt = desk.mono()
  }

  get credits(): number {
    return this.#credits
  }

  /** How many more jobs it takes now. */
  get room(): number {
    if (this.isClosed || this.isRetired || this.blockedSince !== null || this.unackedBytes >= this.#maxBytes)
      return 0
    return Math.max(0, this.#credits - this.unacked)
  }

  /** How busy it is: its share of what it may have. */
  get load(): number {
    return this.unacked / this.#credits
  }

  // ── what a transport calls ─────────────────────────────────────────────────────────────────────

  /** Ends jobs. Answers when the store has had its word on all of them, or with `unknown` after a grace. Never rejects. */
  ack(acks: readonly Ack[]): Promise<AckAnswer> {
    return this.#desk.ack(this.caller, acks)
  }

  /** Sets how many jobs it may hold from now on. What it has beyond that it keeps. */
  grant(credits: number): void {
    this.#credits = Math.min(this.#mostCredits, Math.max(1, Math.floor(credits)))
    this.activeAt = this.#desk.mono()
    this.#desk.hasRoom(this)
  }

  /** How far jobs are, and lines for their logs. */
  note(notes: readonly Note[]): void {
    this.#desk.note(this.caller, notes)
  }

  /** Its transport takes jobs again. */
  drained(): void {
    if (this.blockedSince === null || this.isClosed) return
    this.blockedSince = null
    this.activeAt = this.#desk.mono()
    this.#desk.flush(this)
    this.#desk.hasRoom(this)
  }

  /** Its transport has ended. `gone`: it vanished. `done`: it said that it goes. */
  close(reason: 'gone' | 'done' = 'gone'): void {
    this.#desk.leave(this, reason)
  }

  // ── what the hub calls ─────────────────────────────────────────────────────────────────────────

  /** Gives it a job. It goes out at the end of this turn of the event loop. */
  give(job: RelayedJob<Delivery>, turn: number): Delivery {
    const delivery = new Delivery(job, this)
    delivery.after = this.#first
    if (this.#first) this.#first.before = delivery
    this.#first = delivery
    this.unacked++
    this.unackedBytes += delivery.bytes
    this.turn = turn
    this.out.push(delivery)
    this.#desk.flush(this)
    return delivery
  }

  /** It has this one no longer. */
  drop(delivery: Delivery): void {
    const { before, after } = delivery
    if (before) before.after = after
    else if (this.#first === delivery) this.#first = after
    else return
    if (after) after.before = before
    delivery.before = null
    delivery.after = null
    this.unacked--
    this.unackedBytes -= delivery.bytes
  }

  /** All that it has. */
  deliveries(): Delivery[] {
    const all: Delivery[] = []
    for (let one = this.#first; one !== null; one = one.after) all.push(one)
    return all
  }

  /** Hands jobs to the transport; false when that takes no more for now. */
  send(deliveries: readonly Delivery[]): boolean {
    const now = this.#desk.now()
    for (const delivery of deliveries) delivery.sentAt = now
    try {
      const answer = this.#transport.send(deliveries.map(({ job }) => job))
      if (answer === true) return true
      this.blockedSince = this.#desk.mono()
      if (answer !== false) {
        answer.then(
          () => this.drained(),
          () => this.close(),
        )
      }
    } catch {
      this.close()
    }
    return false
  }

  tellStops(): void {
    if (this.isClosed || this.stops.length === 0) return
    const stops = this.stops
    this.stops = []
    try {
      this.#transport.stop(stops)
    } catch {
      this.close()
    }
  }

  /** Ends its transport. */
  end(reason: EndReason): void {
    try {
      this.#transport.end(reason)
    } catch {
      // It has ended already.
    }
  }

  /** When the job was sent that it has had for the longest time; null: it has none. */
  get #oldestAt(): number | null {
    let oldest = this.#first
    while (oldest?.after) oldest = oldest.after
    return oldest?.isSent ? oldest.sentAt : null
  }

  summary(): ReceiverSummary {
    const oldestAt = this.#oldestAt
    return {
      id: this.id,
      name: this.name,
      address: this.caller.address ?? '',
      protocol: this.protocol,
      queues: this.queues,
      keys: this.keys,
      credits: this.#credits,
      unacked: this.unacked,
      unackedBytes: this.unackedBytes,
      oldestAt: oldestAt === null ? null : new Date(oldestAt).toISOString(),
      acked: this.acked,
      nacked: this.nacked,
      connectedAt: new Date(this.connectedAt).toISOString(),
      lastAckAt: this.lastAckAt === null ? null : new Date(this.lastAckAt).toISOString(),
    }
  }
}
