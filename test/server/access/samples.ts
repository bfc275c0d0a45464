import type { InputOf, OperationName } from '../../../src/operations/schema/wire-types.ts'

/** Things of one owner: what the inputs of operations can name. */
export interface Things {
  readonly queue: string
  readonly job: string
  readonly schedule: string
  readonly run: string
  readonly group: string
  readonly bulk: string
  readonly view: string
  readonly errorGroup: string
  readonly worker: string
  readonly receiver: string
  readonly token: string
}

/** An input for every operation that there is. One that has none does not compile. */
export type Samples = { readonly [Name in OperationName]: InputOf<Name> }

export function samplesFor(things: Things): Samples {
  const { queue, job, schedule, run, group, bulk, view, errorGroup, worker, receiver, token } = things
  return {
    'me.get': {},
    'overview.get': {},
    'series.get': { queue },
    'system.get': {},
    'queues.list': {},
    'queues.get': { queue },
    'queues.lanes': { queue },
    'queues.limit': { queue, limits: { concurrency: 5 } },
    'queues.unlimit': { queue },
    'queues.purge': { queue, dryRun: true },
    'queues.drop': { queue, force: true, dryRun: true },
    'limits.list': {},
    'holds.list': {},
    'holds.pause': { queue, for: '1s' },
    'holds.resume': { queue },
    'holds.block': { queue, for: '1s' },
    'holds.unblock': { queue },
    'jobs.list': { query: `queue:${queue}` },
    'jobs.count': { query: `queue:${queue}` },
    'jobs.get': { id: job },
    'jobs.explain': { id: job },
    'jobs.logs': { id: job },
    'jobs.enqueue': { queue, payload: 1 },
    'jobs.enqueueMany': { jobs: [{ queue, payload: 1 }] },
    'jobs.change': { action: 'promote', ids: [job] },
    'jobs.copy': { id: job },
    'bulk.start': { action: 'promote', query: `queue:${queue}` },
    'bulk.list': {},
    'bulk.get': { id: bulk },
    'bulk.stop': { id: bulk },
    'views.list': {},
    'views.put': { name: 'mine', query: `queue:${queue}` },
    'views.remove': { id: view },
    'errors.list': { queue },
    'errors.get': { id: errorGroup },
    'errors.retry': { id: errorGroup },
    'errors.mute': { id: errorGroup },
    'errors.unmute': { id: errorGroup },
    'deadNotices.list': {},
    'schedules.list': {},
    'schedules.get': { id: schedule },
    'schedules.put': { id: schedule, queue, every: '1h', payload: 1 },
    'schedules.pause': { id: schedule },
    'schedules.resume': { id: schedule },
    'schedules.run': { id: schedule },
    'schedules.remove': { id: schedule },
    'schedules.preview': { cron: '0 3 * * *' },
    'flows.list': {},
    'runs.list': {},
    'runs.get': { id: run },
    'runs.cancel': { id: run },
    'runs.retry': { id: run },
    'runs.signal': { id: run, name: 'go', value: 1 },
    'groups.get': { id: group },
    'spaces.list': {},
    'workers.list': {},
    'workers.command': { id: worker, command: 'resume' },
    'receivers.list': {},
    'receivers.close': { id: receiver },
    'tokens.list': {},
    'tokens.create': { name: 'sample', scopes: ['read'] },
    'tokens.revoke': { id: token },
    'audit.list': {},
  }
}
