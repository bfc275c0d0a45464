/**
 * Fires schedules. Every process with a worker runs this, and all wake at the same slots: the store lets one
 * of them fire each slot and refuses the others, so no leader is needed.
 */
import { messageOf } from '../core/errors.ts'
import { reasonFailure } from '../core/jobs/failure.ts'
import type { Job } from '../core/jobs/job.ts'
import { show } from '../core/names.ts'
import { DEFAULT_POLICY } from '../core/policies/policy.ts'
import {
  countsFromLastRun,
  decodeSpec,
  type LastJob,
  type Look,
  lookAfterRun,
  lookAt,
  type MadeJob,
  madeOf,
  type Schedule,
  type ScheduleSpec,
  slotJob,
} from '../core/schedules/schedule.ts'
import { type Hint, type Notifier, namingHints, workHint } from '../notifier/notifier.ts'
import type { Logger } from '../runtime/logger.ts'
import { type Runtime, sleep } from '../runtime/runtime.ts'
import type { DueSchedulesReply, Fire, FireResult } from '../store/schedules.ts'
import type { Store } from '../store/store.ts'
import type { Duty } from './background-task.ts'

/** Limits per call: schedules in one read, slots of one schedule, and jobs of all schedules. */
const PAGE = 200
const MOST_SLOTS = 100
const MOST_JOBS = 1_000

/** The longest sleep: hints may be lost, and the store's clock may be set forward. */
const POLL_WITH_HINTS_MS = 30_000
const POLL_WITHOUT_HINTS_MS = 5_000

/** The approximate pause when other processes fire everything that is due. */
const RIVALS_MS = 50

const MAKE_MS = 10_000

/** The backoff after a schedule could not be fired. */
const REST_MS = 1_000
const LONGEST_REST_MS = 60_000

/** Creates the payload-dependent part of a schedule's job. */
export type Maker = (slot: number) => Promise<MadeJob>

export interface SchedulerParts {
  readonly store: Store
  readonly notifier: Notifier
  readonly runtime: Runtime
  readonly logger: Logger
  readonly space: string
  /** The payload functions declared by this process. */
  readonly makers: () => ReadonlyMap<string, Maker>
  /** Stores the declarations of this process, unless already done. */
  readonly sync: () => Promise<void>
  /** Called with the number of jobs created in a queue. */
  readonly onFired?: (queue: string, jobs: number) => void
}

interface Plan {
  readonly fire: Fire
  readonly spec: ScheduleSpec
}

export class Scheduler implements Duty {
  readonly name = 'schedules'
  readonly #parts: SchedulerParts
  readonly #resting = new Map<string, { failures: number; until: number; readonly message: string }>()
  #underWay: Promise<number> | null = null
  #signal: AbortSignal | null = null

  constructor(parts: SchedulerParts) {
    this.#parts = parts
  }

  concerns(hint: Hint): boolean {
    return hint.kind === 'sync' || (hint.kind === 'schedules' && hint.space === this.#parts.space)
  }

  /** Several workers of one process share a turn. */
  turn(signal: AbortSignal): Promise<number> {
    this.#underWay ??= this.#turn(signal).finally(() => {
      this.#underWay = null
    })
    return this.#underWay
  }

  async #turn(signal: AbortSignal): Promise<number> {
    const { store, runtime, space, makers, sync } = this.#parts
    this.#signal = signal
    await sync()
    while (!signal.aborted) {
      const known = [...makers().keys()]
      const reply = await store.dueSchedules({ space, limit: PAGE, known, except: this.#left() })
      if (reply.schedules.length === 0) return this.#sleepMs(reply)
      const plans = await this.#plan(reply)
      const { results } = await store.fireSchedules({ fires: plans.map(({ fire }) => fire) })
      this.#publishHints(plans, results)
      const isIdle = plans.length > 0 && results.every(({ status }) => status === 'refused')
      if (isIdle) return RIVALS_MS * (0.5 + runtime.random())
    }
    return 0
  }

  #sleepMs({ nextAt, now }: DueSchedulesReply): number {
    const { runtime, notifier } = this.#parts
    const isUp = notifier.health().status === 'up'
    let ms = isUp ? POLL_WITH_HINTS_MS : POLL_WITHOUT_HINTS_MS
    if (nextAt !== null) ms = Math.min(ms, nextAt - now)
    for (const { until } of this.#resting.values()) ms = Math.min(ms, until - runtime.mono())
    return Math.max(1, Math.ceil(ms))
  }

  #left(): string[] {
    const now = this.#parts.runtime.mono()
    return [...this.#resting].filter(([, { until }]) => until > now).map(([id]) => id)
  }

  /** What to do about each due schedule. An invalid one does not affect the others. */
  async #plan(reply: DueSchedulesReply): Promise<Plan[]> {
    const specs = new Map<Schedule, ScheduleSpec>()
    for (const schedule of reply.schedules) {
      try {
        specs.set(schedule, decodeSpec(schedule))
      } catch (error) {
        this.#rest(schedule.id, error)
      }
    }
    const lastJobs = await this.#lastJobs(specs)
    let room = MOST_JOBS
    const looks: [Schedule, ScheduleSpec, Look][] = []
    for (const [schedule, spec] of specs) {
      if (room <= 0) break
      try {
        const look = lookAtSchedule(schedule, spec, reply.now, Math.min(room, MOST_SLOTS), lastJobs)
        room -= look.slots.length
        looks.push([schedule, spec, look])
      } catch (error) {
        this.#rest(schedule.id, error)
      }
    }
    const plans = await Promise.all(
      looks.map(([schedule, spec, look]) => this.#planOne(schedule, spec, look)),
    )
    return plans.filter((plan) => plan !== null)
  }

  /** The last jobs of schedules that count from their completion: one read for all of them. */
  async #lastJobs(specs: ReadonlyMap<Schedule, ScheduleSpec>): Promise<ReadonlyMap<string, Job>> {
    const ids = [...specs]
      .filter(([, spec]) => countsFromLastRun(spec))
      .flatMap(([{ lastJobId }]) => (lastJobId === null ? [] : [lastJobId]))
    if (ids.length === 0) return new Map()
    const { store, space } = this.#parts
    const { jobs } = await store.get({ space, ids })
    return new Map(jobs.flatMap((job) => (job === null ? [] : [[job.id, job] as const])))
  }

  async #planOne(schedule: Schedule, spec: ScheduleSpec, look: Look): Promise<Plan | null> {
    const { space, id, revision, dynamic } = schedule
    const slot = schedule.nextAt as number
    try {
      const jobs = await Promise.all(
        look.slots.map(async (at) => {
          const made = dynamic ? await this.#make(id, at) : madeOf(spec)
          return slotJob(schedule, spec, at, made)
        }),
      )
      this.#resting.delete(id)
      const reason = `The next job of schedule ${show(id)} replaced it.`
      const fire: Fire = {
        space,
        id,
        revision,
        slot,
        upTo: look.slots.at(-1) ?? slot,
        nextAt: look.nextAt,
        jobs,
        skipped: look.skipped,
        overlap: spec.overlap,
        failure: JSON.stringify(reasonFailure('cancel', reason)),
        keepMs: DEFAULT_POLICY.keepCancelledMs,
      }
      return { fire, spec }
    } catch (error) {
      this.#rest(id, error)
      return null
    }
  }

  async #make(id: string, slot: number): ReturnType<Maker> {
    const { makers, runtime } = this.#parts
    const maker = makers().get(id)
    if (!maker) throw new Error('This process no longer declares its payload function.')
    const over = new AbortController()
    // A stop does not wait for a function that hangs.
    const stop = (): void => over.abort()
    this.#signal?.addEventListener('abort', stop, { once: true })
    try {
      return await Promise.race([
        maker(slot),
        sleep(runtime, MAKE_MS, over.signal, { background: true }).then(() => {
          throw new Error(`Its payload function did not return within ${MAKE_MS} ms.`)
        }),
      ])
    } finally {
      this.#signal?.removeEventListener('abort', stop)
      over.abort()
    }
  }

  /** The slot stays due: this process retries later, and another may succeed. */
  #rest(id: string, error: unknown): void {
    if (this.#signal?.aborted) return
    const { runtime, logger } = this.#parts
    const before = this.#resting.get(id)
    const message = messageOf(error)
    if (before?.message !== message) logger.error(`Schedule ${show(id)} could not be fired: ${message}`)
    const failures = (before?.failures ?? 0) + 1
    const ms = Math.min(LONGEST_REST_MS, REST_MS * 2 ** Math.min(failures - 1, 10))
    this.#resting.set(id, { failures, until: runtime.mono() + ms, message })
  }

  #publishHints(plans: readonly Plan[], results: readonly FireResult[]): void {
    const { notifier, space, onFired } = this.#parts
    const hints: Hint[] = []
    plans.forEach(({ spec: { job } }, index) => {
      const result = results[index]
      if (result?.status !== 'fired') return
      const { queue, priority, lane } = job
      if (result.inserted.length > 0) onFired?.(queue, result.inserted.length)
      if (notifier.notices !== undefined) {
        const common = { space, queue, priority, lane }
        hints.push(...namingHints(result.inserted.map((one) => ({ ...common, ...one }))))
      } else {
        for (const { dueAt } of result.inserted) hints.push(workHint({ space, queue, dueAt, priority }))
      }
      if (result.replaced?.isRunning) hints.push({ kind: 'cancel', space, ids: [result.replaced.id] })
      else if (result.replaced) hints.push({ kind: 'settled', space, queue })
    })
    if (hints.length > 0) notifier.publish(hints)
  }
}

function lookAtSchedule(
  schedule: Schedule,
  spec: ScheduleSpec,
  now: number,
  limit: number,
  lastJobs: ReadonlyMap<string, Job>,
): Look {
  const slot = schedule.nextAt as number
  if (!countsFromLastRun(spec)) return lookAt(spec, slot, now, limit)
  const last: LastJob = (schedule.lastJobId === null ? undefined : lastJobs.get(schedule.lastJobId)) ?? null
  return lookAfterRun(spec, slot, now, last)
}
