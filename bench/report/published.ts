import type { Result, RoundFigure, Series } from '../result.ts'

/** A result as it is committed: the rounds of a measure are one line, so that the file is small and its changes can be read. */
interface Published extends Omit<Result, 'figures' | 'series'> {
  readonly measured: readonly {
    readonly scenario: string
    readonly contestant: string
    readonly at?: string
    /** By round, from the first. Null: that round has no value. */
    readonly values: Readonly<Record<string, readonly (number | null)[]>>
  }[]
  readonly lines: readonly (Omit<Series, 'points'> & {
    readonly seconds: readonly number[]
    readonly values: readonly number[]
  })[]
}

export function publish({ figures, series = [], ...rest }: Result): string {
  const parts = new Map<string, RoundFigure[]>()
  for (const figure of figures) {
    const key = JSON.stringify([figure.scenario, figure.contestant])
    parts.set(key, [...(parts.get(key) ?? []), figure])
  }
  const published: Published = {
    ...rest,
    measured: [...parts.values()].map((part) => {
      const { scenario, contestant, at } = part[0] as RoundFigure
      return { scenario, contestant, ...(at ? { at } : {}), values: byMeasure(part, rest.rounds) }
    }),
    lines: series.map(({ points, ...line }) => ({
      ...line,
      seconds: points.map(([seconds]) => short(seconds)),
      values: points.map(([, value]) => short(value)),
    })),
  }
  return `${JSON.stringify(published, null, 2)}\n`
}

/** Reads what `publish` wrote, and what the benchmark writes. */
export function readResult(text: string): Result {
  const read = JSON.parse(text) as Result | Published
  if ('figures' in read) return read
  const { measured, lines, ...rest } = read
  return {
    ...rest,
    figures: measured.flatMap(({ values, ...part }) =>
      Object.entries(values).flatMap(([measure, rounds]) =>
        rounds.flatMap((value, index) =>
          value === null ? [] : [{ ...part, measure, value, round: index + 1 }],
        ),
      ),
    ),
    series: lines.map(({ seconds, values, ...line }) => ({
      ...line,
      points: seconds.map((second, index) => [second, values[index] ?? Number.NaN] as const),
    })),
  }
}

function byMeasure(part: readonly RoundFigure[], rounds: number): Record<string, (number | null)[]> {
  const values: Record<string, (number | null)[]> = {}
  for (const { measure, round, value } of part) {
    values[measure] ??= Array.from({ length: rounds }, () => null)
    values[measure][round - 1] = short(value)
  }
  return values
}

/** Five digits are more than the spread of any measure allows. */
function short(value: number): number {
  return Number(value.toPrecision(5))
}
