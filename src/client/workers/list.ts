import type { Notifier } from '../../notifier/notifier.ts'
import { parseVitals } from '../../runtime/process-stats.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Store, WorkerPresence } from '../../store/store.ts'
import {
  COMMAND_KEPT_MS,
  COMMAND_KIND,
  type CommandRecord,
  readCommand,
  type WorkerCommand,
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
  /** The command that it has not carried out yet. */
  readonly command: Exclude<WorkerCommand, 'resume'> | null
  /** Jobs that it had taken ahead and not started at its last heartbeat. They count as `running` in their queue. */
  readonly prefetched: number
  /** It claims no more jobs until it is resumed. */
  readonly paused: boolean
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
    kind: COMMAND_KIND,
    ids: workers.map(({ id }) => id),
  })
  return workers.map((worker, index) => viewOfWorker(worker, records[index]?.body))
}

/** Sends a command to a worker; null if it is not registered. */
export async function commandWorker(
  env: WorkersEnv,
  id: string,
  command: WorkerCommand,
  options: { readonly by?: string },
): Promise<WorkerView | null> {
  const { store, notifier, runtime, space } = env
  const { workers } = await store.workers({ space })
  const worker = workers.find((one) => one.id === id)
  if (worker === undefined) return null
  const at = runtime.now()
  const body = JSON.stringify({ command, by: String(options.by ?? ''), at } satisfies CommandRecord)
  const record = { id, body, revision: runtime.uuid(), expiresAt: at + COMMAND_KEPT_MS }
  await store.putRecords({ scope: space, kind: COMMAND_KIND, records: [record] })
  notifier.publish([{ kind: 'commands', space }])
  return viewOfWorker(worker, body)
}

function viewOfWorker({ vitals, ...worker }: WorkerPresence, told: string | undefined): WorkerView {
  const { version, node, memoryBytes, lagMs, paused, prefetched } = parseVitals(vitals)
  const command = told === undefined ? null : (readCommand(told)?.command ?? null)
  return {
    ...worker,
    version,
    node: node === '' ? null : node,
    memoryBytes: memoryBytes === 0 ? null : memoryBytes,
    lagMs,
    command: command === 'resume' ? null : command,
    prefetched,
    paused,
  }
}
