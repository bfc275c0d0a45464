/**
 * Everything that can be asked of a server, with what goes in and what comes out, as JSON on the wire: moments are ISO texts.
 *
 * An operation is written once, under `operations/`, and HTTP, gRPC, the dashboard and the command line all call that one. The
 * dashboard imports the types of this file and nothing else. Beside its own path each of them is reachable as
 * `POST /api/v1/call/<name>`, with the input as the body.
 *
 * Which operations a caller may use is said by its scopes (see {@link Scope}); which space they act in, by its credential.
 */
import type {
  Explanation,
  FlowView,
  GroupView,
  HoldKind,
  HoldView,
  JobState,
  JobView,
  LimitView,
  LogPage,
  QueueExplanation,
  RunMembers,
  RunStatus,
  RunView,
  ScheduleView,
  SpaceView,
} from '../../index.ts'

/** A value as it is in JSON: moments are ISO texts. */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Wire<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Wire<T[Key]> }
      : T

/**
 * What a caller may do. `read` looks, `operate` changes jobs, holds, schedules and runs, `admin` also blocks, gives tokens and
 * reads the audit; `enqueue` and `work` are for programs. Each of `read`, `operate`, `admin` includes those before it.
 */
export const SCOPES = ['enqueue', 'work', 'read', 'operate', 'admin'] as const
export type Scope = (typeof SCOPES)[number]

/** An empty object: the operation takes nothing, or answers nothing. */
export type Nothing = Readonly<Record<never, never>>

/** A page that may go on. */
export interface Paged {
  /** @default 50, at most 200 */
  readonly limit?: number
  readonly cursor?: string
}

// ── who and where ────────────────────────────────────────────────────────────────────────────────

export interface Me {
  /** How the caller is called in the audit. */
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly space: string
  /** Spaces that it may name with the header `skep-space`; null: only its own. `'*'`: every one. */
  readonly spaces: readonly string[] | '*' | null
  /** Patterns of the queues that it may see. `['*']`: all. */
  readonly queues: readonly string[]
  /** Whether payloads, results and logs are shown to it. */
  readonly payloads: boolean
  /** A word such as "production", shown beside the name; null: none. */
  readonly environment: string | null
  readonly version: string
  /** Where traces are: `{trace}` stands for the id; null: nowhere. */
  readonly traceUrl: string | null
}

/** Something that a person should know of, in words. The list is empty when all is well. */
export interface Attention {
  readonly level: 'warning' | 'critical'
  readonly kind:
    | 'no-worker'
    | 'backlog'
    | 'failing'
    | 'dead'
    | 'held'
    | 'worker-gone'
    | 'worker-lagging'
    | 'version-skew'
    | 'schedule-late'
    | 'notifier'
    | 'receiver'
  readonly text: string
  /** Where to look, as a path inside of the dashboard, such as `/queues/mail`. */
  readonly link: string
}

/** One value for each bucket of time. */
export interface Series {
  /** The beginning of the first bucket, and the length of each. */
  readonly from: string
  readonly stepMs: number
  readonly enqueued: readonly number[]
  readonly done: readonly number[]
  readonly failed: readonly number[]
  readonly retried: readonly number[]
  /** In milliseconds; null where nothing happened. From due to start, and from start to end. */
  readonly waitP50: readonly (number | null)[]
  readonly waitP95: readonly (number | null)[]
  readonly waitP99: readonly (number | null)[]
  readonly runP50: readonly (number | null)[]
  readonly runP95: readonly (number | null)[]
  readonly runP99: readonly (number | null)[]
}

export const RANGES = ['15m', '1h', '6h', '24h', '7d'] as const
export type Range = (typeof RANGES)[number]

export interface Overview {
  readonly attention: readonly Attention[]
  readonly totals: Readonly<Record<JobState, number>>
  /** How long the oldest waiting job has been due, in the queue where that is longest. */
  readonly oldest: { readonly queue: string; readonly ms: number } | null
  /** Ready jobs of queues that no live worker handles. */
  readonly unhandled: number
  readonly queues: number
  readonly workers: { readonly live: number; readonly running: number; readonly slots: number }
  readonly receivers: number
  readonly series: Series
  /** When a worker of another version first appeared, for marks in the charts. */
  readonly deploys: readonly { readonly at: string; readonly version: string }[]
  readonly now: string
}

/** One check of the doctor. */
export interface Check {
  readonly name: string
  readonly status: 'ok' | 'warning' | 'failed'
  readonly text: string
  /** What to do, perhaps as a command or as SQL. */
  readonly fix: string | null
}

export interface SystemView {
  /** Where the jobs are, without a password. */
  readonly store: {
    readonly label: string
    readonly durability: string
    readonly level: string
    readonly latencyMs: number
  }
  readonly notifier: { readonly status: 'up' | 'down' | 'off'; readonly detail: string }
  readonly checks: readonly Check[]
  readonly server: {
    readonly version: string
    readonly node: string
    readonly upMs: number
    readonly memoryBytes: number
    readonly lagMs: number
    readonly connections: number
  }
  /** Every feature that this store cannot do, in words. */
  readonly limits: readonly string[]
}

// ── queues ───────────────────────────────────────────────────────────────────────────────────────

export interface QueueSummary {
  readonly queue: string
  /** By the clock: a delayed job that is due is ready. */
  readonly counts: Readonly<Record<JobState, number>>
  /** How long the waiting job that has waited longest has been due, also in a paused or full lane; null when none is ready. */
  readonly oldestMs: number | null
  /** How many of its ready jobs no live worker handles: all of them, or 0. */
  readonly unhandled: number
  readonly hold: HoldKind | null
  readonly holds: readonly Wire<HoldView>[]
  /** In the last minute, per second. */
  readonly enqueuedRate: number
  readonly doneRate: number
  readonly failedRate: number
  /** Slots of its live workers, and how many of them it uses. */
  readonly workers: number
  readonly slots: number
  readonly limited: boolean
  /** Ends per bucket of the last 15 minutes, for a small line. */
  readonly spark: readonly number[]
}

export interface QueueDetail extends QueueSummary {
  /** Why its waiting jobs wait: each cause with the number of jobs that it keeps back. */
  readonly explanation: Wire<QueueExplanation>
  readonly limits: readonly Wire<LimitView>[]
  readonly series: Series
  /** When a worker of another version first appeared, for marks in the charts. */
  readonly deploys: Overview['deploys']
  /** What its declaration says, if a worker has told: see {@link QueueCard}. */
  readonly card: QueueCard | null
}

/** How a queue was declared in code, as its workers told the store. */
export interface QueueCard {
  readonly queue: string
  /** JSON Schema of the payload; null if there is none, or it cannot be told. */
  readonly schema: unknown
  /** The policy in words. */
  readonly policy: readonly string[]
  readonly timeoutMs: number | null
  readonly priority: number
  readonly hasLanes: boolean
  readonly tellsUnique: boolean
}

export interface LaneSummary {
  readonly lane: string
  readonly running: number
  /** Waiting, counted up to a cap. */
  readonly waiting: number
  readonly waitingIsExact: boolean
  /** When its rate lets the next start, if that is later than now. */
  readonly startsAt: string | null
  /** Of a strict lane: the job at its head. */
  readonly occupant: string | null
  readonly hold: HoldKind | null
  readonly changed: boolean
  /** What keeps its next job back, in one sentence; null: nothing of its own. */
  readonly waitsFor: {
    readonly cause: 'held' | 'lane-waits' | 'occupied' | 'lane-full'
    readonly text: string
  } | null
}

export interface HoldTargetInput {
  /** A name or a pattern; left out: all queues of the space. */
  readonly queue?: string
  readonly lane?: string
}

// ── jobs ─────────────────────────────────────────────────────────────────────────────────────────

export interface JobList {
  readonly jobs: readonly Wire<JobView>[]
  readonly cursor: string | null
  /** How many jobs were looked at for this page: a query by content may have to go on. */
  readonly searched: number
}

/** What happened to a job, oldest first. */
export interface TimelineEntry {
  readonly at: string
  readonly kind:
    | 'enqueued'
    | 'due'
    | 'started'
    | 'failed'
    | 'timeout'
    | 'lost'
    | 'snoozed'
    | 'finished'
    | 'cancelled'
    | 'retried'
    | 'expires'
  readonly text: string
  /** Which run of the job, from 1; null where it is none. */
  readonly attempt: number | null
}

/** One run of a job that ended badly. */
export interface Attempt {
  /** From 1; a retry by hand begins anew. */
  readonly n: number
  /** How often the job had been retried by hand. */
  readonly generation: number
  readonly at: string
  /** When it began, on which worker and on which version of its program; null where that is not known. */
  readonly startedAt: string | null
  readonly worker: string | null
  readonly version: string | null
  readonly kind: 'error' | 'timeout' | 'lost' | 'snooze' | 'cancel' | 'bury'
  readonly message: string
  readonly name: string | null
  readonly stack: string | null
}

export interface JobDetail {
  readonly job: Wire<JobView>
  readonly timeline: readonly TimelineEntry[]
  readonly attempts: readonly Attempt[]
  readonly explanation: Wire<Explanation>
  /** The group of its error, if it has one. */
  readonly errorGroup: string | null
  /** The schedule, the run and the group that it is of. */
  readonly schedule: string | null
  readonly run: string | null
  readonly group: string | null
  readonly copyOf: string | null
  /** The id of its trace, from its `traceparent`. */
  readonly trace: string | null
}

export interface EnqueueInput {
  readonly queue: string
  readonly payload: unknown
  /** For enqueuing again without doing it twice. @default a new one */
  readonly id?: string
  readonly delay?: string
  readonly runAt?: string
  readonly priority?: number
  readonly lane?: string
  readonly cost?: number
  readonly unique?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface EnqueueOutput {
  readonly id: string
  /** Its unique key was held by another, and `id` is that one. */
  readonly duplicate: boolean
}

export const JOB_ACTIONS = [
  'retry',
  'cancel',
  'bury',
  'promote',
  'reschedule',
  'remove',
  'prioritize',
] as const
/** `retry` starts finished jobs anew (the store's word is retry). */
export type JobAction = (typeof JOB_ACTIONS)[number]

export const BULK_ACTIONS = [
  'retry',
  'cancel',
  'bury',
  'promote',
  'reschedule',
  'remove',
  'prioritize',
  'move',
] as const
/** What can be done to all jobs that fit a query. */
export type BulkAction = (typeof BULK_ACTIONS)[number]

export interface ChangeOutput {
  readonly changed: number
  readonly requested: number
  readonly refused: readonly { readonly id: string; readonly reason: string }[]
}

export interface BulkView {
  readonly id: string
  readonly name: string
  readonly action: BulkAction
  readonly query: string
  readonly by: string
  readonly status: 'running' | 'done' | 'stopped' | 'failed'
  /** Looked at, and of these changed and refused. */
  readonly searched: number
  readonly changed: number
  readonly refused: number
  /** How many fit when it began; null if that was not counted to the end. */
  readonly expected: number | null
  readonly startedAt: string
  /** Nothing is changed before this: until then a stop undoes it. */
  readonly beginsAt: string
  /** When it began by the store's clock: the jobs that it retries are due then. Null until a process took it up. */
  readonly boundAt: string | null
  readonly endedAt: string | null
  readonly error: string | null
}

export interface CountInput {
  readonly query?: string
  /** Counts the jobs that this action would come to, to the end: add the counts of all pages until there is no cursor. */
  readonly action?: BulkAction
  /** From the page before; with an action alone. */
  readonly cursor?: string
}

export interface CountOutput {
  readonly count: number
  /** False: there are at least so many. */
  readonly isExact: boolean
  /** Of a count with an action: for its next page; null when all are counted. */
  readonly cursor?: string | null
  /** Of a count with an action: how many jobs were looked at for this page. */
  readonly searched?: number
}

export interface SavedView {
  readonly id: string
  readonly name: string
  readonly query: string
  readonly by: string
}

// ── errors ───────────────────────────────────────────────────────────────────────────────────────

/** Errors that are alike: of one queue, with one name and, numbers and ids left out, one message. */
export interface ErrorGroup {
  readonly id: string
  readonly queue: string
  readonly name: string
  readonly message: string
  readonly firstAt: string
  readonly lastAt: string
  /** How often it happened, retried runs included. */
  readonly count: number
  /** How often a job died of it. */
  readonly dead: number
  /** Per hour of the last day. */
  readonly spark: readonly number[]
  readonly sampleJob: string
  readonly sampleStack: string | null
  /** How often it happened on each version of the program: the ten seen last, newest first. */
  readonly versions: readonly {
    readonly version: string
    readonly count: number
    readonly firstAt: string
    readonly lastAt: string
  }[]
  readonly muted: { readonly by: string; readonly until: string | null } | null
}

// ── schedules, flows ─────────────────────────────────────────────────────────────────────────────

export interface SlotPreview {
  readonly at: string
  /** The same in the zone of the schedule, as a clock on the wall shows it. */
  readonly local: string
  /** The clocks change between the slot before and this one, or that night this time on the wall comes twice. */
  readonly note: 'clocks-forward' | 'clocks-back' | 'comes-twice' | null
}

export interface ScheduleSummary extends Wire<ScheduleView> {
  /** "every day at 09:30, Europe/Berlin" */
  readonly words: string
}

export interface ScheduleInput {
  readonly id: string
  readonly queue: string
  readonly cron?: string
  readonly timeZone?: string
  readonly every?: string
  readonly payload?: unknown
  /** What an interval counts from. @default 'grid' */
  readonly from?: 'grid' | 'last-run'
  readonly missed?: 'skip' | 'once' | 'all'
  /** How late is still in time: a duration. */
  readonly grace?: string
  readonly overlap?: 'allow' | 'skip' | 'replace'
  readonly jitter?: string
  readonly startAt?: string
  readonly endAt?: string
  readonly priority?: number
}

export interface RunDetail {
  readonly run: Wire<RunView>
  readonly flow: Wire<FlowView> | null
  readonly members: Wire<RunMembers>
  readonly branches: readonly {
    readonly id: string
    readonly name: string
    readonly status: RunStatus
    readonly step: string | null
  }[]
  readonly explanation: Wire<Explanation>
}

// ── workers, receivers ───────────────────────────────────────────────────────────────────────────

export interface WorkerSummary {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly queues: readonly string[]
  readonly concurrency: number
  readonly running: number
  readonly startedAt: string
  readonly seenAt: string
  readonly life: 'here' | 'gone' | 'unsure'
  readonly version: string | null
  readonly node: string | null
  readonly memoryBytes: number | null
  /** How late its event loop is, the 99th of a hundred. */
  readonly lagMs: number | null
  /** What it was told and may not have done yet. */
  readonly command: 'pause' | 'stop' | null
  readonly paused: boolean
}

export interface ReceiverSummary {
  readonly id: string
  readonly name: string
  readonly address: string
  readonly protocol: 'grpc' | 'http' | 'poll'
  readonly queues: readonly string[]
  readonly keys: string | null
  readonly credits: number
  readonly unacked: number
  readonly unackedBytes: number
  /** When it got the job that it has had for the longest time; null: it has none. */
  readonly oldestAt: string | null
  readonly acked: number
  readonly nacked: number
  readonly connectedAt: string
  readonly lastAckAt: string | null
}

// ── access ───────────────────────────────────────────────────────────────────────────────────────

export interface TokenView {
  readonly id: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly space: string
  readonly queues: readonly string[]
  readonly payloads: boolean
  readonly createdAt: string
  readonly createdBy: string
  readonly expiresAt: string | null
  readonly lastUsedAt: string | null
}

/** A notice of NATS that was delivered too often without an answer. Its jobs are in the store, whatever became of them. */
export interface DeadNotice {
  readonly queue: string
  /** The jobs that it named; none if it could not be read. */
  readonly ids: readonly string[]
  readonly deliveries: number
  readonly reason: string
  readonly dueAt: string
  readonly buriedAt: string
}

export interface DeadNoticeList {
  /** Whether the notifier of this server has notices at all: NATS has, others do not. */
  readonly hasNotices: boolean
  readonly notices: readonly DeadNotice[]
  readonly cursor: string | null
}

export interface AuditEntry {
  readonly id: string
  readonly at: string
  readonly who: string
  /** The operation. */
  readonly what: keyof Api
  /** What it was done to, in words. */
  readonly target: string
  readonly outcome: 'ok' | 'refused' | 'failed'
  readonly detail: string | null
  readonly address: string | null
}

// ── the operations ───────────────────────────────────────────────────────────────────────────────

interface Call<Input, Output> {
  readonly input: Input
  readonly output: Output
}

interface OfQueue {
  readonly queue: string
}
interface OfId {
  readonly id: string
}
interface HoldInput extends HoldTargetInput {
  readonly reason?: string
  /** A duration. */
  readonly for?: string
  /** Answers when every live worker has handed back what it had not started. */
  readonly wait?: boolean
  /** How long `wait` waits, a duration. @default '30s' */
  readonly timeout?: string
}

/** The operations by name. Their methods and paths are beside their code, in `operations/`. */
export interface Api {
  'me.get': Call<Nothing, Me>
  'overview.get': Call<{ readonly range?: Range }, Overview>
  'series.get': Call<{ readonly queue?: string; readonly range?: Range }, Series>
  'system.get': Call<Nothing, SystemView>

  'queues.list': Call<Nothing, { readonly queues: readonly QueueSummary[] }>
  'queues.get': Call<OfQueue & { readonly range?: Range }, QueueDetail>
  'queues.lanes': Call<
    OfQueue & Paged & { readonly prefix?: string },
    { readonly lanes: readonly LaneSummary[]; readonly cursor: string | null }
  >
  'queues.limit': Call<OfQueue & { readonly lane?: string; readonly limits: unknown }, Wire<LimitView>>
  'queues.unlimit': Call<OfQueue & { readonly lane?: string }, Wire<LimitView>>
  /** With `dryRun` it only counts. Otherwise `confirm` must be the name of the queue. */
  'queues.purge': Call<
    OfQueue & {
      readonly states?: readonly JobState[]
      /** In the payload or the failure. */
      readonly text?: string
      /** Due or finished since then, and before then. */
      readonly after?: string
      readonly before?: string
      readonly dryRun?: boolean
      readonly confirm?: string
    },
    { readonly removed: number; readonly running: number; readonly counts: Readonly<Record<string, number>> }
  >
  /** With `dryRun` it only counts. Otherwise `confirm` must be the name of the queue. */
  'queues.drop': Call<
    OfQueue & { readonly force?: boolean; readonly dryRun?: boolean; readonly confirm?: string },
    {
      readonly queue: string
      readonly dryRun: boolean
      /** Whether there was anything under this name. */
      readonly known: boolean
      readonly jobs: number
      readonly states: Readonly<Record<string, number>>
      readonly limits: number
      readonly holds: number
    }
  >

  /** Declared and changed limits of all queues, or of one with its lanes. */
  'limits.list': Call<{ readonly queue?: string }, { readonly limits: readonly Wire<LimitView>[] }>

  'holds.list': Call<Nothing, { readonly holds: readonly Wire<HoldView>[] }>
  'holds.pause': Call<HoldInput, { readonly holds: readonly Wire<HoldView>[] }>
  'holds.resume': Call<
    HoldTargetInput,
    { readonly released: boolean; readonly holds: readonly Wire<HoldView>[] }
  >
  'holds.block': Call<HoldInput, { readonly holds: readonly Wire<HoldView>[] }>
  'holds.unblock': Call<
    HoldTargetInput,
    { readonly released: boolean; readonly holds: readonly Wire<HoldView>[] }
  >

  'jobs.list': Call<Paged & { readonly query?: string }, JobList>
  'jobs.count': Call<CountInput, CountOutput>
  'jobs.get': Call<OfId, JobDetail>
  'jobs.explain': Call<OfId, Wire<Explanation>>
  'jobs.logs': Call<OfId & { readonly after?: number; readonly limit?: number }, Wire<LogPage>>
  'jobs.enqueue': Call<EnqueueInput, EnqueueOutput>
  'jobs.enqueueMany': Call<
    { readonly jobs: readonly EnqueueInput[] },
    { readonly jobs: readonly EnqueueOutput[] }
  >
  'jobs.change': Call<
    {
      readonly action: JobAction
      readonly ids: readonly string[]
      readonly reason?: string
      readonly priority?: number
      /** For `reschedule`: when they are due. */
      readonly at?: string
    },
    ChangeOutput
  >
  /** A new job like this one, perhaps with another payload or queue. */
  'jobs.copy': Call<OfId & { readonly payload?: unknown; readonly queue?: string }, EnqueueOutput>

  'bulk.start': Call<
    {
      readonly action: BulkAction
      readonly query: string
      readonly name?: string
      readonly reason?: string
      readonly priority?: number
      /** For `reschedule`: when they are due. */
      readonly at?: string
      /** For `move`: where they go. */
      readonly queue?: string
      /** Changes nothing before this time is over, such as `5s`, so that a stop undoes it. */
      readonly delay?: string
      /** At most so many jobs per second. */
      readonly perSecond?: number
      /** How many jobs these are, as a count said: for the progress. */
      readonly expected?: number
    },
    BulkView
  >
  'bulk.list': Call<Nothing, { readonly bulks: readonly BulkView[] }>
  'bulk.get': Call<OfId, BulkView>
  'bulk.stop': Call<OfId, BulkView>

  'views.list': Call<Nothing, { readonly views: readonly SavedView[] }>
  'views.put': Call<{ readonly name: string; readonly query: string }, SavedView>
  'views.remove': Call<OfId, Nothing>

  'errors.list': Call<
    Paged & { readonly queue?: string; readonly muted?: boolean },
    { readonly groups: readonly ErrorGroup[]; readonly cursor: string | null }
  >
  'errors.get': Call<OfId, ErrorGroup>
  /** Retries all dead and failed jobs of the group as a bulk action. */
  'errors.retry': Call<OfId, BulkView>
  'errors.mute': Call<OfId & { readonly for?: string }, ErrorGroup>
  'errors.unmute': Call<OfId, ErrorGroup>

  'deadNotices.list': Call<Paged, DeadNoticeList>

  'schedules.list': Call<
    Paged & { readonly owner?: string },
    { readonly schedules: readonly ScheduleSummary[]; readonly cursor: string | null }
  >
  'schedules.get': Call<
    OfId & { readonly count?: number },
    { readonly schedule: ScheduleSummary; readonly next: readonly SlotPreview[] }
  >
  'schedules.put': Call<ScheduleInput, ScheduleSummary>
  'schedules.pause': Call<OfId & { readonly reason?: string }, ScheduleSummary>
  'schedules.resume': Call<OfId, ScheduleSummary>
  'schedules.run': Call<OfId, EnqueueOutput>
  'schedules.remove': Call<OfId & { readonly force?: boolean }, Nothing>
  'schedules.preview': Call<
    {
      readonly cron?: string
      readonly timeZone?: string
      readonly every?: string
      readonly count?: number
    },
    { readonly words: string; readonly next: readonly SlotPreview[] }
  >

  'flows.list': Call<Nothing, { readonly flows: readonly Wire<FlowView>[]; readonly isAll: boolean }>
  'runs.list': Call<
    Paged & {
      readonly flow?: string
      readonly status?: RunStatus
      readonly attribute?: string
      /** This run with its branches, and theirs; otherwise branches are left out. */
      readonly root?: string
    },
    { readonly runs: readonly Wire<RunView>[]; readonly cursor: string | null }
  >
  'runs.get': Call<OfId, RunDetail>
  'runs.cancel': Call<OfId & { readonly reason?: string }, { readonly changed: boolean }>
  'runs.retry': Call<OfId & { readonly from?: string }, { readonly changed: boolean }>
  'runs.signal': Call<
    OfId & { readonly name: string; readonly value?: unknown },
    { readonly changed: boolean }
  >
  'groups.get': Call<OfId, Wire<GroupView>>

  /** All spaces of the store that have jobs; a token of one space sees its own alone. */
  'spaces.list': Call<Nothing, { readonly spaces: readonly SpaceView[] }>
  'workers.list': Call<Nothing, { readonly workers: readonly WorkerSummary[] }>
  /** `pause`: claims no more jobs. `resume`: ends a pause. `stop`: drains and stops. */
  'workers.command': Call<OfId & { readonly command: 'pause' | 'resume' | 'stop' }, WorkerSummary>

  'receivers.list': Call<Nothing, { readonly receivers: readonly ReceiverSummary[] }>
  'receivers.close': Call<OfId, Nothing>

  'tokens.list': Call<Nothing, { readonly tokens: readonly TokenView[] }>
  /** The only time that the token itself is shown. */
  'tokens.create': Call<
    {
      readonly name: string
      readonly scopes: readonly Scope[]
      readonly space?: string
      readonly queues?: readonly string[]
      readonly payloads?: boolean
      readonly expires?: string
    },
    { readonly token: string; readonly view: TokenView }
  >
  'tokens.revoke': Call<OfId, Nothing>
  'audit.list': Call<
    Paged & { readonly who?: string; readonly what?: string },
    { readonly entries: readonly AuditEntry[]; readonly cursor: string | null }
  >
}

export type OperationName = keyof Api
export type InputOf<Name extends OperationName> = Api[Name]['input']
export type OutputOf<Name extends OperationName> = Api[Name]['output']

/** What comes back when an operation is refused. */
export interface ApiError {
  readonly error: {
    readonly code: string
    readonly message: string
    readonly facts?: Readonly<Record<string, unknown>>
  }
}

/**
 * What the stream of events carries (`GET /events`, as SSE; the name of an event is its `kind`). At most four a second; a client
 * that is behind gets only the newest. It says what to look at again, and carries only what is small.
 */
export type ServerEvent =
  | { readonly kind: 'counts'; readonly queues: readonly QueueSummary[] }
  | { readonly kind: 'tick'; readonly at: string }
  | {
      readonly kind: 'changed'
      readonly what: readonly ('jobs' | 'holds' | 'schedules' | 'workers' | 'bulk' | 'runs')[]
    }
  /** Only with `?job=<id>`: what `skep.jobs.watch` tells. */
  | { readonly kind: 'job'; readonly event: unknown }
