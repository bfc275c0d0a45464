import type { Figure } from './contest.ts'

/** A Markdown table: a row for each scenario, a column for each contestant. */
export function table(figures: readonly Figure[]): string {
  const contestants = [...new Set(figures.map((figure) => figure.contestant))]
  const scenarios = [...new Set(figures.map((figure) => figure.scenario))]
  const rows = scenarios.map((scenario) => [
    scenario,
    ...contestants.map((contestant) =>
      summary(
        figures
          .filter((figure) => figure.scenario === scenario && figure.contestant === contestant)
          .map((figure) => figure.perSecond),
      ),
    ),
  ])
  const head = ['', ...contestants]
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  )
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line), ''].join('\n')
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const high = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? high : (high + (sorted[middle - 1] ?? 0)) / 2
}

function summary(values: readonly number[]): string {
  if (values.length === 0) return '–'
  const show = (value: number): string => Math.round(value).toLocaleString('en-US')
  return `${show(median(values))} (${show(Math.min(...values))}..${show(Math.max(...values))})`
}
