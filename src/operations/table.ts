/** All operations, in the order of the reference. The types of the API are derived from this list. */
import * as flows from './flows.ts'
import * as bulk from './jobs/bulk.ts'
import * as change from './jobs/change.ts'
import { deadNoticesList } from './jobs/dead-notices.ts'
import * as enqueue from './jobs/enqueue.ts'
import * as errors from './jobs/errors.ts'
import * as jobs from './jobs/jobs.ts'
import * as views from './jobs/views.ts'
import type { AnyOperation } from './operation.ts'
import * as holds from './queues/holds.ts'
import * as queues from './queues/queues.ts'
import { spacesList } from './queues/spaces.ts'
import * as receivers from './receivers.ts'
import * as schedules from './schedules/schedules.ts'
import type { TypeOf } from './schema/schema.ts'
import * as access from './system/access.ts'
import { meGet } from './system/me.ts'
import { overviewGet } from './system/overview.ts'
import { seriesGet } from './system/series.ts'
import { systemGet } from './system/system.ts'
import * as workers from './workers.ts'

const LIST = [
  meGet,
  overviewGet,
  seriesGet,
  systemGet,
  queues.queuesList,
  queues.queuesGet,
  queues.queuesLanes,
  queues.queuesLimit,
  queues.queuesUnlimit,
  queues.queuesPurge,
  queues.queuesDrop,
  queues.limitsList,
  holds.holdsList,
  holds.holdsPause,
  holds.holdsResume,
  holds.holdsBlock,
  holds.holdsUnblock,
  jobs.jobsList,
  jobs.jobsCount,
  jobs.jobsGet,
  jobs.jobsExplain,
  jobs.jobsLogs,
  enqueue.jobsEnqueue,
  enqueue.jobsEnqueueMany,
  change.jobsChange,
  enqueue.jobsCopy,
  bulk.bulkStart,
  bulk.bulkList,
  bulk.bulkGet,
  bulk.bulkStop,
  views.viewsList,
  views.viewsPut,
  views.viewsRemove,
  errors.errorsList,
  errors.errorsGet,
  errors.errorsRetry,
  errors.errorsMute,
  errors.errorsUnmute,
  deadNoticesList,
  schedules.schedulesList,
  schedules.schedulesGet,
  schedules.schedulesPut,
  schedules.schedulesPause,
  schedules.schedulesResume,
  schedules.schedulesRun,
  schedules.schedulesRemove,
  schedules.schedulesPreview,
  flows.flowsList,
  flows.runsList,
  flows.runsGet,
  flows.runsCancel,
  flows.runsRetry,
  flows.runsSignal,
  flows.groupsGet,
  spacesList,
  workers.workersList,
  workers.workersCommand,
  receivers.receiversList,
  receivers.receiversClose,
  access.tokensList,
  access.tokensCreate,
  access.tokensRevoke,
  access.auditList,
] as const

type Listed = (typeof LIST)[number]

/** The operations by name. */
export type Operations = { readonly [One in Listed as One['name']]: One }

export type OperationName = Listed['name']
export type InputOf<Name extends OperationName> = TypeOf<Operations[Name]['input']>
export type OutputOf<Name extends OperationName> = TypeOf<Operations[Name]['output']>

/** An operation of the list. */
export type ListedOperation = AnyOperation<OperationName>

export const LISTED: readonly ListedOperation[] = LIST

const BY_NAME = new Map<string, ListedOperation>(LISTED.map((one) => [one.name, one]))

/** An operation by its name; null if there is none. */
export function operationNamed(name: string): ListedOperation | null {
  return BY_NAME.get(name) ?? null
}
