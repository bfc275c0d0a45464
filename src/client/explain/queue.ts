import { countText, manyText } from '../../core/format.ts'
import { covers, type Hold, holdsQueue } from '../../core/lanes/holds.ts'
import { DEFAULT_LANE } from '../../core/lanes/lanes.ts'
import { laneLimitOf, overlaid, queueLimitsOf } from '../../core/lanes/limit-fields.ts'
import { assertName, show } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import type { LimitRecord } from '../../store/limits.ts'
import type { Store } from '../../store/store.ts'
import { describeTarget, type HoldView, holdViews } from '../queues/holds.ts'
import { rateView } from '../queues/limits.ts'
import { seen, sharersOf } from './explain.ts'
import { rateText } from './reasons.ts'

/** Why the waiting jobs of a queue wait. */
export interface QueueExplanation {
  readonly queue: string
  /** Jobs that are due and wait. */
  readonly waiting: number
  /** Jobs that wait for their time: delayed, or between two attempts. */
  readonly delayed: number
  /** What keeps them back: first what holds all of them, then by the number of jobs. */
  readonly causes: readonly QueueCause[]
  /** False: the queue has more lanes with work than were looked at, so more jobs may wait for one of these causes. */
  readonly isWhole: boolean
}

export type QueueCauseKind =
  | 'held'
  | 'no-worker'
  | 'lane-full'
  | 'lane-waits'
  | 'occupied'
  | 'rate'
  | 'queue-full'
  | 'shared-full'
  | 'workers-busy'
  | 'not-due'
  | 'ready'

/** One reason why jobs wait. */
export interface QueueCause {
  readonly cause: QueueCauseKind
  /** How many jobs it keeps back. */
  readonly jobs: number
  /** False: at least so many. */
  readonly isExact: boolean
  /** Of one lane; null: of the queue, or of `lanes` lanes together. */
  readonly lane: string | null
  /** How many lanes have it; 0 for a cause of the whole queue. */
  readonly lanes: number
  /** For `held`. */
  readonly hold: HoldView | null
  /** When it lets the next job start, where that is known. */
  readonly until: Date | null
  /** The same in one sentence. */
  readonly text: string
}

const KEYS = optionKeys<{ lanes?: number }>('queues.explain()', { lanes: true })

/** Lanes that are looked at. */
const LANES = 100
/** Jobs of one lane that are counted. */
const MOST_IN_LANE = 10_000
/** Lanes with the same cause that are named; the others are counted together. */
const NAMED = 5
/** Counts at the same time, so that they do not take all connections. */
const AT_ONCE = 8

/** The causes of one lane, before its jobs are counted. */
export interface LaneCause extends Pick<QueueCause, 'hold' | 'until'> {
  readonly cause: 'held' | 'lane-waits' | 'occupied' | 'lane-full'
  readonly lane: string
  /** After "n jobs wait: ". */
  readonly why: string
  /** For lanes that are told of together. */
  readonly whyMany: string
}

/** Counts the causes over the waiting jobs. However many jobs there are it looks at so many lanes and at no job. */
export async function explainQueue(
  store: Store,
  space: string,
  queue: string,
  options: { readonly lanes?: number } = {},
): Promise<QueueExplanation> {
  assertOptions(KEYS, options)
  const { lanes: most = LANES } = options
  assertName('Queue', queue)
  const [{ queues }, { holds }, { limits: records }, { workers }, meters] = await Promise.all([
    store.counts({ space, queues: [queue] }),
    store.holds({ space }),
    store.limits({ space, queue }),
    store.workers({ space }),
    store.lanes({ space, queue, limit: most + 1 }),
  ])
  const { ready: waiting = 0, delayed = 0 } = queues[0]?.states ?? {}
  const causes: QueueCause[] = []
  const add = (
    cause: QueueCauseKind,
    jobs: number,
    why: string,
    facts: Partial<Pick<QueueCause, 'hold' | 'until'>> = {},
  ): void => {
    const text = `${manyText(jobs, 'job')} ${jobs === 1 ? 'waits' : 'wait'}: ${why}`
    causes.push({ cause, jobs, isExact: true, lane: null, lanes: 0, hold: null, until: null, ...facts, text })
  }

  if (waiting > 0) {
    for (const hold of holdViews(holds.filter((one) => holdsQueue(one, space, queue))))
      add('held', waiting, heldText(hold, queue), { hold, until: hold.until })
    const live = workers.filter((one) => one.queues.includes(queue)).map((one) => seen(one, meters.now))
    const serving = live.filter(({ isLive }) => isLive)
    if (serving.length === 0) add('no-worker', waiting, 'no live worker handles this queue.')

    const perLane = laneCausesOf({
      space,
      queue,
      holds,
      records,
      meters: { ...meters, lanes: meters.lanes.slice(0, most) },
    })
    const counted = await countedIn(store, { space, queue }, perLane)
    causes.push(...counted.sort((a, b) => b.jobs - a.jobs))

    // What its own lane lets through.
    const inLanes = counted.reduce((sum, { jobs }) => sum + jobs, 0)
    const rest = Math.max(0, waiting - inLanes)
    const before = causes.length
    if (rest > 0) {
      await limitedBy(store, { space, queue, records, meters }, (cause, why, until = null) =>
        add(cause, rest, why, { until }),
      )
      const slots = serving.reduce((sum, { concurrency }) => sum + concurrency, 0)
      if (serving.length > 0 && serving.every(({ running, concurrency }) => running >= concurrency)) {
        add(
          'workers-busy',
          rest,
          `${serving.length === 1 ? 'its worker is' : `all ${serving.length} workers are`} busy, with ${countText(slots)} of ${countText(slots)} slots in use.`,
        )
      }
      const isStopped = causes.some(
        ({ cause, lanes }) => lanes === 0 && (cause === 'held' || cause === 'no-worker'),
      )
      if (causes.length === before && !isStopped)
        add('ready', rest, 'nothing blocks them, they are about to start.')
    }
  }
  if (delayed > 0) {
    const { jobs } = await store.list({ space, queue, state: 'delayed', where: {}, limit: 1, cursor: null })
    const dueAt = jobs[0]?.dueAt
    add('not-due', delayed, `not due yet${dueAt === undefined ? '' : `, the next at ${iso(dueAt)}`}.`, {
      until: dueAt === undefined ? null : new Date(dueAt),
    })
  }
  return { queue, waiting, delayed, causes, isWhole: meters.lanes.length <= most }
}

interface Facts {
  readonly space: string
  readonly queue: string
  readonly records: readonly LimitRecord[]
  readonly meters: Awaited<ReturnType<Store['lanes']>>
}

/** What each lane waits for: the first thing that keeps it back. */
export function laneCausesOf({
  space,
  queue,
  holds,
  records,
  meters,
}: Facts & { readonly holds: readonly Hold[] }): LaneCause[] {
  const { lanes, now } = meters
  const limits = queueLimitsOf(overlaid(...fieldsOf(records, (lane) => lane === undefined)))
  const known = new Set(lanes.map(({ lane }) => lane))
  // A lane may be held although the queue has no limits, and then no meter tells of it.
  const heldAlone = holds.flatMap(({ queue: of, lane }) =>
    lane !== null && of === queue && !known.has(lane) ? [lane] : [],
  )
  const all = [
    ...lanes,
    ...[...new Set(heldAlone)].map((lane) => ({ lane, running: 0, startsAt: 0, occupant: null })),
  ]
  return all.flatMap(({ lane, running, startsAt, occupant }): LaneCause[] => {
    const one = { lane, hold: null, until: null }
    const own = holdViews(
      holds.filter((hold) => hold.lane !== null && covers(hold, { space, queue, lane })),
    )[0]
    if (own)
      return [
        {
          ...one,
          cause: 'held',
          hold: own,
          until: own.until,
          why: `${nameOf(lane)} is ${heldBy(own)}`,
          whyMany: 'lanes are paused or blocked.',
        },
      ]
    const limit = laneLimitOf(limits.lanes, overlaid(...fieldsOf(records, (of) => of === lane)))
    if (startsAt > now) {
      const rate = limit.rate ? `rate limit ${rateText(rateView(limit.rate))}` : 'requested by its handler'
      return [
        {
          ...one,
          cause: 'lane-waits',
          until: new Date(startsAt),
          why: `${nameOf(lane)} is throttled until ${iso(startsAt)}, ${rate}.`,
          whyMany: 'lanes are throttled.',
        },
      ]
    }
    if (limit.strict && occupant !== null)
      return [
        {
          ...one,
          cause: 'occupied',
          why: `${nameOf(lane)} runs in strict order, and job ${occupant} must finish first.`,
          whyMany: 'strict lanes wait for their first job.',
        },
      ]
    if (limit.concurrency !== null && running >= limit.concurrency)
      return [
        {
          ...one,
          cause: 'lane-full',
          why: `${nameOf(lane)} is full, ${running} of ${limit.concurrency} are running.`,
          whyMany: 'lanes are full.',
        },
      ]
    return []
  })
}

/** The declared and the changed fields of a queue or of one of its lanes. */
function fieldsOf(
  records: readonly LimitRecord[],
  is: (lane: string | undefined) => boolean,
): Parameters<typeof overlaid> {
  const record = records.find(({ target }) => 'queue' in target && is(target.lane))
  return [record?.declared ?? null, record?.changed ?? null]
}

/** How many jobs wait for these causes; of many lanes with the same one, all but the first are told of together. */
async function countedIn(
  store: Store,
  place: { readonly space: string; readonly queue: string },
  causes: readonly LaneCause[],
): Promise<QueueCause[]> {
  const counted: (LaneCause & { readonly jobs: number; readonly isExact: boolean })[] = []
  for (let from = 0; from < causes.length; from += AT_ONCE) {
    const part = await Promise.all(
      causes.slice(from, from + AT_ONCE).map(async (cause) => {
        const where = { lane: cause.lane }
        const { count } = await store.count({ ...place, state: 'ready', where, limit: MOST_IN_LANE + 1 })
        return { ...cause, jobs: Math.min(count, MOST_IN_LANE), isExact: count <= MOST_IN_LANE }
      }),
    )
    counted.push(...part.filter(({ jobs }) => jobs > 0))
  }
  const sorted = counted.toSorted((a, b) => b.jobs - a.jobs)
  return [...new Set(sorted.map(({ cause }) => cause))].flatMap((kind) => {
    const alike = sorted.filter(({ cause }) => cause === kind)
    const alone = alike.length <= NAMED + 1 ? alike : alike.slice(0, NAMED)
    const others = alike.slice(alone.length)
    const told = alone.map(
      ({ why, whyMany: _whyMany, ...cause }): QueueCause => ({
        ...cause,
        lanes: 1,
        text: `${waitText(cause)}: ${why}`,
      }),
    )
    const [first] = others
    if (first === undefined) return told
    const jobs = others.reduce((sum, one) => sum + one.jobs, 0)
    const isExact = others.every((one) => one.isExact)
    return [
      ...told,
      {
        cause: first.cause,
        jobs,
        isExact,
        lane: null,
        lanes: others.length,
        hold: null,
        until: null,
        text: `${waitText({ jobs, isExact })}: ${countText(others.length)} more ${first.whyMany}`,
      },
    ]
  })
}

/** What the limits of the queue, and those that it shares, keep back. */
async function limitedBy(
  store: Store,
  { space, records, meters }: Facts,
  add: (cause: QueueCauseKind, why: string, until?: Date | null) => void,
): Promise<void> {
  const { now, queue: own, shared } = meters
  if (own === null) return
  const limits = queueLimitsOf(overlaid(...fieldsOf(records, (lane) => lane === undefined)))
  if (limits.rate && own.startsAt > now) {
    add(
      'rate',
      `the queue is throttled to ${rateText(rateView(limits.rate))}, next start at ${iso(own.startsAt)}.`,
      new Date(own.startsAt),
    )
  }
  if (limits.concurrency !== null && own.running >= limits.concurrency) {
    add('queue-full', `the queue is full, ${own.running} of ${limits.concurrency} are running.`)
  }
  if (limits.shared === null || shared === null) return
  const { concurrency, rate, queues } = await sharersOf(store, space, limits.shared)
  const with_ =
    queues.length > 1
      ? `, shared with ${queues.length - 1} more ${queues.length === 2 ? 'queue' : 'queues'},`
      : ''
  if (rate && shared.startsAt > now) {
    add(
      'rate',
      `the limit ${show(limits.shared)}${with_} is throttled to ${rateText(rateView(rate))}, next start at ${iso(shared.startsAt)}.`,
      new Date(shared.startsAt),
    )
  }
  if (concurrency !== null && shared.running >= concurrency) {
    add(
      'shared-full',
      `the limit ${show(limits.shared)}${with_} is full, ${shared.running} of ${concurrency} are running.`,
    )
  }
}

function waitText({ jobs, isExact }: { readonly jobs: number; readonly isExact: boolean }): string {
  return `${isExact ? '' : 'at least '}${manyText(jobs, 'job')} ${jobs === 1 ? 'waits' : 'wait'}`
}

function heldText(hold: HoldView, queue: string): string {
  if (hold.queue === queue && hold.space !== null) return `the queue is ${heldBy(hold)}`
  const isMany = hold.queue?.includes('*') ?? false
  return `${describeTarget(hold)} ${isMany ? 'are' : 'is'} ${heldBy(hold)}`
}

function heldBy({ kind, by, reason, until }: HoldView): string {
  const who = by === null ? '' : ` by ${show(by)}`
  const end = until === null ? '' : ` until ${iso(until.getTime())}`
  return `${kind === 'block' ? 'blocked' : 'paused'}${who}${end}${reason === null ? '.' : `: ${show(reason)}.`}`
}

/** A lane as a sentence names it. */
export function nameOf(lane: string): string {
  return lane === DEFAULT_LANE ? 'the default lane' : `lane ${show(lane)}`
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
