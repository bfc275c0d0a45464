import { sameFields } from '../core/limit-fields.ts'
import type { LimitTarget, SetLimitsCall } from '../store/limits.ts'
import type { Store } from '../store.ts'
import type { Declaration } from './lane-options.ts'

/**
 * Tells the store what the code of this worker says about the limits of its queues, before it takes the first job. What
 * earlier code declared and this one does not is taken back; what was changed by hand stays in force.
 */
export async function declareLimits(
  store: Store,
  space: string,
  queues: readonly { readonly name: string; readonly declared: readonly Declaration[] }[],
): Promise<void> {
  const { limits: known } = await store.limits({ space })
  const declared = new Map(queues.flatMap((queue) => queue.declared).map((one) => [keyOf(one.target), one]))
  const names = new Set(queues.map(({ name }) => name))
  const changes: SetLimitsCall['limits'][number][] = []
  for (const { target, fields } of declared.values()) {
    const stored = known.find((record) => keyOf(record.target) === keyOf(target))
    if (!sameFields(stored?.declared ?? null, fields)) changes.push({ target, by: 'code', fields })
  }
  for (const record of known) {
    if (record.declared === null || declared.has(keyOf(record.target))) continue
    // A shared limit may be declared by others, and without queues that name it it limits nothing.
    if ('queue' in record.target && names.has(record.target.queue)) {
      changes.push({ target: record.target, by: 'code', fields: null })
    }
  }
  if (changes.length > 0) await store.setLimits({ space, limits: changes })
}

function keyOf(target: LimitTarget): string {
  return JSON.stringify('shared' in target ? [target.shared] : [target.queue, target.lane ?? null])
}
