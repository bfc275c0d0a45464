import {
  type ForeignEnd,
  type KeyRange,
  matchesPattern,
  messageOf,
  printKeyRange,
  type Relay,
  type RelayedJob,
  type RelayStop,
  type Skep,
  type SkepError,
} from '../../index.ts'
import type { Caller } from '../../operations/operation.ts'
import { type Ack, type AckAnswer, type Extended, endOf, type Held, type Note } from './ack.ts'
import { AckBatch } from './ack-batch.ts'
import type { Delivery } from './in-flight-job.ts'
import type { HubOptions } from './options.ts'
import type { EndReason, Receiver } from './receiver.ts'
import { Line, type LineEnv } from './receiver-queue.ts'

/** A queue that nobody takes from any more is served so long still: a poll comes again. */
const LINGER_MS = 30_000
/** Acks for jobs that another server handed out are tried again after this while the store is away. */
const AGAIN_MS = 500

export interface OfficeEnv extends Pick<HubOptions, 'runtime' | 'logger' | 'queues' | 'worker'> {
  readonly space: string
  readonly skep: Skep
  readonly line: LineEnv
  /** A receiver may have more room than before. */
  readonly onRoom: (receiver: Receiver) => void
  readonly onStop: (delivery: Delivery, why: RelayStop, detail: string) => void
  /** Its relay has stopped, by an order or because it was told to here. */
  readonly onStopped: () => void
  /** Bytes that a receiver holds no longer. */
  readonly onOver: (delivery: Delivery) => void
}

/** The receivers of one space, the queues that they take from, and the relay that claims for them. */
export class Office {
  readonly receivers: Set<Receiver> = new Set()
  /** Since when it has had nothing to do, by the monotonic clock. */
  idleSince: number
  readonly #env: OfficeEnv
  readonly #relay: Relay<Delivery>
  readonly #lines = new Map<string, Line>()
  readonly #batches = new Set<AckBatch>()
  #isLooking = false

  constructor(env: OfficeEnv) {
    this.#env = env
    this.idleSince = env.runtime.mono()
    const policies = new Map(env.queues?.map(({ name, policy }) => [name, policy]))
    this.#relay = env.skep.workers.relay<Delivery>({
      ...env.worker,
      policyOf: (queue) => policies.get(queue) ?? null,
      slots: () => this.#slots(),
      isSent: (job) => job.holder?.isSent ?? false,
      onStop: (job, why, detail) => {
        if (job.holder) env.onStop(job.holder, why, detail)
      },
      onOver: (job) => this.#over(job),
      onStopped: env.onStopped,
      onWord: (job, word) => {
        const delivery = job.holder
        delivery?.batch?.word(delivery.index, word)
      },
    })
  }

  get isBusy(): boolean {
    return this.receivers.size > 0 || this.#batches.size > 0
  }

  // ── receivers and their queues ─────────────────────────────────────────────────────────────────

  /** Why jobs of a queue cannot be given to receivers; null if they can. */
  refusal(queue: string): SkepError | null {
    return this.#relay.refusal(queue)
  }

  /** Serves a receiver. The queues that it names are served at once, those that fit its patterns as soon as they are found. */
  join(receiver: Receiver): void {
    this.receivers.add(receiver)
    for (const queue of receiver.queues) if (!queue.includes('*')) this.#serve(receiver, queue)
    if (receiver.queues.some((queue) => queue.includes('*'))) void this.look()
  }

  /** Ends jobs of a receiver that is no longer there, and serves it no more. */
  leave(receiver: Receiver, reason: EndReason): void {
    this.receivers.delete(receiver)
    this.#part(receiver)
    const isCounted = reason !== 'done' && reason !== 'stopped'
    this.#relay.end(
      receiver.deliveries().map(({ job, isSent }) => ({
        job,
        end:
          isSent && isCounted
            ? { kind: 'lost', reason: `The receiver ${receiver.name} ${WHY[reason]} before the job ended.` }
            : { kind: 'back', ran: isSent },
      })),
    )
  }

  /** Gives a receiver nothing more. What has been sent it keeps. */
  retire(receiver: Receiver): void {
    this.#part(receiver)
    const unsent = receiver.deliveries().filter(({ isSent }) => !isSent)
    this.#relay.end(unsent.map(({ job }) => ({ job, end: { kind: 'back', ran: false } })))
  }

  #part(receiver: Receiver): void {
    for (const line of receiver.lines) {
      line.receivers.delete(receiver)
      if (line.receivers.size === 0) line.emptySince = this.#env.runtime.mono()
    }
    receiver.lines.clear()
  }

  /** Finds the queues that fit patterns. */
  async look(): Promise<void> {
    const seekers = [...this.receivers].filter(
      ({ queues, isRetired }) => !isRetired && queues.some((queue) => queue.includes('*')),
    )
    if (seekers.length === 0 || this.#isLooking) return
    this.#isLooking = true
    try {
      const counts = await this.#env.skep.queues.list()
      for (const receiver of seekers) {
        if (receiver.isClosed || receiver.isRetired) continue
        for (const { queue } of counts) {
          if (receiver.queues.some((pattern) => matchesPattern(pattern, queue))) this.#serve(receiver, queue)
        }
      }
    } catch (error) {
      this.#env.logger.debug(`The queues for receivers could not be looked up: ${messageOf(error)}`)
    } finally {
      this.#isLooking = false
    }
  }

  #serve(receiver: Receiver, queue: string): void {
    if (!mayHave(receiver.caller, queue) || this.#relay.refusal(queue) !== null) return
    for (const range of receiver.ranges ?? [null]) this.#serveFrom(receiver, queue, range)
  }

  #serveFrom(receiver: Receiver, queue: string, range: KeyRange | null): void {
    const key = `${queue}\n${range === null ? '' : printKeyRange(range)}`
    let line = this.#lines.get(key)
    if (line === undefined) {
      line = new Line(queue, range, this.#env.line)
      this.#lines.set(key, line)
    }
    if (line.receivers.has(receiver)) return
    line.receivers.add(receiver)
    line.emptySince = null
    receiver.lines.add(line)
    if (line.isOpen) this.#env.onRoom(receiver)
    else void this.#open(line)
  }

  async #open(line: Line): Promise<void> {
    if (line.isOpening) return
    line.isOpening = true
    try {
      await this.#relay.open(line)
      line.isOpen = true
      for (const receiver of line.receivers) this.#env.onRoom(receiver)
    } catch (error) {
      this.#env.logger.warn(`Queue "${line.queue}" cannot be served to receivers yet: ${messageOf(error)}`)
    } finally {
      line.isOpening = false
    }
  }

  #slots(): number {
    let all = 0
    for (const receiver of this.receivers) all += receiver.credits
    return Math.min(all, 1_000_000)
  }

  /** There may be room: jobs that wait are given out. */
  nudge(): void {
    for (const line of this.#lines.values()) line.unpark()
    this.#relay.nudge()
  }

  // ── what receivers say ─────────────────────────────────────────────────────────────────────────

  ack(caller: Caller, acks: readonly Ack[]): Promise<AckAnswer> {
    const { runtime } = this.#env
    const mono = runtime.mono()
    const batch = new AckBatch(acks, mono)
    const ends: { job: RelayedJob<Delivery>; end: ReturnType<typeof endOf> }[] = []
    const foreign: ForeignEnd[] = []
    const now = runtime.now()
    const may = remembering(caller)
    for (let index = 0; index < acks.length; index++) {
      const ack = acks[index] as Ack
      const end = endOf(ack)
      const delivery = this.#find(may, ack)
      if (delivery === null || delivery.batch !== null) {
        const { id, token } = ack
        const onWord: ForeignEnd['onWord'] = (word) => batch.word(index, word)
        foreign.push({ id, token, end, onWord, mayEnd: may })
        continue
      }
      delivery.batch = batch
      delivery.index = index
      const { receiver } = delivery
      receiver.lastAckAt = now
      receiver.activeAt = mono
      if (end.kind === 'done') receiver.acked++
      else receiver.nacked++
      ends.push({ job: delivery.job, end })
    }
    if (batch.isOpen) this.#batches.add(batch)
    if (ends.length > 0) this.#relay.end(ends)
    if (foreign.length > 0) void this.#endForeign(batch, foreign)
    return batch.answer
  }

  note(caller: Caller, notes: readonly Note[]): void {
    const may = remembering(caller)
    for (const note of notes) {
      const delivery = this.#find(may, note)
      if (delivery === null) continue
      const { progress, progressNote, lines = [] } = note
      if (progress !== undefined) this.#relay.progress(delivery.job, progress, progressNote ?? null)
      for (const { level, message, fields } of lines) this.#relay.log(delivery.job, level, message, fields)
    }
  }

  async extend(caller: Caller, jobs: readonly Held[], leaseMs: number): Promise<readonly Extended[]> {
    const until = this.#env.runtime.mono() + leaseMs
    const others: Held[] = []
    const results = new Map<Held, Extended>()
    const may = remembering(caller)
    for (const held of jobs) {
      const delivery = this.#find(may, held)
      if (delivery === null) {
        others.push(held)
        continue
      }
      if (delivery.until !== null) delivery.until = until
      results.set(held, { id: held.id, status: 'ok', cancelReason: delivery.stopReason })
    }
    if (others.length > 0) {
      const standings = await this.#relay.standing(others, may)
      for (const [index, held] of others.entries()) {
        const standing = standings[index] ?? 'lost'
        results.set(held, {
          id: held.id,
          status: standing === 'held' ? 'unknown' : standing,
          cancelReason: null,
        })
      }
    }
    return jobs.map((held) => results.get(held) as Extended)
  }

  #find(may: (queue: string) => boolean, { id, token }: Held): Delivery | null {
    const job = this.#relay.find(id)
    if (!job?.holder || !job.isOpen || job.token !== token || !may(job.queue)) return null
    return job.holder
  }

  /** Goes on until the store answers, or the batch has been given up: then the ack has to come again. */
  async #endForeign(batch: AckBatch, ends: readonly ForeignEnd[]): Promise<void> {
    try {
      await this.#relay.endForeign(ends)
    } catch (error) {
      this.#env.logger.debug(
        `Acks of jobs that are not held here could not be looked up: ${messageOf(error)}`,
      )
      if (batch.isOpen) {
        this.#env.runtime.timer(AGAIN_MS, () => void this.#endForeign(batch, ends), { background: true })
      }
    }
  }

  #over(job: RelayedJob<Delivery>): void {
    const delivery = job.holder
    if (delivery === null) return
    delivery.receiver.drop(delivery)
    this.#env.onOver(delivery)
  }

  // ── from time to time ──────────────────────────────────────────────────────────────────────────

  /** Answers acks whose time is up, takes back what was not settled in time, and lets go of queues that nobody takes from. */
  sweep(ackGraceMs: number): void {
    const { runtime } = this.#env
    const now = runtime.mono()
    for (const batch of this.#batches) {
      if (batch.isOpen && now - batch.since >= ackGraceMs) batch.giveUp()
      if (!batch.isOpen) this.#batches.delete(batch)
    }
    for (const receiver of this.receivers) if (receiver.protocol === 'poll') this.#takeOverdue(receiver, now)
    for (const [key, line] of this.#lines) {
      if (line.emptySince === null) {
        if (!line.isOpen) void this.#open(line)
      } else if (now - line.emptySince >= LINGER_MS) this.#close(key, line)
    }
    if (this.isBusy) this.idleSince = now
  }

  #takeOverdue(receiver: Receiver, now: number): void {
    const overdue = receiver.deliveries().filter(({ until }) => until !== null && until <= now)
    if (overdue.length === 0) return
    this.#relay.end(
      overdue.map(({ job }) => ({
        job,
        end: { kind: 'lost', reason: 'It was neither settled nor extended before its lease ended.' },
      })),
    )
  }

  #close(key: string, line: Line): void {
    this.#lines.delete(key)
    const parked = line.parked.splice(0)
    this.#relay.end(parked.map((job) => ({ job, end: { kind: 'back', ran: false } })))
    this.#relay.close(line)
  }

  /** Takes no more jobs, lets receivers end theirs, and hands the rest back. */
  async stop(options: Parameters<Relay['stop']>[0] = {}): Promise<void> {
    await this.#relay.stop(options)
    for (const batch of this.#batches) batch.giveUp()
  }
}

const WHY: Readonly<Record<EndReason, string>> = {
  gone: 'vanished',
  slow: 'took nothing for too long',
  closed: 'was disconnected',
  evicted: 'was disconnected to make room for others',
  done: 'went',
  stopped: 'was told that the server stops',
}

/** Whether a caller may have jobs of a queue. */
export function mayHave({ queues }: Caller, queue: string): boolean {
  return queues.some((pattern) => matchesPattern(pattern, queue))
}

/** The same for many jobs one after the other, which are mostly of one queue. */
function remembering(caller: Caller): (queue: string) => boolean {
  let last = ''
  let may = false
  return (queue) => {
    if (queue !== last) {
      last = queue
      may = mayHave(caller, queue)
    }
    return may
  }
}
