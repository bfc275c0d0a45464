/** What became of an incident of another queue, here. */
export interface Incident {
  readonly number: number
  /** Whose it was, and what happened. */
  readonly what: string
  /**
   * now: mutants bring its cause back, see `list.ts`. later: it belongs to a feature that does not exist yet.
   * never: it cannot happen by construction.
   */
  readonly applies: 'now' | 'later' | 'never'
  /** For `later` the feature, for `never` the reason; for `now` whatever is worth saying. */
  readonly why?: string
}

/** The incidents 1 to 58 of the reliability study. */
export const INCIDENTS: readonly Incident[] = [
  { number: 1, what: 'Solid Queue: a slot released twice', applies: 'now' },
  { number: 2, what: 'Solid Queue: a job both finished and failed', applies: 'now' },
  { number: 3, what: 'Bull: a removed job came back', applies: 'now' },
  { number: 4, what: 'BullMQ: the lock was dropped before the check', applies: 'now' },
  { number: 5, what: 'BullMQ, Bull: no renewal while closing', applies: 'now' },
  { number: 6, what: 'Solid Queue: a stop ran jobs twice', applies: 'now' },
  { number: 7, what: 'Celery: delayed tasks held under a lease', applies: 'now' },
  { number: 8, what: 'River: a rescuer judged jobs it did not know', applies: 'now' },
  {
    number: 9,
    what: 'River: renewed as late as the term ends',
    applies: 'now',
    why: 'Leases; leaders come later.',
  },
  {
    number: 10,
    what: 'Oban: every node was the leader',
    applies: 'later',
    why: 'Leaders, and MySQL.',
  },
  { number: 11, what: 'BullMQ: an older job freed the key of a later one', applies: 'now' },
  { number: 12, what: 'Sidekiq: pop before work', applies: 'now' },
  { number: 13, what: 'Sidekiq: lost by side work before the start', applies: 'now' },
  { number: 14, what: 'Sidekiq: recovery only at the start', applies: 'now' },
  { number: 15, what: 'Celery: a lost worker counted as a result', applies: 'now' },
  { number: 16, what: 'Laravel: release was delete, then insert', applies: 'now' },
  { number: 17, what: 'Outbox pollers: late commits were skipped', applies: 'now' },
  { number: 18, what: 'NATS: acknowledged before it was on the disk', applies: 'now' },
  {
    number: 19,
    what: 'Redis as a cache: jobs were evicted',
    applies: 'now',
    why: 'Its cause without Redis: live rows removed.',
  },
  {
    number: 20,
    what: 'Redis: a failover lost acknowledged jobs',
    applies: 'now',
    why: 'As far as settings can be checked.',
  },
  { number: 21, what: 'River: a unique job discarded itself', applies: 'now' },
  { number: 22, what: 'pg-boss: a key left out part of the identity', applies: 'now' },
  { number: 23, what: 'pg-boss: a slot of a schedule was missed', applies: 'now' },
  { number: 24, what: 'River: the next run was kept in memory only', applies: 'now' },
  { number: 25, what: 'BullMQ: a worker stopped in silence', applies: 'now' },
  { number: 26, what: 'BullMQ: never resumed after an outage', applies: 'now' },
  { number: 27, what: 'BullMQ: an exception ended the loop', applies: 'now' },
  { number: 28, what: 'BullMQ: a wait rounded to for ever', applies: 'now' },
  { number: 29, what: 'BullMQ: four ways forgot the wake-up', applies: 'now' },
  { number: 30, what: 'BullMQ: the loop waited for all handlers', applies: 'now' },
  { number: 31, what: 'Celery: deaf after a reconnection', applies: 'now' },
  { number: 32, what: 'Oban: deaf after the notifier restarted', applies: 'now' },
  { number: 33, what: 'Oban: nobody polled when nobody announced', applies: 'now' },
  { number: 34, what: 'pg-boss: a half-open connection', applies: 'now' },
  { number: 35, what: 'graphile-worker: a loop gave up after enough errors', applies: 'now' },
  { number: 36, what: 'River: a call without a deadline', applies: 'now' },
  { number: 37, what: 'Solid Queue: alive but not on the list', applies: 'now' },
  { number: 38, what: 'graphile-worker: locked for four hours', applies: 'now' },
  { number: 39, what: 'pg-boss: one bad row stopped the queue', applies: 'now' },
  {
    number: 40,
    what: 'pg-boss: a saturated group blocked the others',
    applies: 'now',
    why: 'Queues; lanes come later.',
  },
  { number: 41, what: 'pg-boss: tries used up by jobs that never ran', applies: 'now' },
  { number: 42, what: 'River: a first page that never moved on', applies: 'now' },
  { number: 43, what: 'Solid Queue: a second path without the limit', applies: 'now' },
  { number: 44, what: 'Solid Queue: check and insert under two locks', applies: 'now' },
  { number: 45, what: 'Solid Queue: one impossible job stopped the loop', applies: 'now' },
  { number: 46, what: 'Celery: a job that killed its worker ran for ever', applies: 'now' },
  { number: 47, what: 'PostgreSQL: more rows than LIMIT', applies: 'now' },
  { number: 48, what: 'pg-boss: NULL arithmetic turned the throttle off', applies: 'now' },
  { number: 49, what: 'Solid Queue: a slot twice by an early timer', applies: 'now' },
  {
    number: 50,
    what: 'BullMQ: each retry made the next occurrence',
    applies: 'now',
    why: 'Enqueue sent again, and schedules.',
  },
  { number: 51, what: 'BullMQ: a parent waited for ever', applies: 'now' },
  {
    number: 52,
    what: 'Celery: a chord’s body was lost',
    applies: 'now',
    why: 'Jobs enqueued by handlers, and by groups.',
  },
  {
    number: 53,
    what: 'machinery: marked as sent before it was',
    applies: 'now',
    why: 'Jobs enqueued by handlers, and by groups.',
  },
  {
    number: 54,
    what: 'Recall.ai: NOTIFY took a lock at each commit',
    applies: 'now',
    why: 'Hints never travel in a commit; that a failing one does no harm is tested.',
  },
  { number: 55, what: 'Postgres queues: claims walked over dead rows', applies: 'now' },
  { number: 56, what: 'SQLite: versions that damage the file', applies: 'now' },
  { number: 57, what: 'Oban: one failing loop took all down', applies: 'now' },
  { number: 58, what: 'Oban: a range expanded before it was checked', applies: 'later', why: 'Schedules.' },
]
