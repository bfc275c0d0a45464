import { messageOf } from '../../core/errors.ts'
import type { JobState } from '../../core/jobs/job.ts'
import { covers, type HoldTarget, matches } from '../../core/lanes/holds.ts'
import { type Notifier, namingHints } from '../../notifier/notifier.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Store } from '../../store/store.ts'

/** Jobs read and told of at a time, so that a long queue takes no more memory than a short one. */
const PAGE = 200
/** Delayed jobs that are due later than this have their notices still: only what came due while it was held lost them. */
const SOON_MS = 60_000

export interface RenewEnv {
  readonly store: Store
  readonly notifier: Notifier
  readonly runtime: Runtime
  readonly logger: Logger
  readonly space: string
}

/**
 * Tells again of all plain jobs that wait where a hold was: their notices were dropped while it stood. What another hold
 * keeps back is left out, because those would be dropped again. If the store fails meanwhile, sweeps find the rest.
 */
export async function renewNotices(env: RenewEnv, target: HoldTarget): Promise<void> {
  // Jobs in lanes have no notices.
  if (env.notifier.notices === undefined || target.lane !== null) return
  try {
    for (const space of await spacesOf(env, target)) {
      for (const queue of await queuesOf(env, space, target)) {
        await renewQueue(env, space, queue, 'ready')
        await renewQueue(env, space, queue, 'delayed')
      }
    }
  } catch (error) {
    env.logger.warn(`Not all jobs that were held could be told of; workers find them: ${messageOf(error)}`)
  }
}

/** Every space has its own jobs, and none is served where there is no worker. */
async function spacesOf({ store, space }: RenewEnv, target: HoldTarget): Promise<Set<string>> {
  if (target.space !== null) return new Set([target.space])
  const { workers } = await store.workers({})
  return new Set([space, ...workers.map((worker) => worker.space)])
}

async function queuesOf({ store }: RenewEnv, space: string, { queue }: HoldTarget): Promise<string[]> {
  const { queues } = await store.counts({ space })
  const { holds } = await store.holds({ space })
  return queues
    .filter(({ states }) => states.ready > 0 || states.delayed > 0)
    .map((counts) => counts.queue)
    .filter((name) => queue === null || matches(queue, name))
    .filter((name) => !holds.some((hold) => covers(hold, { space, queue: name, lane: null })))
}

async function renewQueue(env: RenewEnv, space: string, queue: string, state: JobState): Promise<void> {
  const { store, notifier, runtime } = env
  const where = state === 'delayed' ? { before: runtime.now() + SOON_MS } : {}
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<Store['list']>> = await store.list({
      space,
      queue,
      state,
      where,
      limit: PAGE,
      cursor,
    })
    // What is ready goes together, whatever its time was.
    const told = page.jobs.map((job) => (state === 'ready' ? { ...job, dueAt: 0 } : job))
    const hints = namingHints(told).filter((hint) => hint.kind === 'work' && hint.ids !== undefined)
    if (hints.length > 0) notifier.publish(hints)
    cursor = page.cursor
  } while (cursor !== null)
}
