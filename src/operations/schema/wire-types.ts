/**
 * The types of the API, as JSON on the wire: timestamps are ISO 8601 strings. All of them are derived from the schemas of the
 * operations. The dashboard imports the types of this file and nothing else of the server.
 *
 * Every operation has its own path and is also reachable as `POST /api/v1/call/<name>` with the input as the body.
 */
import type { InputOf, OperationName, OutputOf } from '../table.ts'
import type { QueueSummary } from './outputs.ts'

export { BULK_ACTIONS, type BulkAction } from '../../index.ts'
export type { InputOf, OperationName, Operations, OutputOf } from '../table.ts'
export {
  type HoldTargetInput,
  JOB_ACTIONS,
  type JobAction,
  type Nothing,
  RANGES,
  type Range,
  SCOPES,
  type Scope,
} from './inputs.ts'
export type {
  Attempt,
  Attention,
  AuditEntry,
  BulkView,
  ChangeOutput,
  Check,
  DeadNotice,
  ErrorGroup,
  JobDetail,
  JobList,
  LaneSummary,
  QueueCard,
  QueueDetail,
  QueueSummary,
  ReceiverSummary,
  SavedView,
  ScheduleSummary,
  Series,
  SlotPreview,
  TimelineEntry,
  TokenView,
  WorkerSummary,
} from './outputs.ts'
export type { Wire } from './serialize.ts'

/** The operations by name, with their inputs and outputs. */
export type Api = {
  readonly [Name in OperationName]: { readonly input: InputOf<Name>; readonly output: OutputOf<Name> }
}

export type Me = OutputOf<'me.get'>
export type Overview = OutputOf<'overview.get'>
export type SystemView = OutputOf<'system.get'>
export type CountInput = InputOf<'jobs.count'>
export type CountOutput = OutputOf<'jobs.count'>
export type EnqueueInput = InputOf<'jobs.enqueue'>
export type EnqueueOutput = OutputOf<'jobs.enqueue'>
export type DeadNoticeList = OutputOf<'deadNotices.list'>
export type ScheduleInput = InputOf<'schedules.put'>
export type RunDetail = OutputOf<'runs.get'>

/** The body of a response that refuses an operation. */
export interface ApiError {
  readonly error: {
    readonly code: string
    readonly message: string
    readonly facts?: Readonly<Record<string, unknown>>
  }
}

/**
 * The events of `GET /events` (SSE; the name of an event is its `kind`): at most four per second, and a slow client receives only
 * the latest. An event says what to read again and carries only what is small.
 */
export type ServerEvent =
  | { readonly kind: 'counts'; readonly queues: readonly QueueSummary[] }
  | { readonly kind: 'tick'; readonly at: string }
  | {
      readonly kind: 'changed'
      readonly what: readonly ('jobs' | 'holds' | 'schedules' | 'workers' | 'bulk' | 'runs')[]
    }
  /** Only with `?job=<id>`: an event of `skep.jobs.watch`. */
  | { readonly kind: 'job'; readonly event: unknown }
