import type { StoreKind } from '../contest.ts'
import type { Result } from '../result.ts'
import { barChart } from './bar-chart.ts'
import { lineChart } from './line-chart.ts'
import { advantage, higherIsBetter, type Place, show } from './measure.ts'
import { PINNED_SERIES, PLACES } from './programme.ts'
import { type Rank, rank, STORE_NAMES, standing } from './standing.ts'

export interface Chart {
  /** Of its file, without the ending. */
  readonly name: string
  /** Such as `Enqueue with 100 callers, Redis`. */
  readonly heading: string
  readonly svg: string
}

interface Wish {
  readonly name: string
  readonly title: string
  readonly unit: string
  readonly place: Place
  /** Who did less than this has it written behind the value, because the value is then of fewer jobs. */
  readonly held?: { readonly place: Place; readonly least: number }
}

const WISHES: readonly Wish[] = [
  { name: 'enqueue', title: 'Enqueue with 100 callers', unit: 'jobs/s', place: PLACES.enqueueCallers },
  { name: 'drain', title: 'Drain, 1 worker process', unit: 'jobs/s', place: PLACES.drain },
  { name: 'idle', title: 'Idle latency, p99', unit: 'ms from enqueue to start', place: PLACES.idleP99 },
  {
    name: 'steady',
    title: '10,000 jobs/s steady, p99',
    unit: 'ms from due to start',
    place: PLACES.steadyP99,
    held: { place: PLACES.steadyDone, least: 9_900 },
  },
  { name: 'lanes', title: 'Drain of 10,000 lanes', unit: 'jobs/s', place: PLACES.lanes10k },
  { name: 'strict', title: 'Drain of 1,000 strict lanes', unit: 'jobs/s', place: PLACES.strict },
  {
    name: 'flows',
    title: 'Flows of 100 children and their parent',
    unit: 'flows/s',
    place: PLACES.flowChildren,
  },
  { name: 'chains', title: 'Chains of 5 jobs', unit: 'flows/s', place: PLACES.flowChain },
]

/** The charts for which there are figures. */
export function chartsOf(result: Result): Chart[] {
  const stores = ['postgres', 'sqlite', 'redis'] as const
  const bars = WISHES.flatMap((wish) => stores.flatMap((store) => barsOf(result, wish, store) ?? []))
  return [...bars, ...(pinnedChart(result) ?? [])]
}

function barsOf(result: Result, { name, title, unit, place, held }: Wish, store: StoreKind): Chart | null {
  const { ranks, raw, skep, rivals } = standing(result, store, place)
  const bars = ranks
    .filter(({ entrant }) => entrant.kind !== 'raw')
    .sort((a, b) => advantage(place, b.summary.median, a.summary.median) - 1)
  if (!skep || rivals.length === 0) return null
  const better = higherIsBetter(place) ? 'higher is better' : 'lower is better'
  const whole = `${title}, ${STORE_NAMES[store]}`
  return {
    name: `${name}-${store}`,
    heading: whole,
    svg: barChart({
      title: whole,
      subtitle: `${unit}, ${better}`,
      bars: bars.map((bar) => ({ ...bar, ...noteOn(result, bar, held) })),
      ...(raw && higherIsBetter(place) ? { limit: raw } : {}),
      mayBeLogarithmic: !higherIsBetter(place),
    }),
  }
}

function noteOn(result: Result, { entrant }: Rank, held: Wish['held']): { note?: string } {
  if (held === undefined) return {}
  const done = rank(result, entrant, held.place)?.summary.median
  return done !== undefined && done < held.least ? { note: `at ${show(done)}/s` } : {}
}

function pinnedChart(result: Result): Chart[] | null {
  const lines = (result.series ?? []).filter(
    ({ scenario, measure }) => scenario === PINNED_SERIES.scenario && measure === PINNED_SERIES.measure,
  )
  if (lines.length === 0) return null
  const title = 'Time of a claim while a transaction pins the horizon'
  const isSkep = (name: string): boolean =>
    result.contestants.some((entrant) => entrant.name === name && entrant.kind === 'skep')
  return [
    {
      name: 'pinned-postgres',
      heading: title,
      svg: lineChart({
        title,
        subtitle: 'ms per claim, mean of the 30 s before each point, at 2,000 jobs/s',
        lines: lines.map(({ contestant, points }) => ({
          name: contestant,
          isSkep: isSkep(contestant),
          points,
        })),
        band: { from: 60, to: 240, name: 'another transaction is open' },
      }),
    },
  ]
}
