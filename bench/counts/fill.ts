import { randomBytes } from 'node:crypto'
import type { NewJob, Store } from 'skep'

export const SPACE = 'default'

export const QUEUES: readonly string[] = Array.from({ length: 20 }, (_, n) => `queue-${n + 1}`)

const BATCH = 5_000
const HOUR_MS = 3_600_000

/**
 * Puts waiting jobs into a store, as many in each queue. A half are plain ones; the others are delayed and overdue, delayed and not
 * due, and prioritised, which stand in front of all plain ones. They came within a minute, an hour ago.
 */
export async function fillWaiting(store: Store, size: number): Promise<void> {
  const from = Date.now() - HOUR_MS
  for (let done = 0; done < size; done += BATCH) {
    const count = Math.min(BATCH, size - done)
    const at = from + Math.floor((60_000 * done) / size)
    const jobs = Array.from({ length: count }, (_, n) => jobOf(done + n, at))
    await store.insert({ jobs, fresh: true, now: at })
  }
}

function jobOf(n: number, at: number): NewJob {
  const kind = Math.floor(n / QUEUES.length) % 6
  return {
    id: idAt(at, n),
    space: SPACE,
    queue: QUEUES[n % QUEUES.length] as string,
    payload: `{"n":${n}}`,
    headers: null,
    priority: kind === 5 ? 1 : 0,
    delayMs: kind === 3 ? 1_000 + (n % 50_000) : kind === 4 ? 24 * HOUR_MS + (n % 50_000) * 100 : 0,
    runAt: null,
    unique: null,
    overrides: null,
    lane: null,
    strict: false,
    cost: 1,
    member: null,
  }
}

/** An id as Skep makes them: the time, and then numbers that rise. */
function idAt(at: number, n: number): string {
  const time = at.toString(16).padStart(12, '0')
  const number = n.toString(16).padStart(8, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8${number.slice(0, 3)}-${number.slice(3)}${randomBytes(4).toString('hex').slice(0, 7)}`
}
