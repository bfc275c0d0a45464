import { FOREVER_MS } from '../duration.ts'
import type { Backoff, Ending, FailurePolicy, Policy } from './policy.ts'

export function describePolicy(policy: Policy): string[] {
  const { onSuccess, timeoutMs, keepCancelledMs } = policy
  return [
    `On success: ${ending(onSuccess, 'done')}.`,
    `On an error: ${failure(policy.onError, policy.holdsLane)}.`,
    timeoutMs === null
      ? 'An attempt may take any length of time.'
      : `An attempt may take ${span(timeoutMs)}; after that: ${failure(policy.onTimeout, policy.holdsLane)}.`,
    `If a worker dies with it: ${failure(policy.onLost, policy.holdsLane)}.`,
    `Cancelled: kept ${keptFor(keepCancelledMs)}.`,
  ]
}

function failure({ retries, backoff, ending: last }: FailurePolicy, holdsLane = false): string {
  const end = holdsLane ? 'its lane is paused with the job at its head' : ending(last, 'failed')
  if (retries === 0) return `no retries, ${end}`
  const waits = retries === 1 ? firstWait(backoff) : waitsOf(backoff, retries)
  if (retries === null) return `retries forever, ${waits}`
  return `up to ${retries} ${retries === 1 ? 'retry' : 'retries'}, ${waits}, then ${end}`
}

function firstWait({ ms }: Backoff): string {
  return ms === 0 ? 'at once' : `after ${span(ms)}`
}

function waitsOf(backoff: Backoff, retries: number | null): string {
  if (backoff.kind === 'fixed') return backoff.ms === 0 ? 'at once' : `${span(backoff.ms)} apart`
  const { ms, factor, maxMs } = backoff
  const last = retries === null ? maxMs : Math.min(maxMs, ms * factor ** Math.min(retries - 1, 1_000))
  return last <= ms ? `${span(Math.min(ms, maxMs))} apart` : `${span(ms)} to ${span(last)} apart`
}

function ending(how: Ending, word: string): string {
  if (how.end === 'discard') return 'removed at once'
  return `${how.end === 'bury' ? 'dead' : word}, kept ${keptFor(how.keepMs)}`
}

function keptFor(ms: number): string {
  return ms >= FOREVER_MS ? 'forever' : `for ${span(ms)}`
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** A duration in its largest unit: `10 min`, `1.5 h`. */
function span(ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => ms >= each) ?? ['ms', 1]
  return `${Math.round((ms / size) * 10) / 10} ${unit}`
}
