import { messageOf, type SkepError, StoreError } from '../../core/errors.ts'
import type { NewJob } from '../../core/jobs/job.ts'

/** What a caller gets whose jobs were not inserted in time. */
export function givenUp(jobs: readonly NewJob[], isUnknown: boolean, cause: StoreError): SkepError {
  const ids = jobs.slice(0, 100).map((job) => job.id)
  const facts = { ids, jobs: jobs.length }
  return isUnknown
    ? new StoreError(
        'STORE_UNKNOWN',
        `The store took the jobs but its answer was lost, and it cannot be asked: ${messageOf(cause)} ` +
          'They may or may not be enqueued; enqueue again with the same ids (error.facts.ids) to be sure.',
        { cause, facts },
      )
    : new StoreError('STORE_UNAVAILABLE', `The jobs were not enqueued: ${messageOf(cause)}`, {
        cause,
        facts,
      })
}

/** The same when another transaction held a key of these jobs all the time. */
export function stillHeld(
  jobs: readonly NewJob[],
  isUnknown: boolean,
  timeoutMs: number,
  cause: StoreError,
): SkepError {
  if (isUnknown) return givenUp(jobs, true, cause)
  const keyed = jobs.find((job) => job.unique !== null)
  const what = keyed?.unique
    ? `unique key "${keyed.unique.key}" of queue "${keyed.queue}"`
    : `the id "${jobs[0]?.id}"`
  const others = jobs.length > 1 ? `${what} or another one of these jobs` : what
  return new StoreError(
    'STORE_BUSY',
    `The jobs were not enqueued: another transaction has taken ${others} and did not end within ${timeoutMs} ms. ` +
      'End that transaction, then enqueue again; PostgreSQL lists open ones in pg_stat_activity.',
    {
      cause,
      facts: {
        ids: jobs.slice(0, 100).map((job) => job.id),
        jobs: jobs.length,
        ...(keyed?.unique && { queue: keyed.queue, key: keyed.unique.key }),
      },
    },
  )
}
