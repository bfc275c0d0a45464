import { type Holdable, type HoldView, SkepError } from '../../index.ts'
import { concerns } from '../authorize/authorize-output.ts'
import { type Caller, type Context, operation } from '../operation.ts'
import {
  duration,
  durationOf,
  type HoldTargetInput,
  nothing,
  reason,
  holdTarget as target,
} from '../schema/inputs.ts'
import { holds } from '../schema/outputs.ts'
import { flag, invalid, object, optional, type TypeOf } from '../schema/schema.ts'
import { toWire, type Wire } from '../schema/serialize.ts'

const holding = object({
  ...target,
  reason: optional(reason),
  for: optional(duration),
  wait: optional(flag('Respond when every live worker has returned its prefetched jobs.')),
  timeout: optional(duration),
})
const held = object({ holds })
const released = object({ released: flag(), holds })

export const holdsList = operation({
  name: 'holds.list',
  method: 'GET',
  path: '/holds',
  summary: 'Lists active pauses and blocks: blocks first, then the oldest.',
  scope: 'read',
  input: nothing,
  output: held,
  async run(_input, { skep, caller }) {
    return { holds: shownHolds(caller, await skep.queues.holds()) }
  },
})

export const holdsPause = operation({
  name: 'holds.pause',
  method: 'POST',
  path: '/holds/pause',
  summary: 'Pauses queues: no jobs start until they are resumed. Running jobs continue.',
  scope: 'operate',
  input: holding,
  output: held,
  queuesOf,
  target: wordsOf,
  run: (input, context) => hold('pause', input, context),
})

export const holdsResume = operation({
  name: 'holds.resume',
  method: 'POST',
  path: '/holds/resume',
  summary: 'Removes the pause on this target.',
  scope: 'operate',
  input: object(target),
  output: released,
  queuesOf,
  target: wordsOf,
  async run(input, { skep, caller }) {
    const { released: isReleased, holds: left } = await skep.queues.resume(holdableOf(input, caller), {
      by: caller.name,
    })
    return { released: isReleased, holds: shownHolds(caller, left) }
  },
})

export const holdsBlock = operation({
  name: 'holds.block',
  method: 'POST',
  path: '/holds/block',
  summary: 'Blocks queues. Like a pause, for admins: jobs start when neither remains.',
  scope: 'admin',
  input: holding,
  output: held,
  queuesOf,
  target: wordsOf,
  run: (input, context) => hold('block', input, context),
})

export const holdsUnblock = operation({
  name: 'holds.unblock',
  method: 'POST',
  path: '/holds/unblock',
  summary: 'Removes the block on this target.',
  scope: 'admin',
  input: object(target),
  output: released,
  queuesOf,
  target: wordsOf,
  async run(input, { skep, caller }) {
    const { released: isReleased, holds: left } = await skep.queues.unblock(holdableOf(input, caller), {
      by: caller.name,
    })
    return { released: isReleased, holds: shownHolds(caller, left) }
  },
})

/** A hold on several queues is shown to every caller whose queues may be among them. */
function shownHolds(caller: Caller, all: readonly HoldView[]): readonly Wire<HoldView>[] {
  return toWire(all.filter(({ queue }) => queue === null || concerns(caller, queue)))
}

async function hold(
  kind: 'pause' | 'block',
  input: TypeOf<typeof holding>,
  { skep, caller }: Context,
): Promise<{ readonly holds: readonly Wire<HoldView>[] }> {
  const options = {
    by: caller.name,
    ...(input.reason === undefined ? {} : { reason: input.reason }),
    ...(input.for === undefined ? {} : { for: durationOf('for', input.for) }),
    ...(input.wait === undefined ? {} : { wait: input.wait }),
    ...(input.timeout === undefined ? {} : { timeout: durationOf('timeout', input.timeout) }),
  }
  const { holds: standing } = await skep.queues[kind](holdableOf(input, caller), options)
  return { holds: shownHolds(caller, standing) }
}

function holdableOf({ queue, lane, everywhere }: HoldTargetInput, caller: Caller): Holdable {
  if (everywhere === true) {
    if (caller.spaces !== '*') throw new SkepError('FORBIDDEN', 'This credential is not for every space.')
    if (lane !== undefined) throw invalid('lane', 'left out with everywhere: a lane belongs to one space')
    return queue === undefined ? { everywhere } : { queue, everywhere }
  }
  if (queue === undefined && lane !== undefined) throw invalid('queue', 'given where a lane is')
  if (queue === undefined) return {}
  return lane === undefined ? queue : { queue, lane }
}

function queuesOf({ queue = '*' }: HoldTargetInput): readonly string[] {
  return [queue]
}

function wordsOf({ queue, lane, everywhere }: HoldTargetInput): string {
  const where = everywhere === true ? ' in every space' : ''
  if (queue === undefined) return `all queues${where}`
  return lane === undefined ? `queue ${queue}${where}` : `lane "${lane}" of queue ${queue}`
}
