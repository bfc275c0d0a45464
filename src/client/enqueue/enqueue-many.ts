import { SkepError } from '../../core/errors.ts'
import type { NewJob } from '../../core/jobs/job.ts'
import { ManyTexts } from '../../core/json/bulk-json.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import type { Queue } from '../queues/queue.ts'
import { type EnqueueOptions, type Prepare, prepareAll } from './enqueue.ts'

export interface EnqueueManyOptions<Input> extends Omit<EnqueueOptions, 'id'> {
  /** Options of one item's own. */
  readonly each?: (item: Input, index: number) => Omit<EnqueueOptions, 'tx'>
}

const KEYS = optionKeys<EnqueueManyOptions<unknown>>('enqueueMany()', {
  delay: true,
  runAt: true,
  priority: true,
  unique: true,
  headers: true,
  timeout: true,
  retention: true,
  lane: true,
  cost: true,
  tx: true,
  each: true,
})
const EACH_KEYS = optionKeys<Omit<EnqueueOptions, 'tx'>>('each', {
  delay: true,
  runAt: true,
  priority: true,
  unique: true,
  headers: true,
  timeout: true,
  retention: true,
  id: true,
  lane: true,
  cost: true,
})

/** The jobs of many items. `chosen`: the ids that the caller gave, which may be in the store already; null if there are none. */
export async function prepareMany<Input, Result, Output>(
  prepare: Prepare,
  queue: Queue<Input, Result, Output>,
  items: readonly Input[],
  options: EnqueueManyOptions<Input>,
): Promise<{ readonly jobs: readonly NewJob[]; readonly chosen: ReadonlySet<string> | null }> {
  assertOptions(KEYS, options)
  const { each, tx: _tx, ...common } = options
  if (!Array.isArray(items)) {
    throw new SkepError('OPTION_INVALID', 'enqueueMany takes an array of payloads; enqueue takes one.')
  }
  if (items.length > LIMITS.batchJobs) {
    throw new SkepError(
      'BATCH_TOO_LARGE',
      `enqueueMany got ${items.length} jobs; at most ${LIMITS.batchJobs} go in one batch. Send several.`,
    )
  }
  let chosen: Set<string> | null = null
  // Whoever is asked about an item may change it before it is written.
  const texts = each === undefined && queue.check === null ? new ManyTexts(items) : null
  const jobs = await prepareAll(items, (item, index) => {
    try {
      const own = each === undefined ? common : { ...common, ...eachOf(each(item, index)) }
      if ('id' in own && typeof own.id === 'string') {
        chosen ??= new Set()
        chosen.add(own.id)
      }
      const prepared = prepare(queue, item, own, null, texts?.next())
      return prepared instanceof Promise ? prepared.catch((error) => refuse(index, error)) : prepared
    } catch (error) {
      return refuse(index, error)
    }
  })
  return { jobs, chosen }
}

function eachOf(options: Omit<EnqueueOptions, 'tx'>): Omit<EnqueueOptions, 'tx'> {
  assertOptions(EACH_KEYS, options)
  return options
}

function refuse(index: number, cause: unknown): never {
  const code = cause instanceof SkepError ? cause.code : 'unknown'
  const message = cause instanceof Error ? cause.message : String(cause)
  throw new SkepError('BATCH_ITEM_INVALID', `Item ${index}: ${message} Nothing was enqueued.`, {
    cause,
    facts: { index, code },
  })
}
