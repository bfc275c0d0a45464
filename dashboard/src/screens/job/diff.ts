export interface DiffLine {
  readonly sign: ' ' | '-' | '+'
  readonly text: string
}

/** Only the first lines are compared: the cost is quadratic. */
const MAX_LINES = 400

/** A line diff by the longest common subsequence. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const a = before.split('\n').slice(0, MAX_LINES)
  const b = after.split('\n').slice(0, MAX_LINES)
  // common[i][j]: the length of the longest common subsequence of a[i..] and b[j..].
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1))
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const row = common[i] as Uint16Array
      const below = common[i + 1] as Uint16Array
      row[j] =
        a[i] === b[j] ? (below[j + 1] as number) + 1 : Math.max(below[j] as number, row[j + 1] as number)
    }
  }
  const lines: DiffLine[] = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ sign: ' ', text: a[i] as string })
      i += 1
      j += 1
    } else if (j >= b.length || (i < a.length && (common[i + 1]?.[j] ?? 0) >= (common[i]?.[j + 1] ?? 0))) {
      lines.push({ sign: '-', text: a[i] as string })
      i += 1
    } else {
      lines.push({ sign: '+', text: b[j] as string })
      j += 1
    }
  }
  return lines
}
