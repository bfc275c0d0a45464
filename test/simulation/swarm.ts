import type { Random } from '../../src/testing.ts'
import type { HintMode } from './hints.ts'
import { CALL_FAULTS, type CallFault } from './link.ts'

/**
 * What one trial is like. Every trial draws its own: faults that are always on hide bugs, and so do numbers that
 * are always the same.
 */
export interface Swarm {
  readonly apps: number
  readonly concurrency: number
  readonly leaseMs: number
  readonly latencyMs: number
  readonly hints: HintMode
  /** Which share of the calls goes wrong, and how. */
  readonly callFaultRate: number
  readonly callFaults: readonly CallFault[]
  /** The wall clocks of processes are off by up to this much. */
  readonly skewMs: number
  /** How many things are done to the system before it heals. */
  readonly actions: number
  /** The longest pause between two things that are done to the system. */
  readonly paceMs: number
  /** How long handlers take at most. */
  readonly handlerMs: number
  /** Which share of the runs does not simply succeed. */
  readonly failureRate: number
  /** Names of actions that do not occur in this trial. */
  readonly without: ReadonlySet<string>
}

export function drawSwarm(random: Random, actions: readonly string[]): Swarm {
  const isCalm = random.chance(0.15)
  return {
    apps: random.int(1, 4),
    concurrency: random.pick([1, 2, 3, 5, 20]),
    leaseMs: random.pick([1_000, 2_000, 5_000, 10_000]),
    latencyMs: random.pick([0, 1, 5, 40]),
    hints: random.pick<HintMode>(['well', 'well', 'flaky', 'flaky', 'silent', 'off']),
    callFaultRate: isCalm ? 0 : random.next() ** 2 * 0.3,
    callFaults: some(random, CALL_FAULTS),
    skewMs: random.pick([0, 50, 5_000, 3_600_000]),
    actions: random.int(5, 60),
    paceMs: random.pick([0, 20, 100, 400, 800]),
    handlerMs: random.pick([0, 10, 200, 1_500, 6_000]),
    failureRate: random.pick([0, 0.1, 0.5]),
    without: new Set(actions.filter(() => random.chance(0.4))),
  }
}

/** Some of the items, at least one. */
function some<T>(random: Random, items: readonly T[]): T[] {
  const chosen = items.filter(() => random.chance(0.5))
  return chosen.length > 0 ? chosen : [random.pick(items)]
}
