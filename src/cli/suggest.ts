/** The candidate most similar to `word`, if one is similar enough. */
export function suggest(word: string, candidates: readonly string[]): string | undefined {
  const typed = word.toLowerCase()
  let best: string | undefined
  let bestDistance = Infinity
  for (const candidate of candidates) {
    const distance =
      typed.length >= 3 && candidate.startsWith(typed) ? 0.5 : editDistance(typed, candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  // A third of the characters may differ; in a very short word, one.
  return bestDistance <= Math.max(1, Math.floor(typed.length / 3)) ? best : undefined
}

/** The edit distance, with transpositions. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let cost = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, before[j - 2]! + 1)
      }
      next.push(cost)
    }
    before = row
    row = next
  }
  return row[b.length]!
}
