import type { NewJob, Store } from 'skep'
import type { Verdict } from '../../src/core/policies/policy.ts'
import {
  ERRORS_OF_A_QUEUE,
  type Kept,
  LANED,
  LANES,
  messageOf,
  payloadOf,
  QUEUES,
  SHARES,
  SPAN_MS,
} from './shape.ts'

/** Jobs in one call. */
const BATCH = 1_000
const HOURS = SPAN_MS / 3_600_000
const KEEP_MS = 30 * 24 * 3_600_000
const LEASE_MS = 600_000

const PLAIN: Omit<NewJob, 'id' | 'space' | 'queue' | 'payload'> = {
  headers: null,
  priority: 0,
  delayMs: 0,
  runAt: null,
  unique: null,
  overrides: null,
  lane: null,
  strict: false,
  cost: 1,
  member: null,
}

const VERDICT: Verdict = {
  to: 'done',
  keepMs: KEEP_MS,
  delayMs: 0,
  count: null,
  refund: false,
  keepPlace: false,
  keepCancelledMs: KEEP_MS,
  result: null,
  failure: null,
}

interface FillOptions {
  readonly space: string
  readonly uuid: () => string
  /** Numbers of the jobs, so that a second filling makes others. */
  readonly from: number
  readonly to: number
  readonly now: number
}

/**
 * Brings jobs into a store by its own calls, as enqueues and workers do, and faster because nothing waits for anything: they are
 * inserted, claimed and settled by the thousand, at moments of the last day.
 */
export async function fillJobs(store: Store, options: FillOptions): Promise<void> {
  const count = options.to - options.from
  const finished = SHARES.done + SHARES.failed + SHARES.dead + SHARES.cancelled
  // What is claimed must be finished at once: so those that stay ready come last.
  let n = options.from
  for (const [index, queue] of QUEUES.entries()) {
    const own = Math.floor(count / QUEUES.length) + (index < count % QUEUES.length ? 1 : 0)
    const ending = Math.round((own * finished) / 100)
    const delayed = Math.round((own * SHARES.delayed) / 100)
    await finishJobs(store, options, queue, n, ending)
    await waitingJobs(store, options, queue, n + ending, own - ending, delayed)
    n += own
  }
}

async function finishJobs(
  store: Store,
  { space, uuid, now }: FillOptions,
  queue: string,
  from: number,
  count: number,
): Promise<void> {
  // Jobs end at every hour of the day, however few they are: or a page of the older ones would be empty with few and full with many.
  const most = Math.min(BATCH, Math.ceil(count / HOURS))
  for (let done = 0; done < count; done += most) {
    const size = Math.min(most, count - done)
    // Within the last day, and the newest last; different moments for all of a batch would be a call for each.
    const at = Math.round(now - SPAN_MS + (SPAN_MS * (done + size)) / (count + 1))
    const jobs = Array.from({ length: size }, (_, i) => jobOf(space, uuid(), queue, from + done + i))
    await store.insert({ jobs, fresh: true, now: at - 1_000 })
    const token = uuid()
    const worker = `worker-${done % 50}`
    let left = size
    while (left > 0) {
      const sources = [{ space, queue, limit: left }]
      const { jobs: claimed } = await store.claim({
        sources,
        limit: left,
        workerId: worker,
        token,
        leaseMs: LEASE_MS,
        now: at - 500,
      })
      if (claimed.length === 0) throw new Error(`${left} jobs of ${queue} could not be claimed.`)
      await store.settle({
        now: at,
        settlements: claimed.map(({ id, payload }) => {
          const number = (JSON.parse(payload) as { n: number }).n
          return { space, id, token, verdict: verdictOf(queue, number) }
        }),
      })
      left -= claimed.length
    }
  }
}

async function waitingJobs(
  store: Store,
  { space, uuid, now }: FillOptions,
  queue: string,
  from: number,
  count: number,
  delayed: number,
): Promise<void> {
  for (let done = 0; done < count; done += BATCH) {
    const size = Math.min(BATCH, count - done)
    const jobs = Array.from({ length: size }, (_, i): NewJob => {
      const job = jobOf(space, uuid(), queue, from + done + i)
      if (done + i >= delayed) return job
      // Half of the delayed ones are overdue when the calls are measured, and no worker has promoted them.
      return { ...job, runAt: i % 2 === 0 ? now - 5_000 : now + SPAN_MS + (done + i) * 50 }
    })
    await store.insert({ jobs, fresh: true, now: now - 60_000 + Math.floor((50_000 * done) / count) })
  }
}

export function jobOf(space: string, id: string, queue: string, n: number): NewJob {
  return {
    ...PLAIN,
    id,
    space,
    queue,
    payload: payloadOf(n),
    lane: queue === LANED ? `tenant-${n % LANES}` : null,
  }
}

function verdictOf(queue: string, n: number): Verdict {
  const to = endOf(n)
  if (to === 'done') return { ...VERDICT, result: '{"sent":true}' }
  if (to === 'cancelled') {
    return { ...VERDICT, to, failure: JSON.stringify({ kind: 'cancel', message: 'No longer needed' }) }
  }
  return { ...VERDICT, to, count: 'errors', failure: JSON.stringify(failureOf(queue, n)) }
}

export function failureOf(
  queue: string,
  n: number,
): {
  readonly kind: 'error'
  readonly name: string
  readonly message: string
  readonly stack: string
} {
  const kind = n % ERRORS_OF_A_QUEUE
  const message = messageOf(kind + QUEUES.indexOf(queue), n)
  return {
    kind: 'error',
    name: 'ReadError',
    message,
    stack: `ReadError: ${message}\n    at read (/srv/app/read.js:${kind}:7)\n    at handle (/srv/app/handle.js:12:3)`,
  }
}

/** Which of the final states a job ends in, by its number. */
function endOf(n: number): Kept {
  const { done, failed, dead, cancelled } = SHARES
  // A step that shares no factor with the sum goes through all of it.
  const place = (n * 7) % (done + failed + dead + cancelled)
  if (place < done) return 'done'
  if (place < done + failed) return 'failed'
  return place < done + failed + dead ? 'dead' : 'cancelled'
}
