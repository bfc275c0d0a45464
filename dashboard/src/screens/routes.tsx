import { type ComponentType, lazy } from 'react'
import { BulkScreen } from './bulk/bulk.tsx'
import { DeadScreen } from './dead/dead.tsx'
import { ErrorGroupScreen } from './errors/error-group.tsx'
import { ErrorsScreen } from './errors/errors.tsx'
import { FlowScreen } from './flows/flow.tsx'
import { FlowsScreen } from './flows/flows.tsx'
import { GroupScreen } from './flows/group.tsx'
import { RunScreen } from './flows/run.tsx'
import { JobScreen } from './job/job.tsx'
import { JobsScreen } from './jobs/jobs.tsx'
import { OverviewScreen } from './overview/overview.tsx'
import { QueueScreen } from './queues/queue.tsx'
import { QueuesScreen } from './queues/queues.tsx'
import { ScheduleScreen } from './schedules/schedule.tsx'
import { SchedulesScreen } from './schedules/schedules.tsx'
import { WorkersScreen } from './workers/workers.tsx'

// Rarely visited screens are loaded on demand.
const Audit = lazy(async () => ({ default: (await import('./audit/audit.tsx')).AuditScreen }))
const Playground = lazy(async () => ({
  default: (await import('./playground/playground.tsx')).PlaygroundScreen,
}))
const Receivers = lazy(async () => ({ default: (await import('./receivers/receivers.tsx')).ReceiversScreen }))
const System = lazy(async () => ({ default: (await import('./system/system.tsx')).SystemScreen }))
const Tokens = lazy(async () => ({ default: (await import('./tokens/tokens.tsx')).TokensScreen }))

export interface ScreenRoute {
  /** A wouter pattern: `/queues/:queue`. */
  readonly path: string
  readonly screen: ComponentType
}

/** All routes of the dashboard. The first match is rendered. */
export const ROUTES: readonly ScreenRoute[] = [
  { path: '/', screen: OverviewScreen },
  { path: '/queues', screen: QueuesScreen },
  { path: '/queues/:queue', screen: QueueScreen },
  { path: '/jobs', screen: JobsScreen },
  { path: '/jobs/:id', screen: JobScreen },
  { path: '/bulk', screen: BulkScreen },
  { path: '/errors', screen: ErrorsScreen },
  { path: '/errors/:id', screen: ErrorGroupScreen },
  { path: '/dead', screen: DeadScreen },
  { path: '/schedules', screen: SchedulesScreen },
  { path: '/schedules/:id', screen: ScheduleScreen },
  { path: '/flows', screen: FlowsScreen },
  { path: '/flows/:name', screen: FlowScreen },
  { path: '/runs/:id', screen: RunScreen },
  { path: '/groups/:id', screen: GroupScreen },
  { path: '/workers', screen: WorkersScreen },
  { path: '/receivers', screen: Receivers },
  { path: '/playground', screen: Playground },
  { path: '/system', screen: System },
  { path: '/audit', screen: Audit },
  { path: '/tokens', screen: Tokens },
]
