import type { Hint } from '../../notifier/notifier.ts'

/** What one write tells: hints, numbered without gaps so that a reader knows whether it missed some. */
export interface Letter {
  readonly number: number
  readonly hints: readonly Hint[]
}

/** The most that a file holds. */
export const MAILBOX_BYTES: number = 64 * 1024

/** A letter as it stands in the file. Each stays there for a while, and is put into words only once. */
export interface WrittenLetter {
  readonly number: number
  readonly text: string
}

export function writeLetter({ number, hints }: Letter): WrittenLetter {
  return { number, text: JSON.stringify([number, hints]) }
}

/**
 * The content of a mailbox: a head with the number of the last letter and the length of the text, the letters as
 * JSON, and the number again. The file is overwritten in place while others read it; if the two numbers differ, or
 * the text is not whole, the reader came in between.
 */
export function encodeLetters(letters: readonly WrittenLetter[]): Buffer {
  const number = letters.at(-1)?.number ?? 0
  const encode = (kept: readonly WrittenLetter[]): Buffer => {
    const text = `[${kept.map((letter) => letter.text).join(',')}]`
    return Buffer.from(`${number} ${Buffer.byteLength(text)}\n${text}\n${number}\n`)
  }
  for (let kept = letters; kept.length > 0; kept = kept.slice(Math.ceil(kept.length / 2))) {
    const bytes = encode(kept)
    if (bytes.length <= MAILBOX_BYTES) return bytes
  }
  // A letter too long for the file becomes the shortest one: look at everything.
  return encode(number === 0 ? [] : [writeLetter({ number, hints: [{ kind: 'sync' }] })])
}

/** The letters in a mailbox; null when it was read while it was being written. */
export function decodeLetters(bytes: Buffer): Letter[] | null {
  const headEnd = bytes.indexOf(10)
  if (headEnd === -1) return bytes.length === 0 ? [] : null
  const [number, length] = bytes.toString('latin1', 0, headEnd).split(' ').map(Number)
  const textEnd = headEnd + 1 + (length as number)
  const tail = `\n${number}\n`
  if (bytes.toString('latin1', textEnd, textEnd + tail.length) !== tail) return null
  try {
    const pairs = JSON.parse(bytes.toString('utf8', headEnd + 1, textEnd)) as [number, Hint[]][]
    return pairs.map(([n, hints]) => ({ number: n, hints }))
  } catch {
    return null
  }
}
