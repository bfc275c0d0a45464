import { type DrainOptions, type DrainSummary, SkepError, toMs } from '../../index.ts'
import type { Counterpart } from '../connect/backend.ts'

const LOOK_MS = 500

/** Pauses a queue there, and looks until nothing of it runs. */
export async function drainThere(
  there: { readonly queues: Pick<Counterpart['queues'], 'pause' | 'list'> },
  queue: string,
  { timeout, reason }: DrainOptions,
): Promise<DrainSummary> {
  const giveUpAt = timeout === undefined ? Infinity : Date.now() + toMs('timeout', timeout)
  const { holds } = await there.queues.pause(queue, reason === undefined ? {} : { reason })
  let atFirst: number | undefined
  for (;;) {
    const [found] = await there.queues.list([queue])
    const { running = 0, ready = 0, delayed = 0 } = found ?? {}
    atFirst ??= running
    if (running === 0) return { ended: atFirst, ready, delayed, holds }
    const left = giveUpAt - Date.now()
    if (left <= 0) {
      throw new SkepError('DRAIN_TIMEOUT', `${running} jobs of "${queue}" still run. It stays paused.`, {
        facts: { queue, running },
      })
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(LOOK_MS, left)))
  }
}
