import type { SeriesView } from '../../index.ts'
import { sees, seesAll } from '../authorize/authorize-output.ts'
import { type Context, operation } from '../operation.ts'
import { queueName, type Range, range } from '../schema/inputs.ts'
import { type Series, series } from '../schema/outputs.ts'
import { object, optional } from '../schema/schema.ts'
import { toWire } from '../schema/serialize.ts'

export const seriesGet = operation({
  name: 'series.get',
  method: 'GET',
  path: '/series',
  summary: 'Returns jobs per bucket over time, and how long they waited and ran, of all queues or of one.',
  scope: 'read',
  input: object({ queue: optional(queueName), range: optional(range) }),
  output: series,
  queuesOf: ({ queue = '*' }) => [queue],
  run: (input, context) => seriesOf(context, input),
})

/** The series of a queue, or of all queues that the caller sees. */
export async function seriesOf(
  context: Context,
  { queue, range: back = '1h' }: { readonly queue?: string; readonly range?: Range },
): Promise<Series> {
  const { skep, caller } = context
  if (queue !== undefined || seesAll(caller)) {
    return shown(await skep.metrics.series({ range: back, ...(queue === undefined ? {} : { queue }) }))
  }
  const queues = (await skep.queues.list()).map((one) => one.queue).filter((name) => sees(caller, name))
  const some = await Promise.all(
    queues.slice(0, MOST_SUMMED).map((name) => skep.metrics.series({ range: back, queue: name })),
  )
  const [first] = some
  return first === undefined ? shown(await skep.metrics.series({ range: back, queue: 'none' })) : summed(some)
}

/** The maximum number of queues that are summed for a caller that does not see all. */
const MOST_SUMMED = 50

/** Counts can be summed; percentiles of several queues cannot be derived from those of each. */
function summed(some: readonly SeriesView[]): Series {
  const [first, ...rest] = some as [SeriesView, ...SeriesView[]]
  const one = shown(first)
  const add = (key: 'enqueued' | 'done' | 'failed' | 'retried'): readonly number[] =>
    one[key].map((value, index) => rest.reduce((sum, other) => sum + (other[key][index] ?? 0), value))
  if (rest.length === 0) return one
  const unknown = one.enqueued.map(() => null)
  return {
    from: one.from,
    stepMs: one.stepMs,
    enqueued: add('enqueued'),
    done: add('done'),
    failed: add('failed'),
    retried: add('retried'),
    waitP50: unknown,
    waitP95: unknown,
    waitP99: unknown,
    runP50: unknown,
    runP95: unknown,
    runP99: unknown,
  }
}

function shown({ dead: _dead, isWhole: _isWhole, ...series }: SeriesView): Series {
  return toWire(series)
}
