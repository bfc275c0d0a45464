import type { InputOf, OutputOf } from '../api.ts'
import { toWire } from '../wire.ts'
import type { Context } from './define.ts'

export async function lanesOf(
  { skep }: Context,
  { queue, ...page }: InputOf<'queues.lanes'>,
): Promise<OutputOf<'queues.lanes'>> {
  return toWire(await skep.lanes(queue, page))
}
