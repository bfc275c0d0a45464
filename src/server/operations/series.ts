import type { Range, Series } from '../api.ts'
import { queueName, range } from '../inputs.ts'
import { object, optional } from '../schema.ts'
import { series } from '../shapes.ts'
import { type Context, operation, type ServerOperation } from './define.ts'

export const seriesGet: ServerOperation<'series.get'> = operation({
  name: 'series.get',
  method: 'GET',
  path: '/series',
  summary:
    'What happened over time, of all queues or of one: jobs per bucket, and how long they waited and ran.',
  scope: 'read',
  input: object({ queue: optional(queueName), range: optional(range) }),
  output: series,
  queuesOf: ({ queue = '*' }) => [queue],
  run: (input, context) => seriesOf(context, input),
})

export async function seriesOf(
  { services }: Context,
  _input: { readonly queue?: string; readonly range?: Range },
): Promise<Series> {
  return {
    from: new Date(services.runtime.now()).toISOString(),
    stepMs: 60_000,
    enqueued: [],
    done: [],
    failed: [],
    retried: [],
    waitP50: [],
    waitP95: [],
    waitP99: [],
    runP50: [],
    runP95: [],
    runP99: [],
  }
}
