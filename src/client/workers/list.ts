import { SkepError } from '../../core/errors.ts'
import { show } from '../../core/names.ts'
import type { Notifier } from '../../notifier/notifier.ts'
import { parseVitals } from '../../runtime/process-stats.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Store, WorkerPresence } from '../../store/store.ts'
import {
  ORDER_KEPT_MS,
  ORDER_KIND,
  ORDERS,
  type Order,
  type OrderBody,
  readOrder,
} from '../../worker/commands.ts'

/** A worker on the list, with what it tells of itself. */
export interface WorkerView extends Omit<WorkerPresence, 'vitals'> {
  /** The version of its program, if that was said. */
  readonly version: string | null
  /** The version of Node; null if it did not tell. */
  readonly node: string | null
  /** Memory in use by its process. */
  readonly memoryBytes: number | null
  /** How late its event loop was in 99 of 100 samples since the last heartbeat, in milliseconds. */
  readonly lagMs: number | null
  /** What it was told and has not done yet. */
  readonly order: Exclude<Order, 'none'> | null
  /** Jobs that it had taken ahead and not started at its last heartbeat. They count as `running` in their queue. */
  readonly prefetched: number
  /** It takes no more jobs, because it was told so. */
  readonly quiet: boolean
}

export interface WorkersEnv {
  readonly store: Store
  readonly notifier: Notifier
  readonly runtime: Runtime
  readonly space: string
}

/** The workers of a space. */
export async function listWorkers({ store, space }: WorkersEnv): Promise<readonly WorkerView[]> {
  const { workers } = await store.workers({ space })
  if (workers.length === 0) return []
  const { records } = await store.getRecords({
    scope: space,
    kind: ORDER_KIND,
    ids: workers.map(({ id }) => id),
  })
  return workers.map((worker, index) => viewOfWorker(worker, records[index]?.body))
}

/** Tells a worker something; null if it is not on the list. */
export async function orderWorker(
  env: WorkersEnv,
  id: string,
  order: Order,
  options: { readonly by?: string },
): Promise<WorkerView | null> {
  if (!ORDERS.includes(order)) {
    throw new SkepError('OPTION_INVALID', `The order is ${show(order)}; use 'quiet', 'stop' or 'none'.`)
  }
  const { store, notifier, runtime, space } = env
  const { workers } = await store.workers({ space })
  const worker = workers.find((one) => one.id === id)
  if (worker === undefined) return null
  const at = runtime.now()
  const body = JSON.stringify({ order, by: String(options.by ?? ''), at } satisfies OrderBody)
  const record = { id, body, revision: runtime.uuid(), expiresAt: at + ORDER_KEPT_MS }
  await store.putRecords({ scope: space, kind: ORDER_KIND, records: [record] })
  notifier.publish([{ kind: 'orders', space }])
  return viewOfWorker(worker, body)
}

function viewOfWorker({ vitals, ...worker }: WorkerPresence, told: string | undefined): WorkerView {
  const { version, node, memoryBytes, lagMs, quiet, prefetched } = parseVitals(vitals)
  const order = told === undefined ? null : (readOrder(told)?.order ?? null)
  return {
    ...worker,
    version,
    node: node === '' ? null : node,
    memoryBytes: memoryBytes === 0 ? null : memoryBytes,
    lagMs,
    order: order === 'none' ? null : order,
    prefetched,
    quiet,
  }
}
