import { create } from '@bufbuild/protobuf'
import type { Receiver } from '../receivers/receiver.ts'
import { type ReceiveRequest, type ReceiveResponse, ReceiveResponseSchema } from './gen/skep/v1/skep_pb.ts'
import { ackOf, ackResultMessage, noteOf } from './messages.ts'
import type { Outbox } from './write-buffer.ts'

/** So many acks of one stream may wait for the store before no more of it is read. */
const MOST_WAITING = 20_000

/** Takes what a receiver says on its stream, and tells it how that went. It holds no more than the receiver reads, and the store saves. */
export class Taker {
  readonly #receiver: Receiver
  readonly #outbox: Outbox<ReceiveResponse>
  #waiting = 0
  #wake: (() => void) | null = null

  constructor(receiver: Receiver, outbox: Outbox<ReceiveResponse>) {
    this.#receiver = receiver
    this.#outbox = outbox
  }

  take({ acks, credits, notes }: ReceiveRequest): void {
    if (notes.length > 0) this.#receiver.note(notes.map(noteOf))
    if (credits > 0) this.#receiver.grant(credits)
    if (acks.length === 0) return
    this.#waiting += acks.length
    void this.#receiver.ack(acks.map(ackOf)).then(({ saved, results }) => {
      const message = create(ReceiveResponseSchema, { saved, results: results.map(ackResultMessage) })
      this.#outbox.push(message, 100 + results.length * 100)
      this.#waiting -= acks.length
      this.#wake?.()
    })
  }

  /** Resolves when more may be read. */
  async room(): Promise<void> {
    await this.#outbox.room()
    while (this.#waiting > MOST_WAITING) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = null
    }
  }
}
