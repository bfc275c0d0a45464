import type { StoreKind } from '../contest.ts'
import type { Entrant, Result } from '../result.ts'
import { higherIsBetter, type Place } from './measure.ts'
import { type Summary, summarize } from './statistics.ts'

export interface Rank {
  readonly entrant: Entrant
  readonly summary: Summary
}

/** Who did how well on one store in one measure. Who has no figure is not in it. */
export interface Standing {
  /** Skep as it comes. Other settings of it are in `ranks` alone. */
  readonly skep: Rank | null
  /** Best first. */
  readonly rivals: readonly Rank[]
  readonly raw: Rank | null
  readonly ranks: readonly Rank[]
}

export function standing(result: Result, store: StoreKind, place: Place): Standing {
  const ranks = result.contestants
    .filter((entrant) => entrant.store === store)
    .flatMap((entrant) => rank(result, entrant, place) ?? [])
  const sign = higherIsBetter(place) ? -1 : 1
  return {
    ranks,
    // The list of contestants names the default settings first.
    skep: ranks.find(({ entrant }) => entrant.kind === 'skep') ?? null,
    raw: ranks.find(({ entrant }) => entrant.kind === 'raw') ?? null,
    rivals: ranks
      .filter(({ entrant }) => entrant.kind === 'rival')
      .sort((a, b) => sign * (a.summary.median - b.summary.median)),
  }
}

export function rank(result: Result, entrant: Entrant, { scenario, measure }: Place): Rank | null {
  const values = result.figures.filter(
    (figure) =>
      figure.contestant === entrant.name && figure.scenario === scenario && figure.measure === measure,
  )
  const summary = summarize(values.map(({ value }) => value))
  return summary && { entrant, summary }
}

/** Stores in the order of the tables, those alone on which somebody took part. */
export function storesOf(result: Result): StoreKind[] {
  const stores: readonly StoreKind[] = ['postgres', 'sqlite', 'redis']
  return stores.filter((store) => result.contestants.some((entrant) => entrant.store === store))
}

export const STORE_NAMES: Readonly<Record<StoreKind, string>> = {
  postgres: 'Postgres',
  sqlite: 'SQLite',
  redis: 'Redis',
}

/** Every measure that has a figure, in the order of the run. */
export function placesOf(result: Result): Place[] {
  const places = new Map<string, Place>()
  for (const { scenario, measure } of result.figures)
    places.set(JSON.stringify([scenario, measure]), { scenario, measure })
  return [...places.values()]
}
