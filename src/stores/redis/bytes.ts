/** What a reply of Redis is made of when it is read as bytes. */
export type Reply = Buffer | number | null | readonly Reply[]

/** An id as the scripts keep it: 16 bytes. */
export function toBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

/** Writes an id at a place. */
export function writeId(into: Buffer, id: string, at: number): void {
  into.write(id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18) + id.slice(19, 23) + id.slice(24), at, 'hex')
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
