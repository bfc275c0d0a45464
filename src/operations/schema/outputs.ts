/**
 * Schemas of the outputs of operations, and the types derived from them. A schema of a view of the library is annotated with the
 * type of that view, so that the two cannot differ in either direction; of all others the schema is the only declaration.
 */
import {
  type Explanation,
  type Failure,
  type FlowView,
  type GroupView,
  type HoldView,
  JOB_STATES,
  type JobState,
  type JobView,
  type BulkView as LibraryBulkView,
  type LimitsSaid,
  type LimitView,
  LOG_LEVELS,
  type LogPage,
  type ProgressView,
  type QueueExplanation,
  type RateView,
  RUN_STATUSES,
  type RunMember,
  type RunMembers,
  type RunStatus,
  type RunView,
  type ScheduleView,
} from '../../index.ts'
import { bulkAction, SCOPES, state } from './inputs.ts'
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
  type TypeOf,
  table,
  text,
  whole,
} from './schema.ts'
import type { Wire } from './serialize.ts'

/** A string of any length. */
export const said: Schema<string> = text({ max: Number.MAX_SAFE_INTEGER })
const saidOf = (about: string): Schema<string> => text({ max: Number.MAX_SAFE_INTEGER, about })
export const saidOrNull: Schema<string | null> = nullable(said)
export const count: Schema<number> = whole()
export const momentOrNull: Schema<string | null> = nullable(moment())
export const nextPage: Schema<string | null> = nullable(
  saidOf('The cursor of the next page; null on the last page.'),
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

export type WireJob = Wire<JobView>
export const job: Schema<WireJob> = named(
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

export type JobList = TypeOf<typeof jobList>
export const jobList = object({
  jobs: all(job),
  cursor: nextPage,
  searched: whole({
    about: 'Jobs examined for this page: a query by content may examine more than it returns.',
  }),
})

export type WireHold = Wire<HoldView>
export const hold: Schema<WireHold> = named(
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
export type WireLimit = Wire<LimitView>
export const limit: Schema<WireLimit> = named(
  'Limit',
  object({
    target: either(object({ shared: said }), object({ queue: said, lane: optional(said) })),
    declared: nullable(limitsSaid),
    changed: nullable(limitsSaid),
    limits: limitsSaid,
  }),
)

export const deploys = all(
  object({ at: moment(), version: said }),
  'When a worker of another version first appeared.',
)

const waits = all(nullable(number()), 'Milliseconds from due to start; null in a bucket without data.')
const runs = all(nullable(number()), 'Milliseconds from start to end; null in a bucket without data.')

/** One value per bucket. */
export type Series = TypeOf<typeof series>
export const series = named(
  'Series',
  object({
    from: moment('The start of the first bucket.'),
    stepMs: number('The length of a bucket.'),
    enqueued: all(number()),
    done: all(number()),
    failed: all(number()),
    retried: all(number()),
    waitP50: waits,
    waitP95: waits,
    waitP99: waits,
    runP50: runs,
    runP95: runs,
    runP99: runs,
  }),
)

export type QueueSummary = TypeOf<typeof queueSummary>
export const queueSummary = named(
  'Queue',
  object({
    queue: said,
    /** By the clock: a delayed job that is due counts as ready. */
    counts,
    oldestMs: nullable(
      number('How long the longest-waiting ready job has been due, including held and full lanes.'),
    ),
    unhandled: whole({ about: 'Ready jobs that no live worker handles: all of them, or 0.' }),
    hold: nullable(oneOf(['pause', 'block'])),
    holds,
    enqueuedRate: number('Jobs per second over the last minute.'),
    doneRate: number(),
    failedRate: number(),
    workers: whole({ about: 'Live workers that handle the queue.' }),
    slots: whole({ about: 'The sum of their concurrency.' }),
    limited: flag(),
    spark: all(number(), 'Finished runs per bucket of the last 15 minutes.'),
  }),
)

/** How a queue is declared in code, as its workers published it. */
export type QueueCard = TypeOf<typeof card>
export const card = object({
  queue: said,
  schema: json('JSON Schema of the payload; null if it is not known.'),
  policy: all(said, 'The policy in words.'),
  timeoutMs: nullable(number()),
  priority: number(),
  hasLanes: flag(),
  tellsUnique: flag(),
})

const queueExplanation: Schema<Wire<QueueExplanation>> = object({
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
  isWhole: flag('False if more lanes have jobs than were examined.'),
})

export type QueueDetail = TypeOf<typeof queueDetail>
export const queueDetail = named(
  'QueueDetail',
  extended(
    queueSummary,
    object({
      limits: all(limit),
      series,
      deploys,
      /** Null if no worker has published a declaration. */
      card: nullable(card),
      /** Why its waiting jobs wait: each cause with the number of jobs. */
      explanation: queueExplanation,
    }),
  ),
)

export type LaneSummary = TypeOf<typeof lane>
export const lane = object({
  lane: said,
  running: count,
  waiting: whole({ about: 'Waiting jobs, counted up to a cap.' }),
  waitingIsExact: flag(),
  startsAt: nullable(moment('When its rate allows the next start, if that is in the future.')),
  occupant: nullable(saidOf('The job at the head of a strict lane.')),
  hold: nullable(oneOf(['pause', 'block'])),
  changed: flag('Whether its limits were changed at run time.'),
  /** Why its next job does not start; null if nothing in the lane prevents it. */
  waitsFor: nullable(object({ cause: oneOf(['held', 'lane-waits', 'occupied', 'lane-full']), text: said })),
})

/** What may need attention. */
export const ATTENTION_KINDS = [
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
] as const

/** An issue that an operator should know of. */
export type Attention = TypeOf<typeof attention>
export const attention = object({
  level: oneOf(['warning', 'critical']),
  kind: oneOf(ATTENTION_KINDS),
  text: said,
  link: saidOf('A path inside of the dashboard, such as /queues/mail.'),
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
    causes: all(open<WireCause>({ cause: said, text: said }, 'A cause; further fields depend on `cause`.')),
    summary: said,
  }),
)

/** What happened to a job, oldest first. */
export type TimelineEntry = TypeOf<typeof timelineEntry>
const timelineEntry = object({
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
  attempt: nullable(whole({ about: 'The attempt, from 1; null if the event belongs to none.' })),
})

/** A failed attempt of a job. */
export type Attempt = TypeOf<typeof attempt>
export const attempt = object({
  n: whole({ about: 'From 1; restarts at 1 after a manual retry.' }),
  generation: whole({ about: 'The number of manual retries before it.' }),
  at: moment(),
  startedAt: nullable(moment('Null if it is not known, as are worker and version.')),
  worker: saidOrNull,
  version: saidOrNull,
  kind: oneOf(['error', 'timeout', 'lost', 'snooze', 'cancel', 'bury']),
  message: said,
  name: saidOrNull,
  stack: saidOrNull,
})

export type JobDetail = TypeOf<typeof jobDetail>
export const jobDetail = named(
  'JobDetail',
  object({
    job,
    timeline: all(timelineEntry),
    attempts: all(attempt),
    explanation,
    errorGroup: nullable(saidOf('The group of its error.')),
    schedule: nullable(saidOf('The schedule that made it.')),
    run: nullable(saidOf('The run of a flow that it belongs to.')),
    group: saidOrNull,
    copyOf: saidOrNull,
    trace: nullable(saidOf('The id of its trace, from its `traceparent`.')),
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

export type ChangeOutput = TypeOf<typeof changed>
export const changed = object({
  changed: count,
  requested: count,
  refused: all(object({ id: said, reason: said })),
})

export type BulkView = TypeOf<typeof bulk>
export const bulk: Schema<Wire<LibraryBulkView>> = named(
  'Bulk',
  object({
    id: said,
    name: said,
    action: bulkAction,
    query: said,
    by: said,
    status: oneOf(['running', 'done', 'stopped', 'failed']),
    searched: whole({ about: 'Jobs examined; of these changed and refused.' }),
    changed: count,
    refused: count,
    expected: nullable(whole({ about: 'Jobs that matched at the start; null if not counted to the end.' })),
    startedAt: moment(),
    beginsAt: moment('Nothing is changed before this time: stopping it until then undoes it.'),
    boundAt: nullable(
      moment('When it started by the clock of the store: retried jobs are due then. Null until it starts.'),
    ),
    endedAt: momentOrNull,
    error: saidOrNull,
  }),
)

/** A notice of NATS that was delivered too often without an ack. Its jobs are in the store. */
export type DeadNotice = TypeOf<typeof deadNotice>
export const deadNotice = named(
  'DeadNotice',
  object({
    queue: said,
    ids: all(said, 'The jobs it named; empty if it could not be read.'),
    deliveries: count,
    reason: said,
    dueAt: moment(),
    buriedAt: moment(),
  }),
)

/** Errors of one queue with the same name and, except for numbers and ids, the same message. */
export type ErrorGroup = TypeOf<typeof errorGroup>
export const errorGroup = named(
  'ErrorGroup',
  object({
    id: said,
    queue: said,
    name: said,
    message: said,
    firstAt: moment(),
    lastAt: moment(),
    count: whole({ about: 'Failed attempts, including those that were retried.' }),
    dead: whole({ about: 'Jobs that died of it.' }),
    spark: all(number(), 'Per hour of the last day.'),
    sampleJob: said,
    sampleStack: saidOrNull,
    versions: all(
      object({ version: said, count, firstAt: moment(), lastAt: moment() }),
      'By version of the program: the ten seen last, newest first.',
    ),
    muted: nullable(object({ by: said, until: momentOrNull })),
  }),
)

const scheduleFields: Schema<Wire<ScheduleView>> = object({
  id: said,
  space: said,
  queue: said,
  cron: nullable(object({ expression: said, timeZone: said })),
  every: nullable(object({ ms: number(), from: oneOf(['grid', 'last-run']) })),
  payload: json('Null if a function creates it, or if the caller may not see it.'),
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
export type ScheduleSummary = TypeOf<typeof schedule>
export const schedule = named(
  'Schedule',
  extended(scheduleFields, object({ words: saidOf('Such as "every day at 09:30, Europe/Berlin".') })),
)

export type SlotPreview = TypeOf<typeof slot>
export const slot = object({
  at: moment(),
  local: saidOf('The wall-clock time in the zone of the schedule.'),
  /** The clocks change between the previous slot and this one, or this wall-clock time occurs twice. */
  note: nullable(oneOf(['clocks-forward', 'clocks-back', 'comes-twice'])),
})

export const status: Schema<RunStatus> = oneOf(RUN_STATUSES)

export type WireFlow = Wire<FlowView>
export const flow: Schema<WireFlow> = named(
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

export type WireRun = Wire<RunView>
export const run: Schema<WireRun> = named(
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
export type WireMembers = Wire<RunMembers>
export const members: Schema<WireMembers> = object({ open: all(member), failed: all(member) })

export const group: Schema<Wire<GroupView>> = object({
  id: said,
  size: number(),
  isOpen: flag(),
  done: count,
  failed: count,
  endedAt: momentOrNull,
})

export const worker = object({
  id: said,
  host: said,
  pid: number(),
  queues: all(said),
  concurrency: count,
  running: count,
  startedAt: moment(),
  seenAt: moment(),
  life: oneOf(['here', 'gone', 'unsure']),
  version: saidOrNull,
  node: saidOrNull,
  memoryBytes: nullable(number()),
  lagMs: nullable(number('The 99th percentile of the delay of its event loop.')),
  command: nullable(oneOf(['pause', 'stop'], 'A command that it may not have carried out yet.')),
  paused: flag(),
})
export type WorkerSummary = TypeOf<typeof worker>

export const receiver = object({
  id: said,
  name: said,
  address: said,
  protocol: oneOf(['grpc', 'http', 'poll']),
  queues: all(said),
  keys: saidOrNull,
  credits: count,
  unacked: count,
  unackedBytes: count,
  oldestAt: nullable(moment('When it received the oldest job that it has not acknowledged.')),
  acked: count,
  nacked: count,
  connectedAt: moment(),
  lastAckAt: momentOrNull,
})
export type ReceiverSummary = TypeOf<typeof receiver>

/** One check of the doctor. */
export const check = object({
  name: said,
  status: oneOf(['ok', 'warning', 'failed']),
  text: said,
  fix: nullable(saidOf('How to fix it: text, a command or SQL.')),
})
export type Check = TypeOf<typeof check>

export const token = object({
  id: said,
  name: said,
  scopes: all(oneOf(SCOPES)),
  space: said,
  queues: all(said),
  payloads: flag(),
  createdAt: moment(),
  createdBy: said,
  expiresAt: momentOrNull,
  lastUsedAt: momentOrNull,
})
export type TokenView = TypeOf<typeof token>

export const auditEntry = object({
  id: said,
  at: moment(),
  who: said,
  what: saidOf('The operation.'),
  target: saidOf('What it changed.'),
  outcome: oneOf(['ok', 'refused', 'failed']),
  detail: saidOrNull,
  address: saidOrNull,
})
export type AuditEntry = TypeOf<typeof auditEntry>
export const auditPage = object({ entries: all(auditEntry), cursor: nextPage })

export const savedView = object({ id: said, name: said, query: said, by: said })
export type SavedView = TypeOf<typeof savedView>
