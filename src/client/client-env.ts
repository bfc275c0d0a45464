import type { Emitter } from '../runtime/emitter.ts'
import type { Durability } from '../store/store.ts'
import type { WorkerEvents } from '../worker/events.ts'
import type { Prepare } from './enqueue/enqueue.ts'
import type { HoldEnv } from './queues/holds.ts'

/** What the groups of calls of one {@link Skep} share: `skep.jobs`, `skep.queues` and the others. */
export interface ClientEnv extends HoldEnv {
  readonly payloadBytes: number
  readonly prepare: Prepare
  /** Events of the workers of this process. */
  readonly events: Emitter<WorkerEvents>
  /** Checks the store once; rejects when the client is closed. */
  readonly ready: () => Promise<Durability>
}
