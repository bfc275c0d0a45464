import { AuditScreen } from './audit/audit.tsx'
import { DeadScreen } from './dead/dead.tsx'
import { ErrorGroupScreen } from './errors/error-group.tsx'
import { ErrorsScreen } from './errors/errors.tsx'
import { FlowScreen } from './flows/flow.tsx'
import { FlowsScreen } from './flows/flows.tsx'
import { GroupScreen } from './flows/group.tsx'
import { RunScreen } from './flows/run.tsx'
import { PlaygroundScreen } from './playground/playground.tsx'
import { ReceiversScreen } from './receivers/receivers.tsx'
import type { ScreenRoute } from './routes.tsx'
import { ScheduleScreen } from './schedules/schedule.tsx'
import { SchedulesScreen } from './schedules/schedules.tsx'
import { SystemScreen } from './system/system.tsx'
import { TokensScreen } from './tokens/tokens.tsx'
import { WorkersScreen } from './workers/workers.tsx'

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
  { path: '/receivers', screen: ReceiversScreen },
  { path: '/playground', screen: PlaygroundScreen },
  { path: '/system', screen: SystemScreen },
  { path: '/audit', screen: AuditScreen },
  { path: '/tokens', screen: TokensScreen },
]
