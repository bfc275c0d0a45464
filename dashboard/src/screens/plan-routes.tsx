import { lazy } from 'react'
import { DeadScreen } from './dead/dead.tsx'
import { ErrorGroupScreen } from './errors/error-group.tsx'
import { ErrorsScreen } from './errors/errors.tsx'
import { FlowScreen } from './flows/flow.tsx'
import { FlowsScreen } from './flows/flows.tsx'
import { GroupScreen } from './flows/group.tsx'
import { RunScreen } from './flows/run.tsx'
import type { ScreenRoute } from './routes.tsx'
import { ScheduleScreen } from './schedules/schedule.tsx'
import { SchedulesScreen } from './schedules/schedules.tsx'
import { WorkersScreen } from './workers/workers.tsx'

// Seldom visited, so each is loaded when it is.
const Audit = lazy(async () => ({ default: (await import('./audit/audit.tsx')).AuditScreen }))
const Playground = lazy(async () => ({
  default: (await import('./playground/playground.tsx')).PlaygroundScreen,
}))
const Receivers = lazy(async () => ({ default: (await import('./receivers/receivers.tsx')).ReceiversScreen }))
const System = lazy(async () => ({ default: (await import('./system/system.tsx')).SystemScreen }))
const Tokens = lazy(async () => ({ default: (await import('./tokens/tokens.tsx')).TokensScreen }))

/** Errors, dead letters, schedules, flows, machines and tools. */
export const PLAN_ROUTES: readonly ScreenRoute[] = [
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
