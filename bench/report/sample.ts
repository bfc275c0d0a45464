import type { Entrant, Result, RoundFigure } from '../result.ts'
import type { Place } from './measure.ts'

// Made up, for tests.

const entrant = (name: string, kind: Entrant['kind'], store: Entrant['store']): Entrant => ({
  name,
  kind,
  store,
  settings: 'made up',
  version: kind === 'raw' ? null : '1.0.0',
  node: '20.0.0',
})

export const SAMPLE_ENTRANTS: readonly Entrant[] = [
  entrant('Skep', 'skep', 'postgres'),
  entrant('slow & steady', 'rival', 'postgres'),
  entrant('quick', 'rival', 'postgres'),
  entrant('raw Postgres', 'raw', 'postgres'),
  entrant('elsewhere', 'rival', 'redis'),
]

/** The rounds of one contestant in one place. */
export function rounds(place: Place, contestant: string, ...values: number[]): RoundFigure[] {
  return values.map((value, index) => ({ ...place, contestant, value, round: index + 1 }))
}

export function sampleResult(figures: readonly RoundFigure[], more: Partial<Result> = {}): Result {
  return {
    machine: { node: '20.0.0', cpus: 2, model: 'made up', os: 'none' },
    at: '2026-01-02T03:04:05.000Z',
    quick: false,
    rounds: 3,
    contestants: SAMPLE_ENTRANTS,
    figures,
    ...more,
  }
}
