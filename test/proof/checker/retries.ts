import { retryOf } from './lanes.ts'
import { entryOf, type Invariant, retries } from './view.ts'

interface Retried {
  readonly id: string
  readonly bornAt: number
  readonly dueAt: number
}

/**
 * I-10: outside of strict lanes jobs start by priority, due time and id. So those that one call retries are due in the order of their
 * enqueues, and where their due times are the same their ids are in that order.
 */
export const retriesInOrder: Invariant = function* (view) {
  const strict = new Set(view.facts.order)
  const born = new Map<string, number>()
  const together = new Map<string, Retried[]>()
  for (const entry of view.audit) {
    const { id, at, before, after } = entry
    if (before === null) born.set(id, at)
    if (after === null || !retries(entry) || strict.has(`${after.queue}/${after.lane ?? ''}`)) continue
    const retry = retryOf(view, view.jobs.get(id), entry)
    const bornAt = born.get(id)
    if (retry !== null && bornAt !== undefined)
      entryOf(together, `${retry} ${after.queue}`, () => []).push({ id, bornAt, dueAt: after.dueAt })
  }
  for (const jobs of together.values()) {
    const line = jobs.toSorted((a, b) => a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1))
    let latest: Retried | null = null
    for (const job of line) {
      if (latest !== null && job.bornAt + view.facts.slackMs < latest.bornAt) {
        const message = `It was retried together with job ${latest.id}, enqueued before it, and comes after it.`
        yield { invariant: 'I-10', kind: 'order-break', about: job.id, message }
      }
      if (latest === null || job.bornAt > latest.bornAt) latest = job
    }
  }
}
