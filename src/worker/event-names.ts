import { SkepError } from '../core/errors.ts'
import { show } from '../core/names.ts'
import { nearestName } from '../core/option-hints.ts'
import type { WorkerEvents } from './events.ts'

const NAMES: Readonly<Record<keyof WorkerEvents, true>> = {
  received: true,
  finished: true,
  error: true,
  timeout: true,
  lost: true,
  dead: true,
  snoozed: true,
  cancelled: true,
}

export const EVENT_NAMES: readonly (keyof WorkerEvents)[] = Object.keys(NAMES) as (keyof WorkerEvents)[]

const FAILED = "Use 'error' for each failed attempt, and 'dead' for a job whose retries are used up."
const PROGRESS = 'Use watch() of a job handle, which follows one job with its progress and logs.'
const ENQUEUED = 'An enqueue has no event: the promise of enqueue() resolves when the job is stored.'

/** Names of BullMQ, bee-queue, pg-boss, Agenda, graphile-worker and Celery, in lower case without separators. */
const OTHERS: Readonly<Record<string, string>> = {
  completed: "Use 'finished'.",
  complete: "Use 'finished'.",
  succeeded: "Use 'finished'.",
  success: "Use 'finished'.",
  done: "Use 'finished'.",
  jobsuccess: "Use 'finished'.",
  jobcomplete: "Use 'finished'.",
  failed: FAILED,
  fail: FAILED,
  failure: FAILED,
  joberror: FAILED,
  jobfailed: FAILED,
  retriesexhausted: "Use 'dead'.",
  buried: "Use 'dead'.",
  retry: "Use 'error', whose state is 'ready' or 'delayed' if the job is retried.",
  retrying: "Use 'error', whose state is 'ready' or 'delayed' if the job is retried.",
  active: "Use 'received'.",
  start: "Use 'received'.",
  started: "Use 'received'.",
  jobstart: "Use 'received'.",
  stalled: "Use 'lost'.",
  expired: "Use 'timeout'.",
  delayed: "Use 'snoozed' for a handler that asked to be called later.",
  canceled: "Use 'cancelled'.",
  removed: "Use 'cancelled'.",
  revoked: "Use 'cancelled'.",
  progress: PROGRESS,
  jobprogress: PROGRESS,
  waiting: ENQUEUED,
  added: ENQUEUED,
  enqueued: ENQUEUED,
  drained: 'To wait until a queue is empty, drain it.',
}

/** Refuses an event that does not exist, whose listener would never be called, and a listener that cannot be. */
export function assertEvent(name: unknown, listener: unknown): void {
  if (typeof name !== 'string' || !Object.hasOwn(NAMES, name)) throw unknownEvent(name)
  if (typeof listener === 'function') return
  throw new SkepError(
    'OPTION_INVALID',
    `The listener of the event '${name}' is ${show(listener)}; pass a function.`,
  )
}

function unknownEvent(name: unknown): SkepError {
  const plain = typeof name === 'string' ? name.toLowerCase().replaceAll(/[^a-z]/g, '') : ''
  const nearest = typeof name === 'string' ? nearestName(EVENT_NAMES, name) : undefined
  const foreign =
    nearest === undefined && typeof name === 'string' ? nearestName(Object.keys(OTHERS), name) : undefined
  const other = Object.hasOwn(OTHERS, plain) ? OTHERS[plain] : foreign && OTHERS[foreign]
  const hint = other ?? (nearest === undefined ? '' : `Did you mean '${nearest}'?`)
  return new SkepError(
    'OPTION_INVALID',
    `There is no event ${show(name)}. ${hint} The events are ${EVENT_NAMES.join(', ')}.`.replace('  ', ' '),
    { facts: { event: name, suggestion: other?.match(/'(\w+)'/)?.[1] ?? nearest ?? null } },
  )
}
