import { SkepError } from '../../core/errors.ts'
import { show } from '../../core/names.ts'
import type { ClientEnv } from '../client-env.ts'
import { explainQueue, type QueueExplanation } from '../explain/queue.ts'
import { countJobs, type QueueView } from '../jobs/list.ts'
import { type PurgeOptions, type PurgeSummary, purgeJobs } from '../jobs/purge.ts'
import { listCards, type QueueCard } from './declarations.ts'
import { type DrainOptions, type DrainSummary, drainQueue } from './drain.ts'
import { type DropOptions, type DropSummary, dropQueue } from './drop.ts'
import {
  type Holdable,
  type HoldOptions,
  type HoldSummary,
  type HoldView,
  hold,
  type ReleaseSummary,
  release,
  standing,
} from './holds.ts'
import { type LaneListOptions, type LanePage, listLanes } from './lanes.ts'

type QueueName = string | { readonly name: string }

/** Counts, explains, pauses, drains and removes queues. */
export class Queues {
  readonly #env: ClientEnv

  constructor(env: ClientEnv) {
    this.#env = env
  }

  /** Each queue with the number of jobs in each state; the cost does not grow with the number of jobs. */
  async list(queues?: readonly QueueName[]): Promise<readonly QueueView[]> {
    if (queues !== undefined && !Array.isArray(queues)) {
      const message = `queues.list() got ${show(queues)}; pass an array of queues or names, or nothing for all queues.`
      throw new SkepError('OPTION_INVALID', message)
    }
    await this.#env.ready()
    return countJobs(this.#env.store, this.#env.space, queues?.map(nameOf))
  }

  /** How queues were declared in code, as their workers announced it. */
  async declarations(): Promise<readonly QueueCard[]> {
    await this.#env.ready()
    return listCards(this.#env.store, this.#env.space)
  }

  /**
   * One page of the lanes of a queue that have jobs: what runs and waits in each, its rate and its holds. A queue without limits
   * has none.
   */
  async lanes(queue: QueueName, options: LaneListOptions = {}): Promise<LanePage> {
    await this.#env.ready()
    return listLanes(this.#env.store, this.#env.space, nameOf(queue), options)
  }

  /**
   * Why the waiting jobs of a queue wait: each cause with the number of jobs it affects. Reads no jobs and at most 100 lanes, so
   * the cost does not grow with the queue.
   */
  async explain(queue: QueueName, options: { readonly lanes?: number } = {}): Promise<QueueExplanation> {
    await this.#env.ready()
    return explainQueue(this.#env.store, this.#env.space, nameOf(queue), options)
  }

  /**
   * Keeps jobs from starting: of a queue, of all queues that match a pattern, of a lane, of the space or everywhere. After the
   * answer no worker claims one until {@link Queues.resume}, or until the pause expires, and the workers of this process start none
   * that they have prefetched. Those of other processes hand theirs back as soon as they are notified; with `wait` the call resolves
   * when all have. Running jobs continue and nothing is lost. The cost does not depend on the number of jobs. Idempotent.
   */
  pause(target: Holdable, options: HoldOptions = {}): Promise<HoldSummary> {
    return hold(this.#env, 'pause', target, options)
  }

  /** Removes the pause on exactly this target. A block on it, or a hold on something wider, stays and is returned. */
  resume(target: Holdable, options: Pick<HoldOptions, 'by'> = {}): Promise<ReleaseSummary> {
    return release(this.#env, 'pause', target, options)
  }

  /** Like {@link Queues.pause}, for administrators: the two are independent, and jobs start when neither is left. */
  block(target: Holdable, options: HoldOptions = {}): Promise<HoldSummary> {
    return hold(this.#env, 'block', target, options)
  }

  /** Removes the block on exactly this target. */
  unblock(target: Holdable, options: Pick<HoldOptions, 'by'> = {}): Promise<ReleaseSummary> {
    return release(this.#env, 'block', target, options)
  }

  /** The active pauses and blocks that concern this space: blocks first, then the oldest. */
  holds(): Promise<readonly HoldView[]> {
    return standing(this.#env)
  }

  /**
   * Pauses a queue and waits until none of its jobs is running. The pause stays, also when this rejects: with `DRAIN_TIMEOUT`
   * after `timeout`, or with the reason of `signal`.
   */
  drain(queue: QueueName, options: DrainOptions = {}): Promise<DrainSummary> {
    return drainQueue(this.#env, queue, options)
  }

  /**
   * Deletes all jobs of a queue that are not running, or those that match. With `dryRun` it only counts them. Returns their number
   * by state, and the number of running jobs.
   */
  async purge(queue: QueueName, options: PurgeOptions = {}): Promise<PurgeSummary> {
    const name = nameOf(queue)
    await this.#env.readyToWrite()
    const { patient: store, notifier, space } = this.#env
    return purgeJobs({ store, notifier, space }, name, options)
  }

  /**
   * Removes a queue: its finished jobs, limits, holds and declaration, so that it is no longer listed. Rejects with
   * `QUEUE_IN_USE` while a live worker handles it, or while jobs run or wait in it; `force` removes waiting ones.
   * After a failure, call it again: it continues where it stopped.
   */
  drop(queue: QueueName, options: DropOptions = {}): Promise<DropSummary> {
    return dropQueue(this.#env, queue, options)
  }
}

function nameOf(queue: QueueName): string {
  const name = typeof queue === 'string' ? queue : queue?.name
  if (typeof name === 'string') return name
  throw new SkepError('OPTION_INVALID', `The queue is ${show(queue)}; pass a declared queue or its name.`)
}
