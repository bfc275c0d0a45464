import { hasEscape, isHarmless, isOrdinary, ORDINARY_DEPTH } from './payload.ts'

/** Limits of one batch: values, and approximate characters. */
const MOST_TOGETHER = 256
const MOST_CHARACTERS = 65_536
const FIRST_TOGETHER = 8

/** The separator between two objects of a list with an empty string after each. */
const BETWEEN = ',"",'

/**
 * The JSON texts of values requested one after the other. For most payloads a call of `JSON.stringify` costs
 * more than the work in it, and every text is one more object to collect. So ordinary values are written in
 * batches, and cut. Each text keeps its batch in memory: meant for callers that pass them on soon.
 */
export class ManyTexts {
  readonly #values: readonly unknown[]
  #texts: readonly (string | undefined)[] = []
  #from = 0
  #to = 0
  #next = 0
  #size = FIRST_TOGETHER

  constructor(values: readonly unknown[]) {
    this.#values = values
  }

  /** The text of the next value; undefined: it needs the full check. */
  next(): string | undefined {
    const at = this.#next++
    if (at === this.#to) this.#write()
    return this.#texts[at - this.#from]
  }

  #write(): void {
    this.#from = this.#to
    const together = ordinaryObjects(this.#values, this.#from, this.#size)
    const count = together.length / 2
    // A value that is not ordinary gets a batch of its own, for the full check.
    this.#to = this.#from + Math.max(1, count)
    const text = listText(together)
    this.#texts = cut(text, count)
    this.#size = sizeFor(text.length / count)
  }
}

/** The values up to the first that is not ordinary, with an empty string after each. */
function ordinaryObjects(values: readonly unknown[], from: number, most: number): unknown[] {
  const together: unknown[] = []
  const to = Math.min(values.length, from + most)
  for (let at = from; at < to && isOrdinaryObject(values[at]); at++) together.push(values[at], '')
  return together
}

/** Empty if the list is too long for one string. */
function listText(values: readonly unknown[]): string {
  try {
    return values.length === 0 ? '' : JSON.stringify(values)
  } catch {
    return ''
  }
}

/** The batch size for values of this length. */
function sizeFor(characters: number): number {
  return characters > 0
    ? Math.max(1, Math.min(MOST_TOGETHER, Math.floor(MOST_CHARACTERS / characters)))
    : FIRST_TOGETHER
}

/** A value that throws when it is read is not ordinary. */
function isOrdinaryObject(value: unknown): boolean {
  try {
    return typeof value === 'object' && value !== null && isOrdinary(value, ORDINARY_DEPTH)
  } catch {
    return false
  }
}

/** Cuts the text of a list into `count` texts; none if one of them contains the separator. */
function cut(text: string, count: number): (string | undefined)[] {
  const texts: (string | undefined)[] = []
  const mayEscape = hasEscape(text)
  let from = 1
  while (from < text.length) {
    const found = text.indexOf(BETWEEN, from)
    // After the last text there is a bracket instead of the comma.
    const to = found === -1 ? text.length - BETWEEN.length : found
    const one = text.slice(from, to)
    texts.push(isHarmless(one, mayEscape) ? one : undefined)
    from = to + BETWEEN.length
  }
  return texts.length === count ? texts : []
}
