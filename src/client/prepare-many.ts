import { SkepError } from '../core/errors.ts'
import type { NewJob } from '../core/job.ts'
import { LIMITS } from '../core/limits.ts'
import { ManyTexts } from '../core/many-texts.ts'
import { type EnqueueOptions, type Prepare, prepareAll } from './enqueue.ts'
import type { Queue } from './queue.ts'

export interface EnqueueManyOptions<Input> extends Omit<EnqueueOptions, 'id'> {
  /** Options of one item's own. */
  readonly each?: (item: Input, index: number) => Omit<EnqueueOptions, 'tx'>
}

/** The jobs of many items; `again`: one of them has an id that may be in the store already. */
export async function prepareMany<Input, Result, Output>(
  prepare: Prepare,
  queue: Queue<Input, Result, Output>,
  items: readonly Input[],
  { each, ...common }: Omit<EnqueueManyOptions<Input>, 'tx'>,
): Promise<{ readonly jobs: readonly NewJob[]; readonly again: boolean }> {
  if (items.length > LIMITS.batchJobs) {
    throw new SkepError(
      'BATCH_TOO_LARGE',
      `enqueueMany got ${items.length} jobs; at most ${LIMITS.batchJobs} go in one batch. Send several.`,
    )
  }
  let again = false
  // Whoever is asked about an item may change it before it is written.
  const texts = each === undefined && queue.check === null ? new ManyTexts(items) : null
  const jobs = await prepareAll(items, (item, index) => {
    try {
      const own: Omit<EnqueueOptions, 'tx'> =
        each === undefined ? common : { ...common, ...each(item, index) }
      again ||= own.id !== undefined
      const prepared = prepare(queue, item, own, null, texts?.next())
      return prepared instanceof Promise ? prepared.catch((error) => refuse(index, error)) : prepared
    } catch (error) {
      return refuse(index, error)
    }
  })
  return { jobs, again }
}

function refuse(index: number, cause: unknown): never {
  const code = cause instanceof SkepError ? cause.code : 'unknown'
  const message = cause instanceof Error ? cause.message : String(cause)
  throw new SkepError('BATCH_ITEM_INVALID', `Item ${index}: ${message} Nothing was enqueued.`, {
    cause,
    facts: { index, code },
  })
}
