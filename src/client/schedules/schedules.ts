import { SkepError } from '../../core/errors.ts'
import type { NewJob } from '../../core/jobs/job.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertName, hasControl, show, utf8Bytes } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import {
  countsFromLastRun,
  decodeSpec,
  type MadeJob,
  madeOf,
  type Schedule,
  type ScheduleSpec,
  withSlot,
} from '../../core/schedules/schedule.ts'
import { type Calendar, nextSlot } from '../../core/schedules/slots.ts'
import type { Store } from '../../store/store.ts'
import { assertWhole } from '../../worker/options.ts'
import type { JobHandle } from '../jobs/handle.ts'
import {
  assertNotDeclared,
  changing,
  type Declarations,
  putSchedules,
  type ScheduleEnv,
  type SyncSummary,
  tellOfChange,
} from './declarations.ts'
import type { ScheduleDefinition } from './schedule.ts'
import { type ScheduleView, scheduleView } from './view.ts'

export interface SchedulePage {
  readonly schedules: readonly ScheduleView[]
  /** For the next page; null when this was the last. */
  readonly cursor: string | null
}

export interface SchedulesEnv extends ScheduleEnv {
  readonly ready: () => Promise<unknown>
  /** The store with the patience of an enqueue, see {@link patientStore}, and the check before its first call. */
  readonly patient: Store
  readonly readyToWrite: () => Promise<unknown>
  /** Lets the workers of this process look at its declarations, if there are any. */
  readonly wakeWorkers: () => void
  /** Inserts one job and gives a handle on it. */
  readonly insert: (job: NewJob) => Promise<JobHandle<unknown>>
}

const DECLARE_KEYS = optionKeys<{ owner?: string }>('schedules.declare()', { owner: true })
const LIST_KEYS = optionKeys<NonNullable<Parameters<Schedules['list']>[0]>>('schedules.list()', {
  owner: true,
  limit: true,
  cursor: true,
})
const REMOVE_KEYS = optionKeys<{ force?: boolean }>('schedules.remove()', { force: true })
const PAUSE_KEYS = optionKeys<{ reason?: string; by?: string }>('schedules.pause()', {
  reason: true,
  by: true,
})

const MOST_TRIES = 20
const MOST_SLOTS = 1_000

/**
 * The schedules of a space. Those declared in code belong to the code: they are synced when a worker starts, and can
 * be paused, resumed and run by hand, but not edited. All others are put and removed at run time. Whatever their
 * kind, any process with a worker fires them.
 */
export class Schedules {
  readonly #env: SchedulesEnv
  readonly #declarations: Declarations

  constructor(env: SchedulesEnv, declarations: Declarations) {
    this.#env = env
    this.#declarations = declarations
  }

  /**
   * Says which schedules the code has. They are brought into the store when a worker of this process starts, or by
   * `sync()`, and win over what is there. With an `owner`, schedules of that owner that are not in the list are
   * removed then: all processes of an owner declare the same list, and a second call for an owner replaces the first. Without one, what leaves the code stays in the store.
   */
  declare(schedules: readonly ScheduleDefinition[], options: { readonly owner?: string } = {}): void {
    assertOptions(DECLARE_KEYS, options)
    if (!Array.isArray(schedules)) throw notDefined(schedules)
    for (const one of schedules as readonly ScheduleDefinition[]) assertDefinition(one)
    this.#declarations.add(schedules, options.owner)
    this.#env.wakeWorkers()
  }

  /** Brings what is declared into the store now, for a deploy script. Workers do it by themselves. */
  async sync(): Promise<SyncSummary> {
    await this.#env.readyToWrite()
    return this.#declarations.sync({ store: this.#env.patient })
  }

  /**
   * Makes a schedule at run time, or changes it. Its payload has to be fixed. One that is declared in code is refused
   * with `SCHEDULE_DECLARED`.
   */
  async put(schedule: ScheduleDefinition): Promise<ScheduleView> {
    assertDefinition(schedule)
    const resolved = await schedule.resolve(this.#env.prepare)
    if (resolved.make !== null) {
      throw new SkepError(
        'SCHEDULE_INVALID',
        `Schedule ${show(schedule.id)} makes its payload by a function, which cannot be stored. Declare it in code.`,
        { facts: { id: schedule.id } },
      )
    }
    await this.#env.readyToWrite()
    const { changed } = await putSchedules({ ...this.#env, store: this.#env.patient }, [resolved], null)
    if (changed > 0) tellOfChange(this.#env)
    return scheduleView(await this.#find(schedule.id, this.#env.patient))
  }

  /** A schedule by its id, or null. */
  async get(id: string): Promise<ScheduleView | null> {
    assertName('Schedule', id)
    await this.#env.ready()
    const { store, space } = this.#env
    const { schedules } = await store.getSchedules({ space, ids: [id] })
    return schedules[0] ? scheduleView(schedules[0]) : null
  }

  /** One page of schedules, by id. */
  async list(
    options: { readonly owner?: string; readonly limit?: number; readonly cursor?: string } = {},
  ): Promise<SchedulePage> {
    assertOptions(LIST_KEYS, options)
    const { owner, limit = 50, cursor = null } = options
    assertWhole('limit', limit, 1, LIMITS.pageJobs)
    await this.#env.ready()
    const { store, space } = this.#env
    const page = await store.listSchedules({
      space,
      limit,
      cursor,
      ...(owner === undefined ? {} : { declaredBy: owner }),
    })
    return { schedules: page.schedules.map(scheduleView), cursor: page.cursor }
  }

  /**
   * Removes a schedule; its jobs stay. Tells whether it was there. One that is declared in code is refused: it would come
   * back with the next start. `force` removes it all the same, for one whose code is gone.
   */
  async remove(id: string, options: { readonly force?: boolean } = {}): Promise<boolean> {
    assertOptions(REMOVE_KEYS, options)
    assertName('Schedule', id)
    await this.#env.readyToWrite()
    const { patient: store, space } = this.#env
    if (options.force !== true) {
      const { schedules } = await store.getSchedules({ space, ids: [id] })
      if (schedules[0]) assertNotDeclared(schedules[0])
    }
    const whose = options.force === true ? {} : { declaredBy: null }
    const { removed } = await store.removeSchedules({ space, ids: [id], ...whose })
    return removed.length > 0
  }

  /** Stops a schedule until it is resumed, also over deploys. Pausing twice is fine: the first reason stays. */
  async pause(id: string, options: { readonly reason?: string; readonly by?: string } = {}): Promise<void> {
    assertName('Schedule', id)
    assertOptions(PAUSE_KEYS, options)
    const reason = textOf('reason', options.reason)
    const by = textOf('by', options.by)
    await this.#env.readyToWrite()
    const { patient: store, space } = this.#env
    const { paused } = await store.pauseSchedules({ space, ids: [id], reason, by })
    if (paused.length === 0) throw notFound(id)
  }

  /** Lets a paused schedule go on with the first slot from now; what passed meanwhile was not missed. */
  async resume(id: string): Promise<void> {
    assertName('Schedule', id)
    await this.#env.readyToWrite()
    const { patient: store, space } = this.#env
    for (let tries = 1; tries <= MOST_TRIES; tries++) {
      const { schedules, now } = await store.getSchedules({ space, ids: [id] })
      const stored = schedules[0]
      if (!stored) throw notFound(id)
      const { revision, nextAt, lastSlot } = stored
      const isPast = nextAt !== null && nextAt <= now
      const goesOn = isPast ? nextSlot(decodeSpec(stored), Math.max(now, lastSlot ?? 0)) : nextAt
      const one = { space, id, expect: { revision, nextAt }, nextAt: goesOn }
      const { results } = await store.resumeSchedules({ schedules: [one] })
      if (results[0] === 'refused') continue
      tellOfChange(this.#env)
      return
    }
    throw changing([id])
  }

  /** Enqueues a job of the schedule now. The slots, and what they do about overlaps, do not notice. */
  async runNow(id: string): Promise<JobHandle<unknown>> {
    await this.#env.readyToWrite()
    const schedule = await this.#find(id, this.#env.patient)
    const spec = decodeSpec(schedule)
    const made = await this.#madeNow(schedule, spec)
    const { queue, priority, overrides, headers, strict } = spec.job
    return this.#env.insert({
      id: this.#env.runtime.uuid(),
      space: schedule.space,
      queue,
      ...made,
      headers: withSlot(headers, id, null),
      priority,
      delayMs: 0,
      runAt: null,
      overrides,
      strict,
      member: null,
    })
  }

  /**
   * The next slots, up to `count` of them: of a schedule in the store by its id, or of one that is only described. Of an
   * interval from the last run only the next slot is known.
   */
  async preview(schedule: string | ScheduleDefinition, count = 5): Promise<readonly Date[]> {
    assertWhole('count', count, 1, MOST_SLOTS)
    if (typeof schedule !== 'string') {
      return slotsFrom(schedule.calendar, this.#env.runtime.now(), null, count)
    }
    await this.#env.ready()
    const { store, space } = this.#env
    assertName('Schedule', schedule)
    const { schedules, now } = await store.getSchedules({ space, ids: [schedule] })
    const stored = schedules[0]
    if (!stored) throw notFound(schedule)
    const { nextAt, pausedAt } = stored
    if (nextAt === null) return []
    const spec = decodeSpec(stored)
    // A paused one would go on with the first slot from now.
    return slotsFrom(spec, now, pausedAt !== null && nextAt <= now ? null : nextAt, count)
  }

  async #madeNow(schedule: Schedule, spec: ScheduleSpec): Promise<MadeJob> {
    if (!schedule.dynamic) return madeOf(spec)
    const make = await this.#declarations.makerOf(schedule.id)
    if (make) return make(this.#env.runtime.now())
    throw new SkepError(
      'SCHEDULE_UNDECLARED',
      `The payload of schedule ${show(schedule.id)} is made by a function that this process did not declare. ` +
        'Run it from the program that did.',
      { facts: { id: schedule.id } },
    )
  }

  async #find(id: string, store: Store): Promise<Schedule> {
    assertName('Schedule', id)
    const { space } = this.#env
    const { schedules } = await store.getSchedules({ space, ids: [id] })
    if (!schedules[0]) throw notFound(id)
    return schedules[0]
  }
}

function assertDefinition(schedule: ScheduleDefinition): void {
  if (typeof schedule?.resolve !== 'function') throw notDefined(schedule)
}

function notDefined(given: unknown): SkepError {
  return new SkepError(
    'OPTION_INVALID',
    `${show(given)} is not what schedule() returns. Use skep.schedules.declare([schedule(id, { queue, cron })]), ` +
      'or skep.schedules.put(schedule(id, { queue, cron })).',
  )
}

function slotsFrom(calendar: Calendar, now: number, first: number | null, count: number): Date[] {
  const slots: Date[] = []
  let slot = first ?? nextSlot(calendar, now)
  const most = countsFromLastRun(calendar) ? 1 : count
  while (slot !== null && slots.length < most) {
    slots.push(new Date(slot))
    slot = nextSlot(calendar, slot)
  }
  return slots
}

function textOf(what: string, text: string | undefined): string | null {
  if (text === undefined) return null
  const isFine = typeof text === 'string' && text.isWellFormed() && utf8Bytes(text) <= LIMITS.reasonBytes
  if (isFine && !hasControl(text)) return text
  throw new SkepError(
    'OPTION_INVALID',
    `${what} is ${show(text)}; use up to ${LIMITS.reasonBytes} bytes of text without control characters.`,
  )
}

function notFound(id: string): SkepError {
  return new SkepError('SCHEDULE_NOT_FOUND', `There is no schedule ${show(id)} in this space.`, {
    facts: { id },
  })
}
