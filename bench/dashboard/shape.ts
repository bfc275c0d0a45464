/** What is in the store while the screens are measured. */

export const QUEUES: readonly string[] = Array.from(
  { length: 20 },
  (_, n) => `queue-${String(n + 1).padStart(2, '0')}`,
)

/** The queue whose jobs have lanes. */
export const LANED = 'queue-20'
export const LANES = 10_000

/** How the jobs of every queue are spread over the states, in parts of a hundred. */
export const SHARES = { ready: 25, delayed: 10, done: 40, failed: 8, dead: 10, cancelled: 7 } as const

export type Kept = 'done' | 'failed' | 'dead' | 'cancelled'

/** Jobs finished over so long. */
export const SPAN_MS = 24 * 3_600_000

/** What does not grow with the jobs. */
export const SCHEDULES = 200
export const RUNS = 1_000
export const WORKERS = 50
export const METRIC_MINUTES = 60
export const HOLDS = 10

/** Every queue has so many kinds of errors, so there are a few hundred. */
export const ERRORS_OF_A_QUEUE = 20

const WORDS = 'address account invoice gateway template session region bucket channel customer'.split(' ')

/** The message of an error of a kind. Numbers and ids differ from job to job, and the kind is told by words. */
export function messageOf(kind: number, n: number): string {
  const [one, other] = [WORDS[kind % 10], WORDS[Math.floor(kind / 10) % 10]]
  return `The ${one} of the ${other} could not be read after ${n % 977} ms`
}

export function payloadOf(n: number): string {
  return JSON.stringify({
    user: { id: n % 50_000, email: `user-${n}@example.test` },
    subject: 'Your monthly report is ready',
    n,
  })
}
