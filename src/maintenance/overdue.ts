import { type Hint, mergeHints, type Notifier } from '../notifier/notifier.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type ChangeReply, PROMOTE_LIMIT, type Store } from '../store/store.ts'

/** Claims make due jobs ready by themselves; what they have left for this long is overdue. */
const GRACE_MS = 2_000
/** About how long it rests between two turns: shorter while there were overdue jobs. */
const REST_MS = 20_000
const SHORT_REST_MS = 5_000

/**
 * Makes overdue jobs of all queues of a space ready where no claim does: the queue is held, all slots of its workers are taken, or
 * it has no worker. So lists show them in the state in which they are counted; the counts need no help. It is a `promote`, which
 * keeps the due time, the rank and the place of a job that is due. Several processes may do it at once: a job that is ready already is passed over.
 */
export class OverdueJobs {
  readonly name = 'overdue'
  readonly isForFew = true
  readonly #parts: {
    readonly store: Store
    readonly notifier: Notifier
    readonly runtime: Runtime
    readonly space: string
  }
  #hasRested = false
  #underWay: Promise<number> | null = null

  constructor(parts: { store: Store; notifier: Notifier; runtime: Runtime; space: string }) {
    this.#parts = parts
  }

  concerns(): boolean {
    return false
  }

  /** Several workers of one process share a turn. */
  turn(signal?: AbortSignal): Promise<number> {
    this.#underWay ??= this.#turn(signal).finally(() => {
      this.#underWay = null
    })
    return this.#underWay
  }

  async #turn(signal?: AbortSignal): Promise<number> {
    const { store, runtime, space } = this.#parts
    if (!this.#hasRested) {
      // A program that starts has other things to do, and many that start together would all do this.
      this.#hasRested = true
      return SHORT_REST_MS * (0.5 + runtime.random())
    }
    const { queues, now } = await store.counts({ space })
    const late = queues.filter(({ overdue }) => overdue > 0)
    for (const { queue } of late) await this.#promote(queue, now - GRACE_MS, signal)
    return (late.length > 0 ? SHORT_REST_MS : REST_MS) * (0.5 + runtime.random())
  }

  async #promote(queue: string, before: number, signal?: AbortSignal): Promise<void> {
    const { store, notifier, space } = this.#parts
    let cursor: string | null = null
    do {
      const target = { queue, state: 'delayed', where: { before }, limit: PROMOTE_LIMIT, cursor } as const
      const reply: ChangeReply = await store.change({
        action: 'promote',
        space,
        target,
        failure: null,
        keepMs: 0,
      })
      // Workers that remember where their last search began have to look further back.
      const hints = reply.waiting.map((place): Hint => ({ kind: 'work', space, ...place }))
      if (hints.length > 0) notifier.publish(mergeHints(hints))
      cursor = reply.cursor
    } while (cursor !== null && !signal?.aborted)
  }
}
