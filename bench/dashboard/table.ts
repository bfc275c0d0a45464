import { markdownTable } from '../report/markdown.ts'

/** How long a call took, each time. */
export interface Row {
  readonly screen: string
  readonly name: string
  readonly small: readonly number[]
  readonly large: readonly number[]
}

export function renderRows(rows: readonly Row[]): string {
  const head = ['Screen', 'Call', '10k p50', '10k p95', '1M p50', '1M p95', '1M / 10k']
  return markdownTable(
    head,
    rows.map(({ screen, name, small, large }) => [
      screen,
      name,
      ms(quantile(small, 0.5)),
      ms(quantile(small, 0.95)),
      ms(quantile(large, 0.5)),
      ms(quantile(large, 0.95)),
      (quantile(large, 0.5) / quantile(small, 0.5)).toFixed(2),
    ]),
  )
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number
}

function ms(value: number): string {
  return value.toFixed(value < 10 ? 1 : 0)
}
