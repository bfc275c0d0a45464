/** All operations by name. One that `api.ts` has and this has not does not compile. */

import * as flows from './flows.ts'
import * as bulk from './jobs/bulk.ts'
import * as change from './jobs/change.ts'
import { deadNoticesList } from './jobs/dead-notices.ts'
import * as enqueue from './jobs/enqueue.ts'
import * as errors from './jobs/errors.ts'
import * as jobs from './jobs/jobs.ts'
import * as views from './jobs/views.ts'
import type { Context, ServerOperation } from './operation.ts'
import * as holds from './queues/holds.ts'
import * as queues from './queues/queues.ts'
import { spacesList } from './queues/spaces.ts'
import * as receivers from './receivers.ts'
import * as schedules from './schedules/schedules.ts'
import type { AnySchema } from './schema/schema.ts'
import type { InputOf, OperationName, Scope } from './schema/wire-types.ts'
import * as access from './system/access.ts'
import { meGet } from './system/me.ts'
import { overviewGet } from './system/overview.ts'
import { seriesGet } from './system/series.ts'
import { systemGet } from './system/system.ts'
import * as workers from './workers.ts'

export const OPERATIONS: { readonly [Name in OperationName]: ServerOperation<Name> } = {
  'me.get': meGet,
  'overview.get': overviewGet,
  'series.get': seriesGet,
  'system.get': systemGet,
  'queues.list': queues.queuesList,
  'queues.get': queues.queuesGet,
  'queues.lanes': queues.queuesLanes,
  'queues.limit': queues.queuesLimit,
  'queues.unlimit': queues.queuesUnlimit,
  'queues.purge': queues.queuesPurge,
  'queues.drop': queues.queuesDrop,
  'limits.list': queues.limitsList,
  'holds.list': holds.holdsList,
  'holds.pause': holds.holdsPause,
  'holds.resume': holds.holdsResume,
  'holds.block': holds.holdsBlock,
  'holds.unblock': holds.holdsUnblock,
  'jobs.list': jobs.jobsList,
  'jobs.count': jobs.jobsCount,
  'jobs.get': jobs.jobsGet,
  'jobs.explain': jobs.jobsExplain,
  'jobs.logs': jobs.jobsLogs,
  'jobs.enqueue': enqueue.jobsEnqueue,
  'jobs.enqueueMany': enqueue.jobsEnqueueMany,
  'jobs.change': change.jobsChange,
  'jobs.copy': enqueue.jobsCopy,
  'bulk.start': bulk.bulkStart,
  'bulk.list': bulk.bulkList,
  'bulk.get': bulk.bulkGet,
  'bulk.stop': bulk.bulkStop,
  'views.list': views.viewsList,
  'views.put': views.viewsPut,
  'views.remove': views.viewsRemove,
  'errors.list': errors.errorsList,
  'errors.get': errors.errorsGet,
  'errors.retry': errors.errorsRetry,
  'errors.mute': errors.errorsMute,
  'errors.unmute': errors.errorsUnmute,
  'deadNotices.list': deadNoticesList,
  'schedules.list': schedules.schedulesList,
  'schedules.get': schedules.schedulesGet,
  'schedules.put': schedules.schedulesPut,
  'schedules.pause': schedules.schedulesPause,
  'schedules.resume': schedules.schedulesResume,
  'schedules.run': schedules.schedulesRun,
  'schedules.remove': schedules.schedulesRemove,
  'schedules.preview': schedules.schedulesPreview,
  'flows.list': flows.flowsList,
  'runs.list': flows.runsList,
  'runs.get': flows.runsGet,
  'runs.cancel': flows.runsCancel,
  'runs.retry': flows.runsRetry,
  'runs.signal': flows.runsSignal,
  'groups.get': flows.groupsGet,
  'spaces.list': spacesList,
  'workers.list': workers.workersList,
  'workers.command': workers.workersCommand,
  'receivers.list': receivers.receiversList,
  'receivers.close': receivers.receiversClose,
  'tokens.list': access.tokensList,
  'tokens.create': access.tokensCreate,
  'tokens.revoke': access.tokensRevoke,
  'audit.list': access.auditList,
}

/** An operation, whichever it is. What is given to its functions was read by its own schema. */
export interface ListedOperation {
  readonly name: OperationName
  readonly method: ServerOperation['method']
  readonly path: string
  readonly summary: string
  readonly scope: Scope
  readonly input: AnySchema
  readonly output: AnySchema
  readonly isChange: boolean
  queuesOf(input: unknown): readonly string[]
  target(input: unknown): string
  run(input: unknown, context: Context): Promise<unknown>
}

/** The operations as a list, in the order of the table. */
export const LISTED: readonly ListedOperation[] = Object.values(OPERATIONS).map((one) => listed(one as never))

const BY_NAME = new Map(LISTED.map((one) => [one.name as string, one]))

/** An operation by its name; null if there is none. */
export function operationNamed(name: string): ListedOperation | null {
  return BY_NAME.get(name) ?? null
}

function listed<Name extends OperationName>(one: ServerOperation<Name>): ListedOperation {
  const { name, method, path, summary, scope, input, output } = one
  return {
    name,
    method,
    path,
    summary,
    scope,
    input,
    output,
    isChange: method !== 'GET',
    queuesOf: (given) => one.queuesOf?.(given as InputOf<Name>) ?? [],
    target: (given) => one.target?.(given as InputOf<Name>) ?? '',
    run: (given, context) => one.run(given as InputOf<Name>, context),
  }
}
