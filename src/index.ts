/** `skep`: a durable job queue. Start with {@link createSkep} and {@link queue}. */
export type { AgainOptions } from './client/again.ts'
export type { AttemptView } from './client/attempts.ts'
export type { RunBranch } from './client/branches.ts'
export type { Bulk, BulkOptions } from './client/bulk.ts'
export { BULK_ACTIONS, type BulkAction, type BulkStatus, type BulkView } from './client/bulk-record.ts'
export { policyOfCard, type QueueCard } from './client/cards.ts'
export type { Cause, WorkerSeen } from './client/causes.ts'
export { defineConfig, type SkepConfig } from './client/config.ts'
export {
  type Answer,
  type BatchHandlerFunction,
  bury,
  cancel,
  type HandlerFunction,
  type JobContext,
  rateLimited,
  snooze,
} from './client/context.ts'
export type { DeadNoticeOptions, DeadNoticeView } from './client/dead-notices.ts'
export type { SyncSummary } from './client/declarations.ts'
export type { DoctorFinding, DoctorReport } from './client/doctor.ts'
export type { DrainOptions, DrainSummary } from './client/drain.ts'
export type { DropOptions, DropSummary } from './client/drop.ts'
export type { EnqueueOptions } from './client/enqueue.ts'
export type { ErrorGroups, ErrorGroupView, ErrorListOptions } from './client/errors.ts'
export type { Explanation } from './client/explain.ts'
export type { QueueCause, QueueCauseKind, QueueExplanation } from './client/explain-queue.ts'
export {
  type EachOptions,
  type Flow,
  type FlowOptions,
  flow,
  type Steps,
  type StepView,
} from './client/flow.ts'
export type { AwaitedMember, FlowCause } from './client/flow-causes.ts'
export type { FlowSummary, FlowView } from './client/flow-summary.ts'
export type { AddOptions, GroupHandle, OpenGroup, OpenGroupOptions } from './client/group-handle.ts'
export type { DraftOptions, GroupOptions, JobDraft } from './client/group-maker.ts'
export type {
  BatchOptions,
  EnqueueGroupOptions,
  Groups,
  GroupView,
  MapOptions,
} from './client/groups.ts'
export type { Holdable, HoldOptions, HoldSummary, HoldView, ReleaseSummary } from './client/holds.ts'
export type {
  CountOptions,
  CountPage,
  JobCount,
  JobPage,
  ListOptions,
  QueueView,
  SpaceView,
} from './client/inspect.ts'
export type { JobHandle, ResultOptions } from './client/job-handle.ts'
export { jobIdOf } from './client/job-id.ts'
export type { JobLog, WriteLine } from './client/job-log.ts'
export { all, failFast, first, type JoinRule, type Settled, settled } from './client/joins.ts'
export {
  type LaneOptions,
  type QueueLaneOptions,
  type SharedLimit,
  sharedLimit,
} from './client/lane-options.ts'
export type { LaneListOptions, LanePage, LaneState, LaneWait } from './client/lanes.ts'
export type {
  LaneLimitOptions,
  QueueLimitOptions,
  RateOptions,
  SharedLimitOptions,
} from './client/limit-options.ts'
export type { Limitable, Limits, LimitsSaid, LimitView, RateView } from './client/limits.ts'
export type { LogLine, LogOptions, LogPage, ProgressView } from './client/logs.ts'
export type { ChangeSummary, JobFilter, Target } from './client/manage.ts'
export type { Metrics, SeriesView } from './client/metrics.ts'
export type { EnqueueManyOptions } from './client/prepare-many.ts'
export type { DeclaredQueue, DeclaredTarget, PrioritizeOptions } from './client/prioritize.ts'
export type { PurgeableState, PurgeOptions, PurgeSummary } from './client/purge.ts'
export {
  type AnyQueue,
  type Handler,
  type Queue,
  type QueueOptions,
  queue,
  type SchemaQueueOptions,
  type ThreadHandler,
  type ThreadModule,
} from './client/queue.ts'
export type {
  ForeignEnd,
  Relay,
  RelayEnd,
  RelayLine,
  RelayOptions,
  RelayStop,
  RelayWord,
} from './client/relay.ts'
export type { RelayedJob } from './client/relayed-job.ts'
export type { RelayedResult } from './client/relayed-results.ts'
export type { RunMember, RunMembers } from './client/run-members.ts'
export type { RunPosition, RunView, RunWaits } from './client/run-view.ts'
export type { Attributes, RunHandle, Runs, StartOptions } from './client/runs.ts'
export {
  type FlowScheduleOptions,
  type ResolvedSchedule,
  type ScheduleDefinition,
  type ScheduleOptions,
  type SlotContext,
  schedule,
} from './client/schedule.ts'
export type { ScheduleView } from './client/schedule-view.ts'
export type { SchedulePage, Schedules } from './client/schedules.ts'
export { createSkep, type Skep, type SkepOptions } from './client/skep.ts'
export type { StandardSchema } from './client/standard-schema.ts'
export { threadHandler } from './client/thread-handler.ts'
export type { UniqueOptions } from './client/unique.ts'
export type { JobView } from './client/view.ts'
export type { JobEvent, WatchOptions } from './client/watch.ts'
export type { WeighedPage, WeighOptions } from './client/weigh.ts'
export type { Worker, WorkerStopOptions } from './client/worker.ts'
export type { WorkerView } from './client/worker-view.ts'
export type { AttemptKind } from './core/attempts.ts'
export { cronWords, everyWords } from './core/cron-words.ts'
export { type Duration, type Keep, toMs } from './core/duration.ts'
export {
  ERROR_CODES,
  type ErrorCode,
  LeaseLostError,
  messageOf,
  SkepError,
  StoreError,
} from './core/errors.ts'
export { assertExact, parseExact } from './core/exact.ts'
export { fingerprintOf } from './core/fingerprint.ts'
export { type HoldKind, matches as matchesPattern, mayMeet as patternsMayMeet } from './core/holds.ts'
export {
  type ClaimedJob,
  type Counters,
  type Failure,
  FINAL_STATES,
  JOB_STATES,
  type Job,
  type JobState,
  type NewJob,
  PRIORITY_STEP_MS,
} from './core/job.ts'
export { type KeyRange, parseKeyRanges, printKeyRange } from './core/key-range.ts'
export { LIMITS } from './core/limits.ts'
export { consoleLogger, harmless as harmlessLogger, type Logger, silentLogger } from './core/logger.ts'
export { assertName, assertPattern, show as showValue } from './core/names.ts'
export { LOG_LEVELS, type LogLevel } from './core/notes.ts'
export { assertOptions, type OptionKeys, optionKeys } from './core/options.ts'
export {
  archive,
  type Backoff,
  buried,
  discard,
  type Ending,
  exponential,
  type FailurePolicy,
  fixed,
  never,
  type Policy,
  retry,
} from './core/policy.ts'
export { type Preset, presets } from './core/presets.ts'
export { type PriorityMode, STRICT_PRIORITY_SCALE } from './core/priority.ts'
export { parseQuery, printQuery, QUERY_LIMITS, type Query, type Term, type Value } from './core/query.ts'
export { QUERY_FIELDS, type QueryField } from './core/query-fields.ts'
export { type QueryPart, queryParts } from './core/query-parts.ts'
export { RUN_STATUSES, type RunStatus } from './core/runs.ts'
export type { Missed, Overlap, Schedule } from './core/schedule.ts'
export { isLiveWorker } from './core/unhandled.ts'
export { type Texts as JobTexts, weightOf } from './core/weight.ts'
export { countText, fromNowText, manyText, spanText } from './core/words.ts'
export type { Outline, StepOutline, WorkOutline } from './flows/outline.ts'
export { flowOfQueue } from './flows/queues.ts'
export type { StepStanding, StepStatus } from './flows/standing.ts'
export type { Instrumentation, ProcessedBatch, ProcessedJob } from './instrumentation.ts'
export { type QueueRates, RANGES, type Range } from './metrics/series.ts'
export type { DeadNotice, DeadNoticePage, Notices } from './notices.ts'
export type { Hint, Notifier, NotifierHealth } from './notifier.ts'
export { type LocalNotifierOptions, localNotifier } from './notifiers/local/notifier.ts'
export { type LagWatch, type Runtime, sleep as sleepFor, systemRuntime } from './runtime.ts'
export {
  EVERY_SPACE,
  type ListRecordsCall,
  type NewRecord,
  type RecordStore,
  type StoredRecord,
} from './store/records.ts'
export type { ScheduleStore } from './store/schedules.ts'
export type { Durability, Store, StoreFinding, WorkerPresence } from './store.ts'
export type { EventJob, FailedRun, WorkerEvents } from './worker/events.ts'
export type { Instruction } from './worker/handler.ts'
export type { WorkerOptions } from './worker/options.ts'
export { ORDERS, type Order } from './worker/orders.ts'
export type { ThreadOptions } from './worker/threads/options.ts'
export { inThread } from './worker/threads/self.ts'
export type { WorkerHealth } from './worker/worker.ts'
