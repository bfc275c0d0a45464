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

/** An id as people write it. */
export function toUuid(bytes: Buffer, at = 0): string {
  const hex = bytes.toString('hex', at, at + 16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
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
