/** Schemas of what operations answer. Their types are those of `api.ts`: another type does not compile. */
import {
  type Explanation,
  type Failure,
  type FlowView,
  type GroupView,
  type HoldView,
  JOB_STATES,
  type JobState,
  type JobView,
  type LimitsSaid,
  type LimitView,
  LOG_LEVELS,
  type LogPage,
  type ProgressView,
  type RateView,
  RUN_STATUSES,
  type RunMember,
  type RunMembers,
  type RunStatus,
  type RunView,
  type ScheduleView,
} from '../../index.ts'
import { bulkAction, state } from './inputs.ts'
import {
  all,
  either,
  exactly,
  extended,
  flag,
  json,
  moment,
  named,
  nullable,
  number,
  object,
  oneOf,
  open,
  optional,
  record,
  type Schema,
  table,
  text,
  whole,
} from './schema.ts'
import type {
  Attempt,
  Attention,
  BulkView,
  ChangeOutput,
  DeadNotice,
  ErrorGroup,
  JobDetail,
  JobList,
  LaneSummary,
  Overview,
  QueueCard,
  QueueDetail,
  QueueSummary,
  ScheduleSummary,
  Series,
  SlotPreview,
  TimelineEntry,
  Wire,
} from './wire-types.ts'

/** A text of an answer: as long as it is. */
export const said: Schema<string> = text({ max: Number.MAX_SAFE_INTEGER })
export const saidOrNull: Schema<string | null> = nullable(said)
export const count: Schema<number> = whole()
export const momentOrNull: Schema<string | null> = nullable(moment())
export const nextPage: Schema<string | null> = nullable(
  text({ max: Number.MAX_SAFE_INTEGER, about: 'For the next page; null: this was the last.' }),
)

export const counts: Schema<Readonly<Record<JobState, number>>> = table(JOB_STATES, count)

const failure: Schema<Failure> = object({
  kind: oneOf(['error', 'timeout', 'lost', 'snooze', 'cancel', 'bury', 'poison']),
  message: said,
  name: optional(said),
  code: optional(said),
  stack: optional(said),
  version: optional(said),
  causes: optional(all(object({ name: said, message: said }))),
})

const progress: Schema<Wire<ProgressView>> = object({ value: number(), note: saidOrNull, at: moment() })

export const job: Schema<Wire<JobView>> = named(
  'Job',
  object({
    id: said,
    space: said,
    queue: said,
    state,
    payload: json('Null if the caller may not see it.'),
    headers: record(said),
    priority: number(),
    lane: saidOrNull,
    cost: number(),
    dueAt: moment(),
    enqueuedAt: moment(),
    startedAt: momentOrNull,
    finishedAt: momentOrNull,
    expiresAt: momentOrNull,
    generation: count,
    starts: count,
    errors: count,
    timeouts: count,
    lost: count,
    snoozes: count,
    worker: saidOrNull,
    leaseUntil: momentOrNull,
    cancelReason: saidOrNull,
    unique: saidOrNull,
    result: json('What the handler returned; null if nothing, or if the caller may not see it.'),
    failure: nullable(failure),
    progress: optional(nullable(progress)),
  }),
)

export const jobList: Schema<JobList> = object({ jobs: all(job), cursor: nextPage, searched: count })

export const hold: Schema<Wire<HoldView>> = named(
  'Hold',
  object({
    kind: oneOf(['pause', 'block']),
    space: saidOrNull,
    queue: saidOrNull,
    lane: saidOrNull,
    reason: saidOrNull,
    by: saidOrNull,
    since: moment(),
    until: momentOrNull,
  }),
)
export const holds: Schema<readonly Wire<HoldView>[]> = all(hold)

const rate: Schema<RateView> = object({ limit: number(), per: number(), burst: number() })
const limitsSaid: Schema<LimitsSaid> = object({
  concurrency: optional(nullable(number())),
  rate: optional(nullable(rate)),
  lanes: optional(
    object({
      concurrency: optional(nullable(number())),
      rate: optional(nullable(rate)),
      weight: optional(number()),
    }),
  ),
  shared: optional(nullable(said)),
  weight: optional(number()),
  order: optional(exactly('strict')),
})
export const limit: Schema<Wire<LimitView>> = named(
  'Limit',
  object({
    target: either(object({ shared: said }), object({ queue: said, lane: optional(said) })),
    declared: nullable(limitsSaid),
    changed: nullable(limitsSaid),
    limits: limitsSaid,
  }),
)

/** When a worker of another version first appeared. */
export const deploys: Schema<Overview['deploys']> = all(object({ at: moment(), version: said }))

const values = all(nullable(number()))
export const series: Schema<Series> = named(
  'Series',
  object({
    from: moment(),
    stepMs: number(),
    enqueued: all(number()),
    done: all(number()),
    failed: all(number()),
    retried: all(number()),
    waitP50: values,
    waitP95: values,
    waitP99: values,
    runP50: values,
    runP95: values,
    runP99: values,
  }),
)

export const queueSummary: Schema<QueueSummary> = named(
  'Queue',
  object({
    queue: said,
    counts,
    oldestMs: nullable(number()),
    unhandled: count,
    hold: nullable(oneOf(['pause', 'block'])),
    holds,
    enqueuedRate: number(),
    doneRate: number(),
    failedRate: number(),
    workers: count,
    slots: count,
    limited: flag(),
    spark: all(number()),
  }),
)

export const card: Schema<QueueCard> = object({
  queue: said,
  schema: json('JSON Schema of the payload; null if it is not known.'),
  policy: all(said),
  timeoutMs: nullable(number()),
  priority: number(),
  hasLanes: flag(),
  tellsUnique: flag(),
})

const queueExplanation: Schema<QueueDetail['explanation']> = object({
  queue: said,
  waiting: count,
  delayed: count,
  causes: all(
    object({
      cause: oneOf([
        'held',
        'no-worker',
        'lane-full',
        'lane-waits',
        'occupied',
        'rate',
        'queue-full',
        'shared-full',
        'workers-busy',
        'not-due',
        'ready',
      ]),
      jobs: count,
      isExact: flag(),
      lane: saidOrNull,
      lanes: count,
      hold: nullable(hold),
      until: momentOrNull,
      text: said,
    }),
  ),
  isWhole: flag('False: more lanes have work than were looked at.'),
})

export const queueDetail: Schema<QueueDetail> = named(
  'QueueDetail',
  extended(
    queueSummary,
    object({
      limits: all(limit),
      series,
      deploys,
      card: nullable(card),
      explanation: queueExplanation,
    }),
  ),
)

export const lane: Schema<LaneSummary> = object({
  lane: said,
  running: count,
  waiting: count,
  waitingIsExact: flag(),
  startsAt: momentOrNull,
  occupant: saidOrNull,
  hold: nullable(oneOf(['pause', 'block'])),
  changed: flag(),
  waitsFor: nullable(object({ cause: oneOf(['held', 'lane-waits', 'occupied', 'lane-full']), text: said })),
})

/** What may need attention. */
export const ATTENTION_KINDS: readonly Attention['kind'][] = [
  'no-worker',
  'backlog',
  'failing',
  'dead',
  'held',
  'worker-gone',
  'worker-lagging',
  'version-skew',
  'schedule-late',
  'notifier',
  'receiver',
]

export const attention: Schema<Attention> = object({
  level: oneOf(['warning', 'critical']),
  kind: oneOf(ATTENTION_KINDS),
  text: said,
  link: said,
})

type WireCause = Wire<Explanation>['causes'][number]
export const explanation: Schema<Wire<Explanation>> = named(
  'Explanation',
  object({
    id: said,
    kind: nullable(oneOf(['job', 'run', 'group'])),
    state: nullable(state),
    queue: saidOrNull,
    flow: saidOrNull,
    lane: saidOrNull,
    causes: all(
      open<WireCause>({ cause: said, text: said }, 'What keeps it back, with fields that depend on `cause`.'),
    ),
    summary: said,
  }),
)

const timelineEntry: Schema<TimelineEntry> = object({
  at: moment(),
  kind: oneOf([
    'enqueued',
    'due',
    'started',
    'failed',
    'timeout',
    'lost',
    'snoozed',
    'finished',
    'cancelled',
    'retried',
    'expires',
  ]),
  text: said,
  attempt: nullable(count),
})

export const attempt: Schema<Attempt> = object({
  n: count,
  generation: count,
  at: moment(),
  startedAt: momentOrNull,
  worker: saidOrNull,
  version: saidOrNull,
  kind: oneOf(['error', 'timeout', 'lost', 'snooze', 'cancel', 'bury']),
  message: said,
  name: saidOrNull,
  stack: saidOrNull,
})

export const jobDetail: Schema<JobDetail> = named(
  'JobDetail',
  object({
    job,
    timeline: all(timelineEntry),
    attempts: all(attempt),
    explanation,
    errorGroup: saidOrNull,
    schedule: saidOrNull,
    run: saidOrNull,
    group: saidOrNull,
    copyOf: saidOrNull,
    trace: saidOrNull,
  }),
)

export const logPage: Schema<Wire<LogPage>> = object({
  progress: nullable(progress),
  lines: all(
    object({ place: count, at: moment(), level: oneOf(LOG_LEVELS), message: said, fields: record(json()) }),
  ),
  cursor: count,
  more: flag(),
  dropped: count,
})

export const changed: Schema<ChangeOutput> = object({
  changed: count,
  requested: count,
  refused: all(object({ id: said, reason: said })),
})

export const bulk: Schema<BulkView> = named(
  'Bulk',
  object({
    id: said,
    name: said,
    action: bulkAction,
    query: said,
    by: said,
    status: oneOf(['running', 'done', 'stopped', 'failed']),
    searched: count,
    changed: count,
    refused: count,
    expected: nullable(count),
    startedAt: moment(),
    beginsAt: moment(),
    boundAt: momentOrNull,
    endedAt: momentOrNull,
    error: saidOrNull,
  }),
)

export const deadNotice: Schema<DeadNotice> = named(
  'DeadNotice',
  object({
    queue: said,
    ids: all(said),
    deliveries: count,
    reason: said,
    dueAt: moment(),
    buriedAt: moment(),
  }),
)

export const errorGroup: Schema<ErrorGroup> = named(
  'ErrorGroup',
  object({
    id: said,
    queue: said,
    name: said,
    message: said,
    firstAt: moment(),
    lastAt: moment(),
    count,
    dead: count,
    spark: all(number()),
    sampleJob: said,
    sampleStack: saidOrNull,
    versions: all(object({ version: said, count, firstAt: moment(), lastAt: moment() })),
    muted: nullable(object({ by: said, until: momentOrNull })),
  }),
)

const scheduleFields: Schema<Wire<ScheduleView>> = object({
  id: said,
  space: said,
  queue: said,
  cron: nullable(object({ expression: said, timeZone: said })),
  every: nullable(object({ ms: number(), from: oneOf(['grid', 'last-run']) })),
  payload: json('Null if a function makes it, or if the caller may not see it.'),
  dynamic: flag(),
  missed: oneOf(['skip', 'once', 'all']),
  graceMs: number(),
  overlap: oneOf(['allow', 'skip', 'replace']),
  jitterMs: number(),
  startAt: momentOrNull,
  endAt: momentOrNull,
  declared: flag(),
  owner: saidOrNull,
  nextAt: momentOrNull,
  paused: nullable(object({ at: moment(), reason: saidOrNull, by: saidOrNull })),
  lastSlot: momentOrNull,
  lastFiredAt: momentOrNull,
  lastJob: saidOrNull,
  fired: count,
  skipped: count,
  revision: said,
  createdAt: moment(),
  updatedAt: moment(),
})
export const schedule: Schema<ScheduleSummary> = named(
  'Schedule',
  extended(scheduleFields, object({ words: said })),
)

export const slot: Schema<SlotPreview> = object({
  at: moment(),
  local: said,
  note: nullable(oneOf(['clocks-forward', 'clocks-back', 'comes-twice'])),
})

export const status: Schema<RunStatus> = oneOf(RUN_STATUSES)

export const flow: Schema<Wire<FlowView>> = named(
  'Flow',
  object({
    name: said,
    version: number(),
    outline: nullable(
      open<NonNullable<Wire<FlowView>['outline']>>({ steps: all(json()) }, 'Its steps, as a tree.'),
    ),
    runs: table(RUN_STATUSES, count),
  }),
)

export const run: Schema<Wire<RunView>> = named(
  'Run',
  object({
    id: said,
    flow: said,
    version: number(),
    status,
    state: json('Null if the caller may not see it.'),
    attributes: all(said),
    startedAt: moment(),
    endedAt: momentOrNull,
    result: json('Null if the caller may not see it.'),
    failure: nullable(object({ message: said })),
    position: object({
      step: saidOrNull,
      isUndoing: flag(),
      waits: nullable(
        object({
          kind: oneOf(['jobs', 'branches', 'signal', 'moment']),
          group: saidOrNull,
          size: number(),
          done: number(),
          failed: number(),
          until: momentOrNull,
        }),
      ),
      steps: all(
        object({
          name: said,
          kind: oneOf(['step', 'each', 'parallel', 'when', 'repeat', 'sleep', 'signal']),
          path: said,
          status: oneOf(['done', 'current', 'todo', 'skipped', 'unknown']),
          round: nullable(number()),
        }),
      ),
    }),
    progress: nullable(number()),
    branchOf: nullable(object({ root: said, group: said, n: number() })),
  }),
)

const member: Schema<Wire<RunMember>> = object({
  n: number(),
  id: said,
  kind: oneOf(['job', 'run']),
  name: saidOrNull,
  state: nullable(state),
  failure: nullable(object({ message: said })),
})
export const members: Schema<Wire<RunMembers>> = object({ open: all(member), failed: all(member) })

export const group: Schema<Wire<GroupView>> = object({
  id: said,
  size: number(),
  isOpen: flag(),
  done: count,
  failed: count,
  endedAt: momentOrNull,
})
