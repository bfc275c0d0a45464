/** Chance from a seed: the same seed gives the same numbers, so that a failure can be replayed. */
export interface Random {
  /** A number in [0, 1). */
  next(): number
  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number
  /** True in `share` of the cases. */
  chance(share: number): boolean
  /** One of the items. */
  pick<T>(items: readonly T[]): T
}

/** A small, fast generator (xoshiro128**), its state spread from the seed by splitmix32. */
export function seededRandom(seed: number): Random {
  let spread = seed | 0
  const scatter = (): number => {
    spread = (spread + 0x9e3779b9) | 0
    let mixed = spread ^ (spread >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return mixed ^ (mixed >>> 15)
  }
  let [a, b, c, d] = [scatter(), scatter(), scatter(), scatter()]

  const uint32 = (): number => {
    const scrambled = Math.imul(b, 5)
    const drawn = Math.imul((scrambled << 7) | (scrambled >>> 25), 9) >>> 0
    const shifted = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = (d << 11) | (d >>> 21)
    return drawn
  }
  const next = (): number => uint32() / 0x1_0000_0000

  return {
    next,
    int: (min, max) => min + Math.floor(next() * (max - min + 1)),
    chance: (share) => next() < share,
    pick<T>(items: readonly T[]): T {
      if (items.length === 0) throw new RangeError('There is nothing to pick from.')
      return items[Math.floor(next() * items.length)] as T
    },
  }
}
