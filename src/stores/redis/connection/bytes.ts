/** What a reply of Redis is made of when it is read as bytes. */
export type Reply = Buffer | number | null | readonly Reply[]

/** An id as the scripts keep it: 16 bytes. */
export function toBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

/** What each digit of an id is worth, by its code. */
const WORTH = Uint8Array.from(
  { length: 128 },
  (_, code) => Number.parseInt(String.fromCharCode(code), 16) || 0,
)
/** Where the two digits of each byte of an id begin. */
const DIGITS_AT = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const

/** Writes an id at a place. */
export function writeId(into: Buffer, id: string, at: number): void {
  for (let i = 0; i < 16; i++) {
    const from = DIGITS_AT[i] as number
    const high = WORTH[id.charCodeAt(from)] as number
    into[at + i] = (high << 4) | (WORTH[id.charCodeAt(from + 1)] as number)
  }
}

/** The codes of the two digits of each byte. */
const HIGH = Uint8Array.from({ length: 256 }, (_, byte) => (byte >> 4).toString(16).charCodeAt(0))
const LOW = Uint8Array.from({ length: 256 }, (_, byte) => (byte & 15).toString(16).charCodeAt(0))
const DASH = 45

/** An id as people write it: one text at once, because whoever looks for it would first put pieces together. */
export function toUuid(bytes: Buffer, at = 0): string {
  const high = (n: number): number => HIGH[bytes[at + n] as number] as number
  const low = (n: number): number => LOW[bytes[at + n] as number] as number
  // biome-ignore format: as an id is written.
  return String.fromCharCode(
    high(0), low(0), high(1), low(1), high(2), low(2), high(3), low(3), DASH,
    high(4), low(4), high(5), low(5), DASH, high(6), low(6), high(7), low(7), DASH,
    high(8), low(8), high(9), low(9), DASH,
    high(10), low(10), high(11), low(11), high(12), low(12), high(13), low(13), high(14), low(14), high(15), low(15),
  )
}

export function textOf(reply: Reply | undefined): string {
  if (Buffer.isBuffer(reply)) return reply.toString()
  return typeof reply === 'number' ? String(reply) : ''
}

export function numberOf(reply: Reply | undefined): number {
  return typeof reply === 'number' ? reply : Number(textOf(reply))
}

export function listOf(reply: Reply | undefined): readonly Reply[] {
  return Array.isArray(reply) ? (reply as readonly Reply[]) : []
}

/** A text, or null for an empty one. */
export function textOrNull(reply: Reply | undefined): string | null {
  const text = textOf(reply)
  return text === '' ? null : text
}

export function numberOrNull(reply: Reply | undefined): number | null {
  const text = textOf(reply)
  return text === '' ? null : Number(text)
}
