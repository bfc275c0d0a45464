import type { StoreKind } from '../contest.ts'
import type { Result } from '../result.ts'
import { advantage, type Place, show, times } from './measure.ts'
import { nameOf } from './programme.ts'
import { placesOf, type Rank, STORE_NAMES, standing } from './standing.ts'

/** A measure in which a rival did better than Skep. */
export interface Behind {
  readonly place: Place
  readonly store: StoreKind
  /** Null: rivals have a figure here, and Skep has none. */
  readonly skep: Rank | null
  readonly rival: Rank
}

/** Two that hold the same fixed rate differ by less than this. */
const SAME = 0.99

/** Every measure in which the best rival on the same store is ahead by a hundredth or more. */
export function behind(result: Result): Behind[] {
  return (['postgres', 'sqlite', 'redis'] as const).flatMap((store) => compare(result, store))
}

function compare(result: Result, store: StoreKind): Behind[] {
  if (!result.contestants.some((entrant) => entrant.kind === 'skep' && entrant.store === store)) return []
  return placesOf(result).flatMap((place) => {
    const {
      skep,
      rivals: [rival],
    } = standing(result, store, place)
    if (!rival || (skep && advantage(place, skep.summary.median, rival.summary.median) > SAME)) return []
    return [{ place, store, skep, rival }]
  })
}

/** As lines of a Markdown list. */
export function behindList(list: readonly Behind[]): string {
  return list
    .map(({ place, store, skep, rival }) => {
      const where = `${nameOf(place)}. ${rival.entrant.name} on ${STORE_NAMES[rival.entrant.store]}: ${show(rival.summary.median)}`
      if (skep === null) return `- ${where}. Skep on ${STORE_NAMES[store]}: not measured.`
      const factor = times(advantage(place, rival.summary.median, skep.summary.median))
      return `- ${where}. Skep on ${STORE_NAMES[store]}: ${show(skep.summary.median)}. The rival is better by ${factor}${overlap(skep, rival) ? ', within the spread of the rounds' : ''}.`
    })
    .join('\n')
}

/** A round of the one lies among the rounds of the other, so another run may turn them round. */
function overlap({ summary: a }: Rank, { summary: b }: Rank): boolean {
  return a.lowest <= b.highest && b.lowest <= a.highest
}
