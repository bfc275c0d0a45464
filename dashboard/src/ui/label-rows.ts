/** The maximum number of label rows. */
const ROWS = 3

/** The first row in which a label at `left` overlaps no other; null if none has room. */
export function firstRow(ends: readonly number[], left: number): number | null {
  for (let row = 0; row < ROWS; row++) if ((ends[row] ?? -Infinity) <= left) return row
  return null
}
