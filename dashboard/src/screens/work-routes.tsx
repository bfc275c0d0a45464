import { OverviewScreen } from './overview/overview.tsx'
import type { ScreenRoute } from './routes.tsx'

/** The overview, queues, jobs, and what is done to many jobs at once. */
export const WORK_ROUTES: readonly ScreenRoute[] = [{ path: '/', screen: OverviewScreen }]
