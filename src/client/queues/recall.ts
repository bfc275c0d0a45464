import { SkepError, StoreError } from '../../core/errors.ts'
import { isLiveWorker } from '../../core/jobs/unhandled.ts'
import { matches } from '../../core/lanes/holds.ts'
import type { Notifier } from '../../notifier/notifier.ts'
import { parseVitals } from '../../runtime/process-stats.ts'
import { type Runtime, sleep } from '../../runtime/runtime.ts'
import type { Store, WorkerPresence } from '../../store/store.ts'
import { COMMAND_KEPT_MS, COMMAND_KIND, type RecallTarget, recallId } from '../../worker/commands.ts'
import { patiently } from '../retry-calls.ts'

/** A worker of this process, which is told directly. */
export interface Recallable {
  recall(target: RecallTarget): void
}

const byStore = new WeakMap<Store, Map<string, Recallable>>()

/** The workers of this process on a store by their ids, whichever Skep they belong to. */
export function workersHere(store: Store): Map<string, Recallable> {
  const known = byStore.get(store) ?? new Map<string, Recallable>()
  byStore.set(store, known)
  return known
}

export interface RecallEnv {
  readonly store: Store
  readonly notifier: Notifier
  readonly runtime: Runtime
  /** Those of this process. */
  readonly workers: ReadonlyMap<string, Recallable>
  /** How long a call of the wait is repeated while the store is unavailable. */
  readonly patienceMs: number
  /** Ends all waiting. */
  readonly closed: AbortSignal
}

export interface RecallWait {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

const FIRST_LOOK_MS = 10
const MOST_LOOK_MS = 500

/**
 * Recalls a target in this process, where it is done when this returns, and tells the workers of others. What they have
 * started goes on.
 */
export function recall({ workers, notifier }: RecallEnv, target: RecallTarget): void {
  for (const worker of workers.values()) worker.recall(target)
  const { space, queue, lane } = target
  notifier.publish([{ kind: 'recall', space, queue, lane }])
}

/**
 * Waits until every live worker of other processes that may serve the target has handed back what it had taken of it before
 * this call and had not started. Each gets a record and removes it when it has done so. A worker that comes later takes
 * nothing: the hold stands. One that is gone starts nothing.
 */
export async function untilRecalled(
  env: RecallEnv,
  target: RecallTarget,
  { timeoutMs, signal }: RecallWait,
): Promise<void> {
  const { store, notifier, runtime } = env
  const ends = signal === undefined ? env.closed : AbortSignal.any([signal, env.closed])
  const callId = runtime.uuid()
  const giveUpAt = runtime.mono() + timeoutMs
  // The hold is stored already, so an outage that ends in time must not fail the call. Repeating these changes nothing:
  // the records carry the id of this call.
  const patienceMs = Math.min(env.patienceMs, timeoutMs)
  const ask = <Reply>(send: () => Promise<Reply>): Promise<Reply> =>
    patiently({ runtime, patienceMs, isClosed: () => ends.aborted }, send).catch((error: unknown) => {
      ends.throwIfAborted()
      throw error
    })
  let open = await ask(() => concerned(env, target))
  if (open.length === 0) return
  const body = JSON.stringify({ space: target.space, queue: target.queue, lane: target.lane })
  // Nobody may take an expired record for one that was carried out, so it outlasts the wait by far.
  const expiresAt = runtime.now() + timeoutMs + COMMAND_KEPT_MS
  for (const [space, workers] of bySpace(open)) {
    const records = workers.map(({ id }) => {
      return { id: recallId(id, callId), body, revision: callId, expiresAt }
    })
    await ask(() => store.putRecords({ scope: space, kind: COMMAND_KIND, records }))
    notifier.publish([{ kind: 'commands', space }])
  }
  try {
    for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(MOST_LOOK_MS, waitMs * 2)) {
      ends.throwIfAborted()
      try {
        open = await unconfirmed(store, open, callId)
        if (open.length === 0) return
        const live = new Set((await concerned(env, target)).map(({ id }) => id))
        open = open.filter(({ id }) => live.has(id))
        if (open.length === 0) return
      } catch (error) {
        // A store that is away for a moment is no reason to stop waiting.
        if (!(error instanceof StoreError) || !error.transient) throw error
      }
      const leftMs = giveUpAt - runtime.mono()
      if (leftMs <= 0) throw unconfirmedError(open, timeoutMs)
      await sleep(runtime, Math.min(waitMs, leftMs), ends)
    }
  } finally {
    for (const [space, workers] of bySpace(open)) {
      const ids = workers.map(({ id }) => recallId(id, callId))
      store.removeRecords({ scope: space, kind: COMMAND_KIND, ids }).catch(() => {})
    }
  }
}

/** Live workers of other processes that may have taken jobs of the target. */
async function concerned(
  { store, workers: here }: RecallEnv,
  { space, queue }: RecallTarget,
): Promise<readonly WorkerPresence[]> {
  const { workers } = await store.workers(space === null ? {} : { space })
  const serving = workers.filter(({ id, life, queues, vitals }) => {
    if (life === 'gone' || here.has(id)) return false
    // The queues of a relay change between its heartbeats.
    return queue === null || parseVitals(vitals).isRelay || queues.some((name) => matches(queue, name))
  })
  const unsure = serving.find(({ life }) => life === 'unsure')
  if (unsure === undefined) return serving
  // The registration of a worker outlives it by an hour where the store cannot check its process. Heartbeats carry the time
  // of the store, so they are compared with that.
  const { now } = await store.counts({ space: unsure.space, queues: unsure.queues.slice(0, 1) })
  return serving.filter((worker) => isLiveWorker(worker, now))
}

async function unconfirmed(
  store: Store,
  open: readonly WorkerPresence[],
  callId: string,
): Promise<readonly WorkerPresence[]> {
  const left: WorkerPresence[] = []
  for (const [space, workers] of bySpace(open)) {
    const ids = workers.map(({ id }) => recallId(id, callId))
    const { records } = await store.getRecords({ scope: space, kind: COMMAND_KIND, ids })
    left.push(...workers.filter((_, index) => records[index] !== null))
  }
  return left
}

function bySpace(workers: readonly WorkerPresence[]): Map<string, WorkerPresence[]> {
  const groups = new Map<string, WorkerPresence[]>()
  for (const worker of workers) groups.set(worker.space, [...(groups.get(worker.space) ?? []), worker])
  return groups
}

function unconfirmedError(workers: readonly WorkerPresence[], timeoutMs: number): SkepError {
  const named = workers.map(({ id, host, pid }) => `${id} (${host}, process ${pid})`)
  return new SkepError(
    'HOLD_UNCONFIRMED',
    `The hold stands and nothing more of its target is taken, but ${named.join(', ')} did not confirm within ${timeoutMs} ms ` +
      'and may still start jobs taken before. Check whether those processes are alive, and repeat the call.',
    { facts: { timeoutMs, workers: workers.map(({ id, space, host, pid }) => ({ id, space, host, pid })) } },
  )
}
