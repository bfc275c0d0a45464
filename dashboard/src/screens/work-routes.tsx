import { BulkScreen } from './bulk/bulk.tsx'
import { JobScreen } from './job/job.tsx'
import { JobsScreen } from './jobs/jobs.tsx'
import { OverviewScreen } from './overview/overview.tsx'
import { QueueScreen } from './queues/queue.tsx'
import { QueuesScreen } from './queues/queues.tsx'
import type { ScreenRoute } from './routes.tsx'

/** The overview, queues, jobs, and what is done to many jobs at once. */
export const WORK_ROUTES: readonly ScreenRoute[] = [
  { path: '/', screen: OverviewScreen },
  { path: '/queues', screen: QueuesScreen },
  { path: '/queues/:queue', screen: QueueScreen },
  { path: '/jobs', screen: JobsScreen },
  { path: '/jobs/:id', screen: JobScreen },
  { path: '/bulk', screen: BulkScreen },
]
