import type { Failure, FinalState } from '../../core/jobs/job.ts'
import { DEFAULT_LANE } from '../../core/lanes/lanes.ts'
import { show } from '../../core/names.ts'
import { describeTarget, type HoldView } from '../queues/holds.ts'
import type { RateView } from '../queues/limits.ts'
import { type FlowCause, flowTextOf } from './flows.ts'

/** A worker as somebody saw it last. */
export interface WorkerSeen {
  readonly id: string
  readonly host: string
  readonly pid: number
  /** Handlers running, of so many that may, at its last heartbeat. */
  readonly running: number
  readonly concurrency: number
  readonly seenAt: Date
  /** Whether it lives, as far as the store and its heartbeats tell. */
  readonly isLive: boolean
}

/** One reason why a job does not start, or what became of it. Jobs are named by their ids, ten at most. */
export type Cause =
  /** There is none in this space: it was discarded, pruned or removed, or never was. */
  | { readonly cause: 'unknown-job' }
  | {
      readonly cause: 'finished'
      readonly state: FinalState
      readonly at: Date
      readonly failure: Failure | null
    }
  /** It runs, or a worker has it and is about to run it. */
  | {
      readonly cause: 'leased'
      readonly worker: string
      /** Null when the worker is not on the list any more. */
      readonly seen: WorkerSeen | null
      readonly since: Date
      readonly until: Date
      /** The lease has ended: a worker of this queue takes the job back. */
      readonly isOver: boolean
      /** Why somebody wants it to stop. */
      readonly cancelReason: string | null
    }
  /** It waits for its time; `failure` tells why, if it ran before. */
  | { readonly cause: 'not-due'; readonly until: Date; readonly failure: Failure | null }
  | { readonly cause: 'held'; readonly hold: HoldView }
  /** No worker that lives handles its queue; `gone` are those that did. */
  | { readonly cause: 'no-worker'; readonly gone: readonly WorkerSeen[] }
  /** The rate of its lane, or what a handler said about it. */
  | {
      readonly cause: 'lane-waits'
      readonly lane: string
      readonly until: Date
      readonly rate: RateView | null
    }
  /** Its lane is strict, and this job is at its head until it has ended for good. */
  | {
      readonly cause: 'occupied'
      readonly lane: string
      readonly job: string
      readonly state: string | null
      /** When that job is due again. */
      readonly until: Date | null
    }
  | {
      readonly cause: 'lane-full'
      readonly lane: string
      readonly concurrency: number
      readonly running: number
      readonly jobs: readonly string[]
    }
  /** The rate of its queue, or of the limit it shares. */
  | { readonly cause: 'rate'; readonly shared: string | null; readonly until: Date; readonly rate: RateView }
  | {
      readonly cause: 'queue-full'
      readonly concurrency: number
      readonly running: number
      readonly jobs: readonly string[]
    }
  | {
      readonly cause: 'shared-full'
      readonly shared: string
      readonly concurrency: number
      readonly running: number
      /** Those that share it. */
      readonly queues: readonly string[]
      readonly jobs: readonly string[]
    }
  /** All workers of its queue run as many handlers as they may. */
  | { readonly cause: 'workers-busy'; readonly workers: readonly WorkerSeen[] }
  /** These are before it in its lane. */
  | {
      readonly cause: 'behind'
      readonly lane: string
      readonly jobs: readonly string[]
      readonly isMore: boolean
    }
  /** Nothing keeps it back. */
  | { readonly cause: 'any-moment'; readonly workers: readonly WorkerSeen[] }
  /** What groups and runs have to do with it. */
  | FlowCause

/** Describes a cause in one sentence. */
export function textOf(cause: Cause): string {
  switch (cause.cause) {
    case 'unknown-job':
      return 'No such job, run or group in this space. It may have been removed, or a group has not enqueued it yet.'
    case 'finished': {
      const why = cause.failure === null ? '' : `: ${cause.failure.message}`
      return `${ENDED[cause.state]} at ${iso(cause.at)}${why}${/[.!?]$/.test(why) ? '' : '.'}`
    }
    case 'leased':
      return leasedText(cause)
    case 'not-due': {
      return cause.failure === null
        ? `Not due until ${iso(cause.until)}.`
        : `Next attempt at ${iso(cause.until)} (${cause.failure.kind}: ${cause.failure.message}).`
    }
    case 'held': {
      const { kind, by, reason, until } = cause.hold
      const who = by === null ? '' : ` by ${show(by)}`
      const why = reason === null ? '' : `: ${show(reason)}`
      const target = describeTarget(cause.hold)
      const verb = cause.hold.lane === null && cause.hold.queue?.includes('*') ? 'are' : 'is'
      return `${target.charAt(0).toUpperCase()}${target.slice(1)} ${verb} ${kind === 'block' ? 'blocked' : 'paused'}${who}${until ? ` until ${iso(until)}` : ''}${why}.`
    }
    case 'no-worker':
      return cause.gone.length === 0
        ? 'No worker handles this queue.'
        : `No live worker handles this queue: ${cause.gone.map((worker) => workerText(worker)).join(', ')} ${cause.gone.length === 1 ? 'was' : 'were'} last seen at ${iso(latest(cause.gone))}.`
    case 'lane-waits': {
      const why = cause.rate === null ? 'requested by its handler' : `rate limit ${rateText(cause.rate)}`
      return `${laneText(cause.lane)} is throttled until ${iso(cause.until)}: ${why}.`
    }
    case 'occupied': {
      const state = cause.until ? `waiting until ${iso(cause.until)}` : (cause.state ?? 'removed')
      return `${laneText(cause.lane)} runs in strict order, and job ${cause.job} (${state}) must finish first.`
    }
    case 'lane-full':
      return `${laneText(cause.lane)} is full: ${cause.running} of ${cause.concurrency} running (${cause.jobs.join(', ')}).`
    case 'rate': {
      const limit = cause.shared === null ? 'The queue' : `The shared limit ${show(cause.shared)}`
      return `${limit} is throttled to ${rateText(cause.rate)}. Next start at ${iso(cause.until)}.`
    }
    case 'queue-full':
      return `The queue is full: ${cause.running} of ${cause.concurrency} running (${cause.jobs.join(', ')}).`
    case 'shared-full':
      return `The shared limit ${show(cause.shared)} is full: ${cause.running} of ${cause.concurrency} running (${cause.jobs.join(', ')}).`
    case 'workers-busy':
      return `All workers of this queue are busy: ${cause.workers.map((worker) => `${workerText(worker)} uses ${worker.running} of ${worker.concurrency} slots`).join(', ')}.`
    case 'behind': {
      const count = `${cause.isMore ? 'At least ' : ''}${cause.jobs.length}`
      return `${count} ${cause.jobs.length === 1 ? 'job is' : 'jobs are'} ahead of it${cause.lane === DEFAULT_LANE ? '' : ' in its lane'}.`
    }
    case 'any-moment':
      return 'Nothing blocks this job. It is about to start.'
    default:
      return flowTextOf(cause)
  }
}

const ENDED: Readonly<Record<(Cause & { cause: 'finished' })['state'], string>> = {
  done: 'Completed',
  failed: 'Failed',
  dead: 'Died',
  cancelled: 'Cancelled',
}

function leasedText({
  worker,
  seen,
  since,
  until,
  isOver,
  cancelReason,
}: Cause & { cause: 'leased' }): string {
  const who = seen === null ? `Worker ${worker}` : workerText(seen, 'Worker')
  const gone = seen?.isLive === false ? ', which sends no heartbeat,' : ''
  const stop = cancelReason === null ? '' : ` Cancellation requested: ${show(cancelReason)}.`
  if (isOver) {
    return `${who}${gone} started it at ${iso(since)}. Its lease expired at ${iso(until)}, and another worker will take it over.${stop}`
  }
  return `${who}${gone} has been running it since ${iso(since)}. Its lease expires at ${iso(until)}.${stop}`
}

function workerText({ id, host, pid }: WorkerSeen, word = 'worker'): string {
  return `${word} ${id} (process ${pid} on ${host})`
}

function latest(workers: readonly WorkerSeen[]): Date {
  return new Date(Math.max(...workers.map(({ seenAt }) => seenAt.getTime())))
}

function laneText(lane: string): string {
  return lane === DEFAULT_LANE ? 'The default lane' : `Lane ${show(lane)}`
}

export function rateText({ limit, per }: RateView): string {
  return `${limit} per ${per % 1_000 === 0 ? `${per / 1_000} s` : `${per} ms`}`
}

function iso(date: Date): string {
  return date.toISOString()
}
