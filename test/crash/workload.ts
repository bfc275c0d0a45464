/** The queues of the crash tests: what their jobs do is decided by their payload, so that a rerun does the same. */
import {
  archive,
  type Backoff,
  discard,
  fixed,
  type Handler,
  type JobContext,
  type Queue,
  queue,
  retry,
  sharedLimit,
  snooze,
} from '../../src/index.ts'
import type { QueueFacts } from '../proof/history.ts'
import { type Recorder, recordStart } from '../proof/recorder.ts'

export interface Task {
  /** New for every job. */
  readonly n: number
  /** How long the handler takes. */
  readonly ms: number
  /** Where it stands in a queue with lanes. @default '' */
  readonly lane?: string
}

/** The lanes of queues that have some; '' is the one of jobs that name none. */
export const LANES: readonly string[] = ['', 'a', 'b', 'c', 'd', 'e']
/** Of one lane of `laned`, of all of it, and of `left` and `right` together. */
export const AT_MOST = { lane: 2, laned: 4, pair: 3 } as const

// Killed workers are the test's own doing, so being lost never uses up a job.
const onLost = retry(Infinity, fixed(0))
const common = { onLost, onTimeout: retry(Infinity, fixed('400ms')), onSuccess: archive('1h') }
const declare = (name: string, options: object = {}): Queue<Task, number> =>
  queue<Task, number>(name, { ...common, ...options })
const lane = ({ payload }: { readonly payload: Task }): string | undefined => payload.lane || undefined
const pair = sharedLimit('pair', { concurrency: AT_MOST.pair })

export const queues = {
  /** Ends as done and is kept. */
  kept: declare('kept'),
  /** Is removed when it ends. */
  discarded: declare('discarded', { onSuccess: discard() }),
  /** Throws up to twice, and one in ten for ever: those die after their fourth try. */
  rough: declare('rough', { onError: retry(3, fixed('400ms')) }),
  /** Enqueues a child together with its own end. */
  parent: declare('parent'),
  child: declare('child'),
  /** Asks once to be called later. */
  nap: declare('nap'),
  /** One in four hangs the first time, until its time is up. */
  slow: declare('slow', { timeout: '300ms' }),
  /** No more than so many of a lane, and of all of it. */
  laned: declare('laned', { lane, lanes: { concurrency: AT_MOST.lane }, concurrency: AT_MOST.laned }),
  /** One of each lane. */
  single: declare('single', { lane, lanes: { concurrency: 1 } }),
  /** One of each lane, in order. One in three throws once, and what comes after it waits. */
  strict: declare('strict', { lane, lanes: { order: 'strict' }, onError: retry(3, fixed('150ms')) }),
  /** Two that share a limit. */
  left: declare('left', { limit: pair }),
  right: declare('right', { limit: pair }),
} as const

export type QueueName = keyof typeof queues

/** What jobs are made of from outside; children come by themselves. */
export const SHARES: readonly (readonly [QueueName, number])[] = [
  ['kept', 30],
  ['discarded', 25],
  ['rough', 15],
  ['parent', 15],
  ['nap', 10],
  ['slow', 5],
  ['laned', 20],
  ['single', 10],
  ['strict', 10],
  ['left', 8],
  ['right', 7],
]

/**
 * What the checker has to know about them. On SQLite the worker's own process reads the clock and then writes; one that
 * is frozen in between is late, and the audit cannot see by how much. So the waits before a retry are not judged there.
 */
export function queueFacts(store: 'sqlite' | 'postgres' | 'redis'): Record<string, QueueFacts> {
  const wait = (backoff: Backoff): number =>
    store === 'sqlite' ? -Infinity : Math.round(backoff.ms * (1 - backoff.jitter))
  return Object.fromEntries(
    Object.entries(queues).map(([name, { policy }]) => [
      name,
      {
        retries: {
          errors: policy.onError.retries,
          timeouts: policy.onTimeout.retries,
          lost: policy.onLost.retries,
        },
        backoffMs: {
          errors: wait(policy.onError.backoff),
          timeouts: wait(policy.onTimeout.backoff),
          lost: wait(policy.onLost.backoff),
        },
        discards: policy.onSuccess.end === 'discard',
      },
    ]),
  )
}

type Job = JobContext<Task, number>
type Answer = number | ReturnType<typeof snooze>

const workLong = async ({ payload, signal }: Job): Promise<number> => {
  if (payload.ms > 0) await pause(payload.ms, signal)
  return payload.n
}

/** For jobs that run several times, or have a time limit. */
const work = async ({ payload, signal }: Job): Promise<number> => {
  if (payload.ms > 0) await pause(Math.min(payload.ms, 50), signal)
  return payload.n
}

/** For queues with limits: never so short that nobody else wants the room. */
const workSteadily = async ({ payload, signal }: Job): Promise<number> => {
  await pause(50 + Math.min(payload.ms, 150), signal)
  return payload.n
}

const runs: Record<QueueName, (job: Job) => Promise<Answer>> = {
  kept: workLong,
  discarded: workLong,
  child: work,

  async rough(job) {
    await work(job)
    const { n } = job.payload
    if (n % 10 === 0 || job.counters.errors < n % 3) throw new Error(`Job ${n} fails.`)
    return n
  },

  async parent(job) {
    const { n, ms } = job.payload
    await job.enqueue(queues.child, { n, ms })
    return workLong(job)
  },

  async nap(job) {
    const n = await work(job)
    return job.counters.snoozes < 1 ? snooze('150ms') : n
  },

  laned: workSteadily,
  single: workSteadily,
  left: workSteadily,
  right: workSteadily,

  async strict(job) {
    await workSteadily(job)
    const { n } = job.payload
    if (n % 3 === 0 && job.counters.errors < 1) throw new Error(`Job ${n} fails.`)
    return n
  },

  async slow(job) {
    if (job.payload.n % 4 === 0 && job.counters.timeouts < 1) await pause(60_000, job.signal)
    return work(job)
  },
}

/** Handlers for all queues that write down when they begin and how they end. */
export function recordedHandlers(recorder: Recorder): Handler[] {
  return (Object.keys(queues) as QueueName[]).map((name) =>
    queues[name].handle(async (job) => {
      const end = recordStart(recorder, job as JobContext<unknown, unknown>)
      try {
        const answer = await runs[name](job)
        if (typeof answer === 'number') end('returned', answer)
        else end('snoozed')
        return answer
      } catch (error) {
        end('threw')
        throw error
      }
    }),
  )
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}
