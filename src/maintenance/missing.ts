import { reasonFailure } from '../core/failure.ts'
import type { Waiting } from '../core/waiting.ts'
import type { Runtime } from '../runtime.ts'
import type { ChangeReply, Store } from '../store.ts'

const PAGE = 500
const KEEP_MS = 30 * 86_400_000

/** Puts aside the jobs of queues that no worker on the list has handled for a while. */
export class MissingMarker {
  readonly #options: {
    readonly store: Store
    readonly runtime: Runtime
    readonly space: string
    readonly afterMs: number
  }
  readonly #unhandledSince = new Map<string, number>()

  constructor(options: { store: Store; runtime: Runtime; space: string; afterMs: number }) {
    this.#options = options
  }

  async turn(): Promise<void> {
    const { store, runtime, space, afterMs } = this.#options
    const { queues } = await store.counts({ space })
    const { workers } = await store.workers({ space })
    const handled = new Set(
      workers.filter((worker) => worker.life !== 'gone').flatMap((worker) => worker.queues),
    )
    const now = runtime.mono()
    for (const { queue, states } of queues) {
      if (handled.has(queue) || states.ready === 0) {
        this.#unhandledSince.delete(queue)
        continue
      }
      const since = this.#unhandledSince.get(queue) ?? now
      this.#unhandledSince.set(queue, since)
      if (now - since >= afterMs) await this.#mark(queue)
    }
  }

  async #mark(queue: string): Promise<void> {
    const { store, space } = this.#options
    const failure = JSON.stringify(reasonFailure('missing', `No worker handles queue "${queue}".`))
    let cursor: string | null = null
    do {
      const reply: ChangeReply = await store.change({
        action: 'miss',
        space,
        target: { queue, state: 'ready', limit: PAGE, cursor },
        failure,
        keepMs: KEEP_MS,
      })
      cursor = reply.cursor
    } while (cursor !== null)
  }
}

/**
 * Brings back the jobs that were put aside, now that somebody handles their queues. Tells where they wait now. There are
 * hardly ever any, so it asks for all queues in one call before it changes anything.
 */
export async function reviveMissing(
  store: Store,
  space: string,
  queues: readonly string[],
): Promise<readonly Waiting[]> {
  if (queues.length === 0) return []
  const counts = await store.counts({ space, queues })
  const revived: Waiting[] = []
  for (const { queue, states } of counts.queues) {
    if (states.missing > 0) revived.push(...(await reviveOf(store, space, queue)))
  }
  return revived
}

async function reviveOf(store: Store, space: string, queue: string): Promise<readonly Waiting[]> {
  const revived: Waiting[] = []
  let cursor: string | null = null
  do {
    const reply: ChangeReply = await store.change({
      action: 'redrive',
      space,
      target: { queue, state: 'missing', limit: PAGE, cursor },
      failure: null,
      keepMs: 0,
    })
    revived.push(...reply.waiting)
    cursor = reply.cursor
  } while (cursor !== null)
  return revived
}
