import type { StoreKind } from '../contest.ts'
import { plainTable } from '../report/markdown.ts'
import { STORE_NAMES } from '../report/standing.ts'

/** How long a call took, each time, with few jobs in the store and with many. */
export interface Row {
  readonly screen: string
  readonly name: string
  readonly small: readonly number[]
  readonly large: readonly number[]
}

export type Rows = Partial<Record<StoreKind, readonly Row[]>>

/** All stores side by side. */
export function renderRows(rows: Rows, sizes: readonly [number, number]): string {
  const stores = Object.keys(rows) as StoreKind[]
  const [small, large] = sizes.map(sizeText)
  const head = stores.flatMap((store) => [
    `${STORE_NAMES[store]}, ${small}`,
    `${large}`,
    `${large}, p95`,
    'ratio',
  ])
  const [first = []] = Object.values(rows)
  const lines = first.map(({ screen, name }, index) => [
    screen,
    name,
    ...stores.flatMap((store) => cells((rows[store] ?? [])[index] as Row)),
  ])
  return plainTable(['Screen', 'Call', ...head], lines)
}

/** What counts jobs, and so must not take longer when there are more of them. */
const FLAT = ['overview.get', 'queues.list', 'queues.get', 'GET /metrics']
const MOST_GROWTH = 1.2
/** Less than this is the noise of a request. */
const NOISE_MS = 2

export function growing(rows: readonly Row[]): string[] {
  return rows.flatMap(({ name, small, large }) => {
    const [few, many] = [quantile(small, 0.5), quantile(large, 0.5)]
    const isFlat = many <= few * MOST_GROWTH || many - few < NOISE_MS
    return !FLAT.includes(name) || isFlat ? [] : [`${name} takes ${ms(many)} ms instead of ${ms(few)} ms`]
  })
}

function cells({ small, large }: Row): string[] {
  const [few, many] = [quantile(small, 0.5), quantile(large, 0.5)]
  return [ms(few), ms(many), ms(quantile(large, 0.95)), (many / few).toFixed(2)]
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number
}

function ms(value: number): string {
  return value.toFixed(value < 10 ? 1 : 0)
}

function sizeText(jobs: number): string {
  return jobs >= 1_000_000 ? `${jobs / 1_000_000}M` : `${jobs / 1_000}k`
}
