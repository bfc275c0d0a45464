import { createHash } from 'node:crypto'
import { assertKey, assertName } from '../../core/names.ts'
import type { AnyQueue } from '../queues/queue.ts'

/**
 * The job id that follows from a queue and a key of yours, such as the number of an order: the same two always give the same
 * id, and other queues other ids. With it an enqueue is safe to repeat: `enqueue(charge, order, { id: jobIdOf(charge, order.number) })`.
 */
export function jobIdOf(queue: AnyQueue | string, key: string): string {
  const name = typeof queue === 'string' ? queue : queue.name
  assertName('Queue', name)
  assertKey('key', key)
  // A UUIDv8 of their hash. Names have no line breaks.
  const hex = createHash('sha256').update(`${name}\n${key}`).digest('hex')
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
