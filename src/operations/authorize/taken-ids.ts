/** What a caller learns of an id that it cannot use. The refusal shows that the id exists, and must not show where. */
import { SkepError } from '../../index.ts'
import type { Caller } from '../operation.ts'
import { sees } from './authorize-output.ts'

interface Taken {
  readonly id: string
  readonly queue?: string
  readonly flow?: string
}

/** The same error; an `ID_TAKEN` without the queues and flows that the caller does not see. */
export function withoutHiddenQueues(caller: Caller, error: unknown): unknown {
  if (!(error instanceof SkepError) || error.code !== 'ID_TAKEN') return error
  const field = error.facts['takenRuns'] === undefined ? 'taken' : 'takenRuns'
  const taken = (error.facts[field] ?? []) as readonly Taken[]
  const shown = taken.map((one) => (sees(caller, one.queue ?? one.flow ?? '') ? one : { id: one.id }))
  if (shown.every((one, index) => one === taken[index])) return error
  const [{ id } = { id: '' }] = shown
  const others = taken.length > 1 ? ` (and ${taken.length - 1} more like it)` : ''
  return new SkepError(
    'ID_TAKEN',
    `The id "${id}" is taken in this space${others}, so nothing was written. An id is unique within its space: use another one, ` +
      'for example jobIdOf(queue, key), which depends on the queue.',
    { facts: { id, [field]: shown } },
  )
}
