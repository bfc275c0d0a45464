import type { Contestant } from '../contest.ts'
import type { Series } from '../result.ts'
import type { Sizes } from './sizes.ts'
import type { Stage } from './stage.ts'

/** One thing that is measured, of one contestant at a time. */
export interface Scenario {
  /** For `--scenario`. */
  readonly name: string
  /** Who can and should do it. */
  takesPart(contestant: Contestant): boolean
  /** About how long one contestant takes, for the estimate at the start. */
  seconds(sizes: Sizes): number
  /** `once`: in the first round alone. `together`: once, and all contestants at the same time, as it is mostly waiting. */
  readonly when?: 'once' | 'together'
  run(stage: Stage): Promise<Measured>
}

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

export function lacks(contestant: Contestant, ...abilities: NonNullable<Contestant['lacks']>): boolean {
  return abilities.some((ability) => contestant.lacks?.includes(ability))
}
