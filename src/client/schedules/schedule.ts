import { type Duration, toMs } from '../../core/duration.ts'
import { SkepError } from '../../core/errors.ts'
import { storedPriority } from '../../core/jobs/priority.ts'
import { encodeHeaders } from '../../core/json/payload.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertName, show } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import {
  encodeSpec,
  type Missed,
  type Overlap,
  SCHEDULE_HEADER,
  type ScheduleSpec,
  SLOT_HEADER,
} from '../../core/schedules/schedule.ts'
import { assertCalendar, type Calendar, type Timing } from '../../core/schedules/slots.ts'
import type { Maker } from '../../maintenance/scheduler.ts'
import { assertWhole } from '../../worker/options.ts'
import { assertJobOptions, type EnqueueOptions, encodeOverrides, type Prepare } from '../enqueue/enqueue.ts'
import { resolveUnique } from '../enqueue/unique.ts'
import type { Flow } from '../flows/flow.ts'
import type { StartOptions } from '../flows/runs.ts'
import type { Queue } from '../queues/queue.ts'
import { type FlowTarget, flowTarget } from './flow-target.ts'

/** What a payload's function is told. */
export interface SlotContext {
  /** The id of the schedule. */
  readonly schedule: string
  /** The moment the job stands for, however late it is made; for `runNow` the time now. */
  readonly slot: Date
}

interface CronOptions {
  /** Five fields, or six with seconds first, or `@daily` and the like. */
  readonly cron: string
  /** The zone in which the expression is read: `'Europe/Berlin'`. @default 'UTC' */
  readonly timeZone?: string
  readonly every?: never
  readonly from?: never
}

interface EveryOptions {
  /** An interval, from one second on. */
  readonly every: Duration
  /**
   * `grid`: at fixed moments, counted from `startAt`, or from 1970 without one. `last-run`: so long after the last job
   * has ended, however it ended. @default 'grid'
   */
  readonly from?: 'grid' | 'last-run'
  readonly cron?: never
  readonly timeZone?: never
}

type PayloadFunction<Input> = (context: SlotContext) => Input | Promise<Input>

// `unknown` would swallow the function, and with it the types of its argument.
type PayloadSource<Input> =
  | (unknown extends Input ? string | number | boolean | object | null | undefined : Input)
  | PayloadFunction<Input>

// What a queue without a type takes may also be nothing.
type PayloadOption<Input> = undefined extends Input
  ? { readonly payload?: PayloadSource<Input> }
  : { /** The payload, or a function that makes it for each slot. */ readonly payload: PayloadSource<Input> }

interface CommonOptions
  extends SlotOptions,
    Pick<EnqueueOptions, 'priority' | 'unique' | 'headers' | 'timeout' | 'retention'> {
  /** What a slot does while the last job waits or runs. @default 'allow' */
  readonly overlap?: Overlap
}

interface SlotOptions {
  /**
   * What becomes of slots that nobody fired within `grace`: none of them gets a job, one job stands for all, or each
   * gets its own. @default 'once'
   */
  readonly missed?: Missed
  /** How late a slot may be fired as if it were on time. @default '60s' */
  readonly grace?: Duration
  /** Spreads the starts of jobs over this long after their slots; the same for the same slot. @default 0 */
  readonly jitter?: Duration
  /** No slot before this moment. */
  readonly startAt?: Date | number
  /** No slot at this moment or after it. */
  readonly endAt?: Date | number
}

export type ScheduleOptions<Input = unknown, Result = unknown, Output = Input> = {
  /** Where the jobs go. */
  readonly queue: Queue<Input, Result, Output>
} & PayloadOption<NoInfer<Input>> &
  (CronOptions | EveryOptions) &
  CommonOptions

type InputOption<Input> = unknown extends Input
  ? { readonly input?: object | PayloadFunction<object> }
  : {
      /** What a run starts with, or a function that makes it for each slot. */ readonly input: PayloadSource<Input>
    }

/** A schedule that starts runs of a flow. Each has the id of the job of its slot. */
export type FlowScheduleOptions<Input = unknown, Result = unknown> = {
  /** What it starts. */
  readonly flow: Flow<Input, Result>
} & InputOption<NoInfer<Input>> &
  (CronOptions | (Omit<EveryOptions, 'from'> & { readonly from?: 'grid' })) &
  SlotOptions &
  Pick<StartOptions, 'attributes' | 'priority'>

/** A schedule as code says it. Hand it to `skep.schedules.declare` or `skep.schedules.put`. */
export interface ScheduleDefinition {
  readonly id: string
  readonly queue: string
  /** Its slots. */
  readonly calendar: Calendar
  /** Judges the payload and makes what is stored. */
  readonly resolve: (prepare: Prepare) => Promise<ResolvedSchedule>
}

export interface ResolvedSchedule {
  readonly id: string
  readonly spec: ScheduleSpec
  /** The text that is stored. */
  readonly text: string
  /** Null when the payload is stored with the schedule. */
  readonly make: Maker | null
}

const KEYS = optionKeys<ScheduleOptions | FlowScheduleOptions>('schedule()', {
  queue: true,
  payload: true,
  flow: true,
  input: true,
  attributes: true,
  priority: true,
  unique: true,
  headers: true,
  timeout: true,
  retention: true,
  overlap: true,
  missed: true,
  grace: true,
  jitter: true,
  startAt: true,
  endAt: true,
  cron: true,
  timeZone: true,
  every: true,
  from: true,
})

/** Describes a schedule. Nothing happens until it is declared or put. */
export function schedule<Input, Result, Output>(
  id: string,
  options: ScheduleOptions<Input, Result, Output>,
): ScheduleDefinition
export function schedule<Input, Result>(
  id: string,
  options: FlowScheduleOptions<Input, Result>,
): ScheduleDefinition
export function schedule(id: string, given: object): ScheduleDefinition {
  assertName('Schedule', id)
  assertOptions(KEYS, given ?? null)
  if (!('flow' in given)) return describe(id, given as ScheduleOptions)
  const { flow: _flow, input: _input, attributes: _attributes, ...rest } = given as FlowTarget
  return describe(id, {
    ...rest,
    ...flowTarget(id, given as Parameters<typeof flowTarget>[1]),
  } as ScheduleOptions)
}

function describe<Input, Result, Output>(
  id: string,
  options: ScheduleOptions<Input, Result, Output>,
): ScheduleDefinition {
  const { queue, payload } = options as {
    queue: Queue<Input, Result, Output>
    payload?: PayloadSource<Input>
  }
  if (typeof queue?.name !== 'string' || queue.lanes === undefined) {
    throw invalid(id, 'it needs a queue: queue(name).')
  }
  const calendar: Calendar = {
    timing: timingOf(id, options),
    startAt: momentOf(id, 'startAt', options.startAt),
    endAt: momentOf(id, 'endAt', options.endAt),
  }
  assertCalendar(calendar)
  const rules = rulesOf(id, options, calendar.timing)
  if (rules.jitterMs > 0 && queue.lanes.strict) {
    throw invalid(id, `jitter does not go with queue ${show(queue.name)}, whose jobs run in strict order.`)
  }
  const { priority, unique, headers, timeout, retention } = options
  // Here and not where it is resolved: a worker only logs what it cannot declare, and the schedule would never exist.
  assertJobOptions(queue, options)
  resolveUnique(unique)
  const common = {
    ...(priority === undefined ? {} : { priority }),
    ...(unique === undefined ? {} : { unique }),
    ...(headers === undefined ? {} : { headers }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(retention === undefined ? {} : { retention }),
  }
  // With those that each job gets, there must not be too many.
  encodeHeaders({ ...headers, [SCHEDULE_HEADER]: id, [SLOT_HEADER]: new Date(0).toISOString() })

  return Object.freeze({
    id,
    queue: queue.name,
    calendar,
    async resolve(prepare: Prepare): Promise<ResolvedSchedule> {
      if (typeof payload === 'function') {
        const make = payload as PayloadFunction<Input>
        if (priority !== undefined) assertWhole('priority', priority, -LIMITS.priority, LIMITS.priority)
        const spec: ScheduleSpec = {
          ...calendar,
          ...rules,
          job: {
            queue: queue.name,
            payload: null,
            headers: encodeHeaders(headers),
            priority: storedPriority(priority ?? queue.priority, queue.priorityMode),
            unique: null,
            overrides: encodeOverrides(common),
            lane: null,
            strict: queue.lanes.strict,
            cost: 1,
          },
        }
        return {
          id,
          spec,
          text: encodeSpec(spec),
          make: async (slot) => {
            const job = await prepare(queue, await make({ schedule: id, slot: new Date(slot) }), common)
            return { payload: job.payload, unique: job.unique, lane: job.lane, cost: job.cost }
          },
        }
      }
      const job = await prepare(queue, payload as Input, common)
      const { id: _, space: __, delayMs: ___, runAt: ____, ...template } = job
      const spec: ScheduleSpec = { ...calendar, ...rules, job: template }
      return { id, spec, text: encodeSpec(spec), make: null }
    },
  })
}

type AnyOptions = CommonOptions & (CronOptions | EveryOptions)

function timingOf(id: string, { cron, every, timeZone, from }: AnyOptions): Timing {
  if ((cron === undefined) === (every === undefined)) {
    throw invalid(id, "use either cron ('0 3 * * *') or every ('5m').")
  }
  if (cron !== undefined) {
    if (from !== undefined) throw invalid(id, 'from goes with every.')
    return { kind: 'cron', cron: typeof cron === 'string' ? cron.trim() : cron, timeZone: timeZone ?? 'UTC' }
  }
  if (timeZone !== undefined) throw invalid(id, 'timeZone goes with cron: an interval has none.')
  return { kind: 'every', ms: toMs('every', every as Duration), from: from ?? 'grid' }
}

function rulesOf(
  id: string,
  options: AnyOptions,
  timing: Timing,
): Pick<ScheduleSpec, 'missed' | 'graceMs' | 'overlap' | 'jitterMs'> {
  const { missed = 'once', overlap = 'allow' } = options
  if (!['skip', 'once', 'all'].includes(missed)) {
    throw invalid(id, `missed is ${show(missed)}; use 'skip', 'once' or 'all'.`)
  }
  if (!['allow', 'skip', 'replace'].includes(overlap)) {
    throw invalid(id, `overlap is ${show(overlap)}; use 'allow', 'skip' or 'replace'.`)
  }
  if (timing.kind === 'every' && timing.from === 'last-run' && (missed !== 'once' || overlap !== 'allow')) {
    throw invalid(
      id,
      "missed and overlap say nothing with from: 'last-run': a slot comes when the last job has ended.",
    )
  }
  const graceMs = toMs('grace', options.grace ?? '60s')
  const jitterMs = toMs('jitter', options.jitter ?? 0)
  assertWhole('grace', graceMs, 0, LIMITS.delayMs)
  assertWhole('jitter', jitterMs, 0, LIMITS.delayMs)
  return { missed, graceMs, overlap, jitterMs }
}

function momentOf(id: string, what: string, given: Date | number | undefined): number | null {
  if (given === undefined) return null
  const ms = given instanceof Date ? given.getTime() : given
  if (Number.isFinite(ms) && ms >= 0 && ms <= 8.64e15) return Math.ceil(ms)
  throw invalid(id, `${what} is ${show(given)}; use a valid Date, or milliseconds since 1970.`)
}

function invalid(id: string, message: string): SkepError {
  return new SkepError('SCHEDULE_INVALID', `Schedule ${show(id)}: ${message}`, { facts: { id } })
}
