import type { Ability, Contestant } from '../contest.ts'
import type { Series } from '../result.ts'
import type { Sizes } from './sizes.ts'
import type { Stage } from './stage.ts'

/** One thing that is measured, of one contestant at a time. */
export interface Scenario {
  /** For `--scenario`. */
  readonly name: string
  /** Who lacks one of these is left out, and the tables say so. */
  readonly needs?: readonly Need[]
  /** Who can and should do it. */
  takesPart(contestant: Contestant): boolean
  /** About how long one contestant takes, for the estimate at the start. */
  seconds(sizes: Sizes): number
  /** `once`: in the first round alone. `together`: once, and all contestants at the same time, as it is mostly waiting. */
  readonly when?: 'once' | 'together'
  run(stage: Stage): Promise<Measured>
}

/** What not every queue can do, and how the tables say that one cannot. */
export type Need = keyof typeof CANNOT

export const CANNOT = {
  lanes: 'cannot: it has no lanes or groups',
  'wide lanes': 'cannot: it runs one job of a key at a time',
  strict: 'cannot: it keeps no order within a key',
  rate: 'cannot: it has no rate limit that keeps jobs waiting',
  flows: 'cannot: its jobs do not wait for other jobs',
} as const satisfies Partial<Record<Ability, string>>

export interface Measured {
  readonly figures: readonly Value[]
  readonly series?: readonly Omit<Series, 'contestant'>[]
  /** Why a figure is missing. */
  readonly note?: string
}

/** A figure without what the runner knows already. */
export interface Value {
  /** As in the tables. */
  readonly scenario: string
  readonly measure: string
  readonly value: number
}

/** The raw databases do by hand what can be counted; they are no queue that waits for jobs, or notices a death. */
export function isQueue({ kind }: Contestant): boolean {
  return kind !== 'raw'
}

export function lacks(contestant: Contestant, ...abilities: readonly Ability[]): boolean {
  return abilities.some((ability) => contestant.lacks?.includes(ability))
}

/** Whether it is asked of a contestant at all. */
export function wants(scenario: Scenario, contestant: Contestant): boolean {
  return (contestant.only?.includes(scenario.name) ?? true) && scenario.takesPart(contestant)
}

/** Who wants to take part and can. */
export function canTakePart(scenario: Scenario, contestant: Contestant): boolean {
  return wants(scenario, contestant) && missing(scenario, contestant) === null
}

/** The first need of a scenario that a contestant lacks. */
export function missing({ needs = [] }: Scenario, contestant: Contestant): Need | null {
  return needs.find((need) => lacks(contestant, need)) ?? null
}
