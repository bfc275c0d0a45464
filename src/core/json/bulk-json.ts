import { hasEscape, isHarmless, isOrdinary, ORDINARY_DEPTH } from './payload.ts'

/** So many values at most are written together, and so many characters in about. */
const MOST_TOGETHER = 256
const MOST_LETTERS = 65_536
const FIRST_TOGETHER = 8

/** What stands between two objects of a list with an empty text after each. */
const BETWEEN = ',"",'

/**
 * The JSON texts of values that are wanted one after the other. A call of `JSON.stringify` takes longer than the work in it for most
 * payloads, and a text by itself is one more thing to collect later. So as many as are ordinary are written together, and cut. A text
 * keeps those beside it in memory: it is for those who hand them on soon.
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

  /** The text of the next value; undefined: it has to be looked at more closely. */
  next(): string | undefined {
    const at = this.#next++
    if (at === this.#to) this.#write()
    return this.#texts[at - this.#from]
  }

  #write(): void {
    this.#from = this.#to
    const together = ordinaryObjects(this.#values, this.#from, this.#size)
    const count = together.length / 2
    // One that is not ordinary is left to whoever looks closely, by itself.
    this.#to = this.#from + Math.max(1, count)
    const text = listText(together)
    this.#texts = cut(text, count)
    this.#size = sizeFor(text.length / count)
  }
}

/** Those up to the first that is not ordinary, with an empty text after each. */
function ordinaryObjects(values: readonly unknown[], from: number, most: number): unknown[] {
  const together: unknown[] = []
  const to = Math.min(values.length, from + most)
  for (let at = from; at < to && isOrdinaryObject(values[at]); at++) together.push(values[at], '')
  return together
}

/** Empty if it cannot be had, because it were too long for one text. */
function listText(values: readonly unknown[]): string {
  try {
    return values.length === 0 ? '' : JSON.stringify(values)
  } catch {
    return ''
  }
}

/** How many are written together if each has so many characters. */
function sizeFor(letters: number): number {
  return letters > 0
    ? Math.max(1, Math.min(MOST_TOGETHER, Math.floor(MOST_LETTERS / letters)))
    : FIRST_TOGETHER
}

/** What throws when it is looked at is not. */
function isOrdinaryObject(value: unknown): boolean {
  try {
    return typeof value === 'object' && value !== null && isOrdinary(value, ORDINARY_DEPTH)
  } catch {
    return false
  }
}

/** So many texts, out of that of their list; none if something in them looks like what stands between two. */
function cut(text: string, count: number): (string | undefined)[] {
  const texts: (string | undefined)[] = []
  const mayEscape = hasEscape(text)
  let from = 1
  while (from < text.length) {
    const found = text.indexOf(BETWEEN, from)
    // Behind the last one a bracket stands instead of the comma.
    const to = found === -1 ? text.length - BETWEEN.length : found
    const one = text.slice(from, to)
    texts.push(isHarmless(one, mayEscape) ? one : undefined)
    from = to + BETWEEN.length
  }
  return texts.length === count ? texts : []
}
