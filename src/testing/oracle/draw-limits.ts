import type { LimitFields, LimitTarget } from '../../store/limits.ts'
import type { Random } from '../random.ts'
import type { Step } from './commands.ts'
import { type Draw, LANES, QUEUES, SPACES } from './draw.ts'

export const LIMITING = ['limit', 'limit', 'hold', 'release', 'release', 'lanes'] as const

/** What is said about limits, what is held, and what lanes do. */
export function drawLimiting(kind: (typeof LIMITING)[number], { random }: Draw): Step {
  const space = random.chance(0.8) ? SPACES[0] : SPACES[1]
  const queue = random.pick(QUEUES)
  if (kind === 'limit') {
    const by = random.pick(['code', 'hand'] as const)
    const target = random.pick([{ queue }, { queue }, { queue, lane: random.pick(LANES) }, { shared: 'api' }])
    const fields = random.chance(0.15) ? null : drawFields(random, target)
    return { do: 'limit', space, limits: [{ target, by, fields }] }
  }
  if (kind === 'lanes') return { do: 'lanes', space, queue, lanes: [...LANES, ''], limit: 10 }
  const target = random.pick([
    { space, queue, lane: null },
    { space, queue, lane: random.pick([...LANES, '']) },
    { space, queue: 'm*', lane: null },
    { space: null, queue, lane: null },
    { space, queue: null, lane: null },
    { space: null, queue: null, lane: null },
  ])
  const hold = { kind: random.pick(['pause', 'block'] as const), ...target }
  if (kind === 'release') return { do: 'release', holds: [hold] }
  // Most end by themselves, or soon nothing would happen any more.
  const forMs = random.chance(0.1) ? null : random.pick([1, 1_000, 60_000])
  return { do: 'hold', holds: [{ ...hold, reason: random.pick([null, 'é']), by: null, forMs }] }
}

/** The second queue has strict jobs. A worker says so before its first claim. */
export function declareStrict(space: string): Step {
  const target = { queue: QUEUES[1] }
  return { do: 'limit', space, limits: [{ target, by: 'code', fields: { strict: true } }] }
}

function drawFields(random: Random, target: LimitTarget): LimitFields {
  const concurrency = random.pick([null, 1, 2, 5])
  const rate = random.chance(0.6) ? null : random.pick(RATES)
  if ('shared' in target) return { concurrency, rate }
  if (target.lane !== undefined)
    return { concurrency, ...(random.chance(0.5) ? { weight: random.int(1, 4) } : {}) }
  return {
    ...(random.chance(0.5) ? { concurrency } : {}),
    ...(random.chance(0.5) ? { laneConcurrency: random.pick([null, 1, 2]) } : {}),
    ...(random.chance(0.3) ? { rate } : {}),
    ...(random.chance(0.3) ? { laneRate: random.pick([null, ...RATES]) } : {}),
    ...(random.chance(0.3) ? { weight: random.int(1, 3) } : {}),
    ...(random.chance(0.3) ? { shared: random.pick([null, 'api']) } : {}),
    ...(target.queue === QUEUES[1] && random.chance(0.8) ? { strict: true } : {}),
  }
}

const RATES = [
  { limit: 3, perMs: 1_000, burst: 1 },
  { limit: 7, perMs: 60_000, burst: 4 },
] as const
