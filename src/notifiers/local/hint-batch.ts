import type { Hint } from '../../notifier/notifier.ts'

/** One write: hints, numbered without gaps so that a reader can detect missed ones. */
export interface Letter {
  readonly number: number
  readonly hints: readonly Hint[]
}

export const MAILBOX_BYTES: number = 64 * 1024

/** A batch in its encoded form: it stays in the file for a while, and is encoded only once. */
export interface WrittenLetter {
  readonly number: number
  readonly text: string
}

export function writeLetter({ number, hints }: Letter): WrittenLetter {
  return { number, text: JSON.stringify([number, hints]) }
}

/**
 * The content of a mailbox: a head with the number of the last batch and the length of the body, the batches
 * as JSON, and the number again. The file is overwritten in place while others read it; if the two numbers
 * differ, or the body is incomplete, the read overlapped a write.
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
  // A batch too long for the file is replaced by a sync: check everything.
  return encode(number === 0 ? [] : [writeLetter({ number, hints: [{ kind: 'sync' }] })])
}

/** The batches in a mailbox; null if it was read during a write. */
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
