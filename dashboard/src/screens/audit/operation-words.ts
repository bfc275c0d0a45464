import type { OperationName } from '../../../../src/operations/schema/wire-types.ts'

/** What somebody did, as a sentence goes on after the name. Operations that change nothing are not written down. */
const WORDS: Partial<Record<OperationName, string>> = {
  'queues.limit': 'changed limits',
  'queues.unlimit': 'reset limits',
  'queues.purge': 'purged a queue',
  'queues.drop': 'dropped a queue',
  'holds.pause': 'paused',
  'holds.resume': 'resumed',
  'holds.block': 'blocked',
  'holds.unblock': 'unblocked',
  'jobs.enqueue': 'enqueued a job',
  'jobs.enqueueMany': 'enqueued jobs',
  'jobs.change': 'changed jobs',
  'jobs.copy': 'copied a job',
  'bulk.start': 'began a bulk action',
  'bulk.stop': 'stopped a bulk action',
  'views.put': 'saved a view',
  'views.remove': 'removed a view',
  'errors.retry': 'retried a group of errors',
  'errors.mute': 'muted a group of errors',
  'errors.unmute': 'unmuted a group of errors',
  'schedules.put': 'saved a schedule',
  'schedules.pause': 'paused a schedule',
  'schedules.resume': 'resumed a schedule',
  'schedules.run': 'ran a schedule',
  'schedules.remove': 'removed a schedule',
  'runs.cancel': 'cancelled a run',
  'runs.retry': 'retried a run',
  'runs.signal': 'sent a signal',
  'workers.command': 'sent a command to a worker',
  'receivers.close': 'closed a receiver',
  'tokens.create': 'made a token',
  'tokens.revoke': 'revoked a token',
}

export function wordsFor(what: string): string {
  return (WORDS as Readonly<Record<string, string | undefined>>)[what] ?? what
}
