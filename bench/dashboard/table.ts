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
