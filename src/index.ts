/** `skep`: a durable job queue. Start with {@link createSkep} and {@link queue}. */

export type { Bulk, BulkOptions } from './client/bulk/bulk.ts'
export { BULK_ACTIONS, type BulkAction, type BulkStatus, type BulkView } from './client/bulk/record.ts'
export { defineConfig, type SkepConfig } from './client/config.ts'
export type { DoctorFinding, DoctorReport } from './client/doctor.ts'
export type { CopyOptions } from './client/enqueue/copy-job.ts'
export type { EnqueueOptions } from './client/enqueue/enqueue.ts'
export type { EnqueueManyOptions } from './client/enqueue/enqueue-many.ts'
export { jobIdOf } from './client/enqueue/job-id.ts'
export type { UniqueOptions } from './client/enqueue/unique.ts'
export type { ErrorGroups, ErrorGroupView, ErrorListOptions } from './client/error-groups.ts'
export type { Explanation } from './client/explain/explain.ts'
export type { AwaitedMember, FlowCause } from './client/explain/flows.ts'
export type { QueueCause, QueueCauseKind, QueueExplanation } from './client/explain/queue.ts'
export type { Cause, WorkerSeen } from './client/explain/reasons.ts'
export type { RunBranch } from './client/flows/branches.ts'
export type { FlowSummary, FlowView } from './client/flows/definitions.ts'
export {
  type EachOptions,
  type Flow,
  type FlowOptions,
  flow,
  type Steps,
  type StepView,
} from './client/flows/flow.ts'
export { all, failFast, first, type JoinRule, type Settled, settled } from './client/flows/joins.ts'
export type { RunMember, RunMembers, RunPosition, RunView, RunWaits } from './client/flows/run-view.ts'
export type { Attributes, RunHandle, Runs, StartOptions } from './client/flows/runs.ts'
export type {
  BatchOptions,
  EnqueueGroupOptions,
  Groups,
  GroupView,
  MapOptions,
} from './client/groups/groups.ts'
export type { AddOptions, GroupHandle, OpenGroup, OpenGroupOptions } from './client/groups/handle.ts'
export type { DraftOptions, GroupOptions, JobDraft } from './client/groups/members.ts'
export type { AttemptView } from './client/jobs/attempts.ts'
export type {
  ChangeSummary,
  DeclaredQueue,
  DeclaredTarget,
  JobFilter,
  PrioritizeOptions,
  Target,
} from './client/jobs/change.ts'
export type { DeadNoticeOptions, DeadNoticeView, DeadNoticeViewPage } from './client/jobs/dead-notices.ts'
export type { JobHandle, ResultOptions } from './client/jobs/handle.ts'
export type { EndOptions, Jobs } from './client/jobs/jobs.ts'
export type {
  CountOptions,
  CountPage,
  JobCount,
  JobPage,
  ListOptions,
  QueueView,
  SpaceView,
} from './client/jobs/list.ts'
export type { JobLog, LogLine, LogOptions, LogPage, ProgressView, WriteLine } from './client/jobs/logs.ts'
export type { PurgeableState, PurgeOptions, PurgeSummary } from './client/jobs/purge.ts'
export type { JobView } from './client/jobs/view.ts'
export type { JobEvent, WatchOptions } from './client/jobs/watch.ts'
export type { Metrics, SeriesView } from './client/metrics.ts'
export type { NotifierAccess } from './client/notifier-access.ts'
export { policyOfCard, type QueueCard } from './client/queues/declarations.ts'
export type { DrainOptions, DrainSummary } from './client/queues/drain.ts'
export type { DropOptions, DropSummary } from './client/queues/drop.ts'
export {
  type Answer,
  type BatchHandlerFunction,
  bury,
  cancel,
  type HandlerFunction,
  type JobContext,
  rateLimited,
  snooze,
} from './client/queues/handler-context.ts'
export type { Holdable, HoldOptions, HoldSummary, HoldView, ReleaseSummary } from './client/queues/holds.ts'
export {
  type LaneOptions,
  type QueueLaneOptions,
  type SharedLimit,
  sharedLimit,
} from './client/queues/lane-options.ts'
export type { LaneListOptions, LanePage, LaneState, LaneWait } from './client/queues/lanes.ts'
export type {
  LaneLimitOptions,
  QueueLimitOptions,
  RateOptions,
  SharedLimitOptions,
} from './client/queues/limit-options.ts'
export type { Limitable, Limits, LimitsSaid, LimitView, RateView } from './client/queues/limits.ts'
export {
  type AnyQueue,
  type Handler,
  type Queue,
  type QueueOptions,
  queue,
  type SchemaQueueOptions,
  type ThreadHandler,
  type ThreadModule,
} from './client/queues/queue.ts'
export type { Queues } from './client/queues/queues.ts'
export type { StandardSchema } from './client/queues/schema.ts'
export type { RelayedJob } from './client/remote-execution/job.ts'
export type {
  ForeignEnd,
  Relay,
  RelayEnd,
  RelayLine,
  RelayOptions,
  RelayStop,
  RelayWord,
} from './client/remote-execution/relay.ts'
export type { RelayedResult } from './client/remote-execution/results.ts'
export type { SyncSummary } from './client/schedules/declarations.ts'
export {
  type FlowScheduleOptions,
  type ResolvedSchedule,
  type ScheduleDefinition,
  type ScheduleOptions,
  type SlotContext,
  schedule,
} from './client/schedules/schedule.ts'
export type { SchedulePage, Schedules } from './client/schedules/schedules.ts'
export type { ScheduleView } from './client/schedules/view.ts'
export { createSkep, type Skep, type SkepOptions } from './client/skep.ts'
export type { WorkerView } from './client/workers/list.ts'
export { threadHandler } from './client/workers/thread-handler.ts'
export type { Worker, WorkerStopOptions } from './client/workers/worker.ts'
export type { WorkerCommandOptions, Workers } from './client/workers/workers.ts'
export { type Duration, type Keep, toMs } from './core/duration.ts'
export {
  ERROR_CODES,
  type ErrorCode,
  LeaseLostError,
  messageOf,
  SkepError,
  StoreError,
} from './core/errors.ts'
export { RUN_STATUSES, type RunStatus } from './core/flows/runs.ts'
export { countText, fromNowText, manyText, spanText } from './core/format.ts'
export type { AttemptKind } from './core/jobs/attempts.ts'
export { fingerprintOf } from './core/jobs/fingerprint.ts'
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
} from './core/jobs/job.ts'
export { LOG_LEVELS, type LogLevel } from './core/jobs/job-log.ts'
export { type PriorityMode, STRICT_PRIORITY_SCALE } from './core/jobs/priority.ts'
export { isLiveWorker } from './core/jobs/unhandled.ts'
export { assertExact, parseExact } from './core/json/lossless-json.ts'
export { type HoldKind, matches as matchesPattern, mayMeet as patternsMayMeet } from './core/lanes/holds.ts'
export { type KeyRange, parseKeyRanges, printKeyRange } from './core/lanes/key-range.ts'
export { LIMITS } from './core/limits.ts'
export { assertName, assertPattern, show as showValue } from './core/names.ts'
export { assertFlags, assertOptions, type OptionKeys, optionKeys } from './core/options.ts'
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
} from './core/policies/policy.ts'
export { type Preset, presets } from './core/policies/presets.ts'
export { QUERY_FIELDS, type QueryField } from './core/query/fields.ts'
export { type QueryPart, queryParts } from './core/query/parts.ts'
export {
  parseQuery,
  printQuery,
  QUERY_LIMITS,
  type Query,
  type Term,
  type Value,
} from './core/query/query.ts'
export { cronWords, everyWords } from './core/schedules/describe-cron.ts'
export type { Missed, Overlap, Schedule } from './core/schedules/schedule.ts'
export { flowOfQueue } from './flows/control-jobs.ts'
export type { Outline, StepOutline, WorkOutline } from './flows/outline.ts'
export type { StepStanding, StepStatus } from './flows/step-status.ts'
export { type QueueRates, RANGES, type Range } from './metrics/series.ts'
export type { DeadNotice, DeadNoticePage, Notices } from './notifier/notices.ts'
export type { Hint, Notifier, NotifierHealth } from './notifier/notifier.ts'
export { type LocalNotifierOptions, localNotifier } from './notifiers/local/notifier.ts'
export type { Instrumentation, ProcessedBatch, ProcessedJob } from './runtime/instrumentation.ts'
export { consoleLogger, harmless as harmlessLogger, type Logger, silentLogger } from './runtime/logger.ts'
export { type LagWatch, type Runtime, sleep as sleepFor, systemRuntime } from './runtime/runtime.ts'
export {
  EVERY_SPACE,
  type ListRecordsCall,
  type NewRecord,
  type RecordStore,
  type StoredRecord,
} from './store/records.ts'
export type { ScheduleStore } from './store/schedules.ts'
export type { Durability, Store, StoreFinding, WorkerPresence } from './store/store.ts'
export { WORKER_COMMANDS, type WorkerCommand } from './worker/commands.ts'
export type { EventJob, FailedRun, WorkerEvents } from './worker/events.ts'
export type { Instruction } from './worker/handler.ts'
export type { WorkerOptions } from './worker/options.ts'
export type { ThreadOptions } from './worker/threads/options.ts'
export { inThread } from './worker/threads/self.ts'
export type { WorkerHealth } from './worker/worker.ts'
