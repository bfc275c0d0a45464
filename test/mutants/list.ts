import { ACCESS_MUTANTS } from './list/access.ts'
import { ALERT_MUTANTS } from './list/alerts.ts'
import { CLIENT_MUTANTS } from './list/client.ts'
import { CORE_MUTANTS } from './list/core.ts'
import { COUNTS_MUTANTS } from './list/counts.ts'
import { EDGE_MUTANTS } from './list/edge.ts'
import { FLOW_MUTANTS } from './list/flows.ts'
import { FLOW_MENDING_MUTANTS } from './list/flows-mending.ts'
import { GROUP_MUTANTS } from './list/groups.ts'
import { GROUP_STORE_MUTANTS } from './list/groups-stores.ts'
import { HOLD_MUTANTS } from './list/holds.ts'
import { ID_MUTANTS } from './list/ids.ts'
import { LANE_MUTANTS } from './list/lanes.ts'
import { LEASE_MUTANTS } from './list/leases.ts'
import { LOOP_MUTANTS } from './list/loops.ts'
import { MAINTENANCE_MUTANTS } from './list/maintenance.ts'
import { MEMORY_MUTANTS } from './list/memory.ts'
import { NOTE_MUTANTS } from './list/notes.ts'
import { NOTICE_MUTANTS } from './list/notices.ts'
import { POSTGRES_MUTANTS } from './list/postgres.ts'
import { POSTGRES_LANES_MUTANTS } from './list/postgres-lanes.ts'
import { PRIORITY_MUTANTS } from './list/priority.ts'
import { RECEIVER_MUTANTS } from './list/receivers.ts'
import { REDIS_MUTANTS } from './list/redis.ts'
import { SCHEDULE_MUTANTS } from './list/schedules.ts'
import { SEARCH_MUTANTS } from './list/search.ts'
import { SQLITE_MUTANTS } from './list/sqlite.ts'
import { SQLITE_LANES_MUTANTS } from './list/sqlite-lanes.ts'
import { THREAD_MUTANTS } from './list/threads.ts'
import { WORKER_MUTANTS } from './list/worker.ts'
import type { Mutant } from './mutant.ts'

/** All mutants. Each has to be killed by what it names. */
export const MUTANTS: readonly Mutant[] = [
  ...CORE_MUTANTS,
  ...MEMORY_MUTANTS,
  ...SQLITE_MUTANTS,
  ...SQLITE_LANES_MUTANTS,
  ...POSTGRES_MUTANTS,
  ...POSTGRES_LANES_MUTANTS,
  ...REDIS_MUTANTS,
  ...COUNTS_MUTANTS,
  ...LEASE_MUTANTS,
  ...LANE_MUTANTS,
  ...LOOP_MUTANTS,
  ...WORKER_MUTANTS,
  ...THREAD_MUTANTS,
  ...MAINTENANCE_MUTANTS,
  ...CLIENT_MUTANTS,
  ...PRIORITY_MUTANTS,
  ...NOTE_MUTANTS,
  ...HOLD_MUTANTS,
  ...ID_MUTANTS,
  ...NOTICE_MUTANTS,
  ...SCHEDULE_MUTANTS,
  ...FLOW_MUTANTS,
  ...FLOW_MENDING_MUTANTS,
  ...GROUP_MUTANTS,
  ...GROUP_STORE_MUTANTS,
  ...SEARCH_MUTANTS,
  ...RECEIVER_MUTANTS,
  ...ACCESS_MUTANTS,
  ...ALERT_MUTANTS,
  ...EDGE_MUTANTS,
]
