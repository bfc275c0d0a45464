import type { RelayedJob } from '../../index.ts'
import type { AckBatch } from './ack-batch.ts'
import type { Receiver } from './receiver.ts'

/** A job that a receiver has. The deliveries of a receiver are a chain, because a set that never rests keeps what it held. */
export class Delivery {
  readonly job: RelayedJob<Delivery>
  readonly receiver: Receiver
  readonly bytes: number
  /** When it was given to the transport; 0: not yet. */
  sentAt = 0
  /** Until when it must have been settled or extended, by the monotonic clock; null: as long as its stream lives. */
  until: number | null = null
  /** Why it shall stop, once somebody said so. */
  stopReason: string | null = null
  /** Where the store's word on its end goes. */
  batch: AckBatch | null = null
  index = 0
  before: Delivery | null = null
  after: Delivery | null = null

  constructor(job: RelayedJob<Delivery>, receiver: Receiver) {
    this.job = job
    this.receiver = receiver
    this.bytes = job.bytes
    job.holder = this
  }

  get isSent(): boolean {
    return this.sentAt > 0
  }
}
