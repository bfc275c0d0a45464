import { messageOf } from '../core/errors.ts'
import type { ClaimedJob } from '../core/jobs/job.ts'
import { covers, type HoldTarget } from '../core/lanes/holds.ts'
import { DEFAULT_LANE } from '../core/lanes/lanes.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { RecordStore, StoredRecord } from '../store/records.ts'

/** What a worker is told is a record of this kind, with the worker's id as its own. It is removed when it is done. */
export const ORDER_KIND = 'order'

/** `quiet`: takes no more jobs. `stop`: ends. `none`: takes back a quiet. */
export const ORDERS = ['quiet', 'stop', 'none'] as const
export type Order = (typeof ORDERS)[number]

/** Longer than any worker takes to hear of it, and then nobody is left who could. */
export const ORDER_KEPT_MS = 86_400_000

export interface OrderBody {
  readonly order: Order
  readonly by: string
  readonly at: number
}

export function readOrder(body: string): OrderBody | null {
  try {
    const read = JSON.parse(body) as Partial<OrderBody> | null
    if (!ORDERS.includes(read?.order as Order)) return null
    return { order: read?.order as Order, by: String(read?.by ?? ''), at: Number(read?.at ?? 0) }
  } catch {
    return null
  }
}

/** A recall of which somebody waits to hear that it was carried out is a record beside the order, with an id of this shape. */
export function recallId(workerId: string, callId: string): string {
  return `${workerId}/${callId}`
}

export function readRecall(body: string): RecallTarget | null {
  try {
    const { space, queue, lane } = JSON.parse(body) as Partial<RecallTarget>
    const isTarget = [space, queue, lane].every((text) => text === null || typeof text === 'string')
    return isTarget ? ({ space, queue, lane } as RecallTarget) : null
  } catch {
    return null
  }
}

export interface OrderKeeperParts {
  readonly store: Pick<RecordStore, 'listRecords' | 'putRecords' | 'removeRecords'>
  readonly runtime: Runtime
  readonly logger: Logger
  readonly space: string
  readonly workerId: string
  /** Does what was said. When it resolves, it is done, or will be without fail. */
  readonly obey: (order: OrderBody) => Promise<void>
  /** Hands back what has not started of a target. When it returns, nothing of what was taken before starts any more. */
  readonly recall: (target: RecallTarget) => void
}

/** Looks what a worker was told, and says when it has been done. Whatever goes wrong here disturbs no job. */
export class OrderKeeper {
  readonly #parts: OrderKeeperParts
  #looking: Promise<void> | null = null
  #isAskedAgain = false

  constructor(parts: OrderKeeperParts) {
    this.#parts = parts
  }

  /** Never rejects. Whoever calls it while it looks has it look once more: what he knows of may be newer. */
  look(): Promise<void> {
    this.#isAskedAgain = this.#looking !== null
    this.#looking ??= this.#lookAll().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async #lookAll(): Promise<void> {
    do {
      this.#isAskedAgain = false
      try {
        await this.#look()
      } catch (error) {
        this.#parts.logger.debug(`A worker could not look what it was told: ${messageOf(error)}`)
        return
      }
    } while (this.#isAskedAgain)
  }

  async #look(): Promise<void> {
    const { store, runtime, space, workerId, obey, logger } = this.#parts
    const place = { scope: space, kind: ORDER_KIND }
    // Another order may come while one is carried out; it is then the next.
    for (let seen = 0; seen < 5; seen++) {
      // The sign after the slash: its order, and the recalls beside it.
      const { records } = await store.listRecords({
        ...place,
        from: workerId,
        before: `${workerId}0`,
        limit: 500,
      })
      const record = records.find(({ id }) => id === workerId)
      await this.#recall(records.filter((one) => one !== record))
      if (record === undefined) return
      const order = readOrder(record.body)
      if (order !== null) {
        logger.info(`The worker was told "${order.order}"${order.by === '' ? '' : ` by ${order.by}`}.`)
        await obey(order)
      }
      // Removed only if it is still the one that was carried out: a record whose time is over is seen by nobody.
      const done = {
        id: workerId,
        body: record.body,
        revision: runtime.uuid(),
        expect: record.revision,
        expiresAt: 1,
      }
      const { results } = await store.putRecords({ ...place, records: [done] })
      if (results[0] === 'ok') return
    }
  }

  async #recall(records: readonly StoredRecord[]): Promise<void> {
    if (records.length === 0) return
    const { store, space, recall } = this.#parts
    for (const { body } of records) {
      const target = readRecall(body)
      if (target !== null) recall(target)
    }
    // That it is gone is the word that it was done.
    await store.removeRecords({ scope: space, kind: ORDER_KIND, ids: records.map(({ id }) => id) })
  }
}

/** The jobs that a recall is about: those that a hold on this target would keep back. */
export type RecallTarget = HoldTarget

/** Whether a recall is about a job. Jobs without a lane are in the default one. */
export function isRecalled(
  target: RecallTarget,
  { space, queue, lane }: Pick<ClaimedJob, 'space' | 'queue' | 'lane'>,
): boolean {
  return covers(target, { space, queue, lane: lane ?? DEFAULT_LANE })
}

/** Claims whose answer may bring jobs that were taken before the recall. */
interface Recall {
  readonly target: RecallTarget
  readonly claims: Set<string>
  /** It goes on: the jobs of later claims are meant too. */
  stands: boolean
}

/**
 * What a worker hands back although it was given it: jobs of a target that were claimed before a hold, or before their lane was
 * told to wait, and have not started. What waits for a slot is handed back at once; this remembers the claims that were under
 * way at that moment, by their tokens, because their answers may still bring such jobs. A claim that is sent afterwards is
 * decided by the store, which knows of the hold.
 */
export class Recalls {
  /** Claims that may still be answered. */
  readonly #open = new Set<string>()
  #recalls: Recall[] = []

  /** A claim is about to be sent. */
  begin(token: string): void {
    this.#open.add(token)
    for (const recall of this.#recalls) if (recall.stands) recall.claims.add(token)
  }

  /** A claim will bring nothing any more. */
  end(token: string): void {
    this.#open.delete(token)
    if (this.#recalls.length === 0) return
    for (const { claims } of this.#recalls) claims.delete(token)
    this.#forget()
  }

  /** Recalls what claims under way may bring. */
  add(target: RecallTarget): void {
    if (this.#open.size > 0) this.#recalls.push({ target, claims: new Set(this.#open), stands: false })
  }

  /** The same, and what later claims bring too, until the answer is called: then the store knows. */
  hold(target: RecallTarget): () => void {
    const recall: Recall = { target, claims: new Set(this.#open), stands: true }
    this.#recalls.push(recall)
    return () => {
      recall.stands = false
      this.#forget()
    }
  }

  /** Whether a job that this claim brought must not start. */
  has(token: string, job: Pick<ClaimedJob, 'space' | 'queue' | 'lane'>): boolean {
    return this.#recalls.some(({ target, claims }) => claims.has(token) && isRecalled(target, job))
  }

  get isEmpty(): boolean {
    return this.#recalls.length === 0
  }

  #forget(): void {
    this.#recalls = this.#recalls.filter(({ stands, claims }) => stands || claims.size > 0)
  }
}
