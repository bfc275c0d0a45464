import { messageOf } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import { noteDeploy } from '../metrics/deploys.ts'
import type { Runtime } from '../runtime.ts'
import type { Store } from '../store.ts'
import { atMost } from '../supervise.ts'
import { parseVitals } from '../worker/vitals.ts'
import { putCards } from './cards.ts'
import type { AnyQueue } from './queue.ts'

interface AnnounceEnv {
  readonly store: Store
  readonly runtime: Runtime
  readonly logger: Logger
  readonly space: string
}

/** A worker does not wait longer than this before it starts. */
const PATIENCE_MS = 2_000

/**
 * Tells, before a worker starts, how its queues are declared and which version it is of. It is for those who look, so a worker
 * starts whether or not it can be told.
 */
export async function announceWorker(
  env: AnnounceEnv,
  queues: readonly AnyQueue[],
  version: string | null,
): Promise<void> {
  const told = tell(env, queues, version).catch((error: unknown) =>
    env.logger.debug(`What a worker is could not be told: ${messageOf(error)}`),
  )
  await atMost(env.runtime, PATIENCE_MS, told)
}

async function tell(
  { store, runtime, space }: AnnounceEnv,
  queues: readonly AnyQueue[],
  version: string | null,
): Promise<void> {
  await putCards(store, space, queues, runtime.now())
  if (version === null) return
  const { workers } = await store.workers({ space })
  const living = workers.filter(({ life }) => life !== 'gone')
  const versions = living.map(({ vitals }) => parseVitals(vitals).version)
  await noteDeploy(store, runtime, space, version, versions)
}
