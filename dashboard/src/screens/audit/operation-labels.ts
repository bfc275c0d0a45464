import type { OperationName } from '../../../../src/operations/schema/wire-types.ts'

/**
 * What an operation did, as it follows the actor: "ada paused a schedule". Operations that only read are not
 * audited.
 */
const LABELS: Partial<Record<OperationName, string>> = {
  'queues.limit': 'set limits',
  'queues.unlimit': 'reset limits',
  'queues.purge': 'purged a queue',
  'queues.drop': 'dropped a queue',
  'holds.pause': 'paused a queue or lane',
  'holds.resume': 'resumed a queue or lane',
  'holds.block': 'blocked a queue or lane',
  'holds.unblock': 'unblocked a queue or lane',
  'jobs.enqueue': 'enqueued a job',
  'jobs.enqueueMany': 'enqueued jobs',
  'jobs.change': 'changed jobs',
  'jobs.copy': 'copied a job',
  'bulk.start': 'started a bulk action',
  'bulk.stop': 'stopped a bulk action',
  'views.put': 'saved a view',
  'views.remove': 'removed a view',
  'errors.retry': 'retried an error group',
  'errors.mute': 'muted an error group',
  'errors.unmute': 'unmuted an error group',
  'schedules.put': 'saved a schedule',
  'schedules.pause': 'paused a schedule',
  'schedules.resume': 'resumed a schedule',
  'schedules.run': 'triggered a schedule',
  'schedules.remove': 'removed a schedule',
  'runs.cancel': 'cancelled a run',
  'runs.retry': 'retried a run',
  'runs.signal': 'sent a signal',
  'workers.command': 'sent a command to a worker',
  'receivers.close': 'closed a receiver',
  'tokens.create': 'created a token',
  'tokens.revoke': 'revoked a token',
}

export function operationLabel(what: string): string {
  return (LABELS as Readonly<Record<string, string | undefined>>)[what] ?? what
}
