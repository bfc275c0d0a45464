/** Rows of labels before one is left out. */
const ROWS = 3

/** The first row in which a label that begins here lies over no other; null: none has room. */
export function firstRow(ends: readonly number[], left: number): number | null {
  for (let row = 0; row < ROWS; row++) if ((ends[row] ?? -Infinity) <= left) return row
  return null
}
