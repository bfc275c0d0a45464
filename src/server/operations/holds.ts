import type { Holdable, HoldView } from '../../index.ts'
import type { HoldTargetInput, Wire } from '../api.ts'
import { duration, laneName, nothing, queuePattern, reason } from '../inputs.ts'
import { flag, invalid, object, optional } from '../schema.ts'
import { holds } from '../shapes.ts'
import { sees } from '../visible.ts'
import { toWire } from '../wire.ts'
import { type Context, operation, type ServerOperation } from './define.ts'
import { durationOf } from './durations.ts'

const target = { queue: optional(queuePattern), lane: optional(laneName) } as const
const holding = object({ ...target, reason: optional(reason), for: optional(duration) })
const held = object({ holds })
const released = object({ released: flag(), holds })

export const holdsList: ServerOperation<'holds.list'> = operation({
  name: 'holds.list',
  method: 'GET',
  path: '/holds',
  summary: 'All that keeps jobs from starting: blocks first, then the oldest.',
  scope: 'read',
  input: nothing,
  output: held,
  async run(_input, { skep, caller }) {
    // What is on more than one queue concerns everybody whose queues are among them, so all see it.
    const standing = (await skep.holds()).filter(
      ({ queue }) => queue === null || queue.includes('*') || sees(caller, queue),
    )
    return { holds: toWire(standing) }
  },
})

export const holdsPause: ServerOperation<'holds.pause'> = operation({
  name: 'holds.pause',
  method: 'POST',
  path: '/holds/pause',
  summary: 'Keeps jobs from starting until they are resumed. Jobs that run go on.',
  scope: 'operate',
  input: holding,
  output: held,
  queuesOf,
  target: wordsOf,
  run: (input, context) => hold('pause', input, context),
})

export const holdsResume: ServerOperation<'holds.resume'> = operation({
  name: 'holds.resume',
  method: 'POST',
  path: '/holds/resume',
  summary: 'Takes a pause on this very target away.',
  scope: 'operate',
  input: object(target),
  output: released,
  queuesOf,
  target: wordsOf,
  run: async (input, { skep, caller }) => toWire(await skep.resume(holdableOf(input), { by: caller.name })),
})

export const holdsBlock: ServerOperation<'holds.block'> = operation({
  name: 'holds.block',
  method: 'POST',
  path: '/holds/block',
  summary: 'Like a pause, for admins: both must be gone before anything starts.',
  scope: 'admin',
  input: holding,
  output: held,
  queuesOf,
  target: wordsOf,
  run: (input, context) => hold('block', input, context),
})

export const holdsUnblock: ServerOperation<'holds.unblock'> = operation({
  name: 'holds.unblock',
  method: 'POST',
  path: '/holds/unblock',
  summary: 'Takes a block on this very target away.',
  scope: 'admin',
  input: object(target),
  output: released,
  queuesOf,
  target: wordsOf,
  run: async (input, { skep, caller }) => toWire(await skep.unblock(holdableOf(input), { by: caller.name })),
})

async function hold(
  kind: 'pause' | 'block',
  input: HoldTargetInput & { readonly reason?: string; readonly for?: string },
  { skep, caller }: Context,
): Promise<{ readonly holds: readonly Wire<HoldView>[] }> {
  const options = {
    by: caller.name,
    ...(input.reason === undefined ? {} : { reason: input.reason }),
    ...(input.for === undefined ? {} : { for: durationOf('for', input.for) }),
  }
  return toWire(await skep[kind](holdableOf(input), options))
}

function holdableOf({ queue, lane }: HoldTargetInput): Holdable {
  if (queue === undefined && lane !== undefined) throw invalid('queue', 'given where a lane is')
  if (queue === undefined) return {}
  return lane === undefined ? queue : { queue, lane }
}

function queuesOf({ queue = '*' }: HoldTargetInput): readonly string[] {
  return [queue]
}

function wordsOf({ queue, lane }: HoldTargetInput): string {
  if (queue === undefined) return 'all queues'
  return lane === undefined ? `queue ${queue}` : `lane "${lane}" of queue ${queue}`
}
