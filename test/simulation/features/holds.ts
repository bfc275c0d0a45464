import type { HoldTarget } from '../../../src/core/lanes/holds.ts'
import type { Holdable } from '../../../src/index.ts'
import type { Trial } from '../trial.ts'
import type { Feature } from './index.ts'

const QUEUES = ['kept', 'laned', 'ordered', 'metered', 'paired-a', 'paired-*', '*ed', 'child'] as const

function drawTarget({ random }: Trial): HoldTarget {
  const space = 'default'
  return random.pick<HoldTarget>([
    { space, queue: random.pick(QUEUES), lane: null },
    { space, queue: random.pick(QUEUES), lane: null },
    { space, queue: 'laned', lane: random.pick(['', 'a', 'b']) },
    { space, queue: 'ordered', lane: random.pick(['', 'a', 'b']) },
    { space, queue: null, lane: null },
    { space: null, queue: random.pick([null, 'laned']), lane: null },
  ])
}

const KINDS = ['pause', 'block'] as const

/** Somebody holds a queue, a pattern of names, a lane, a space or everything, for a while or until it is released. */
function hold(trial: Trial): void {
  const { random } = trial
  const app = random.pick(trial.up)
  const forMs = random.pick([null, null, random.int(1, 3_000)])
  const kind = random.pick(KINDS)
  const put = { kind, ...drawTarget(trial), reason: 'The simulator says so.', by: 'somebody', forMs }
  app.trackCall(app.store.hold({ holds: [put] }))
}

/** Somebody pauses through the client, and sometimes waits until all workers have confirmed. */
function pause(trial: Trial): void {
  const { random } = trial
  const app = random.pick(trial.up)
  const target = drawTarget(trial)
  const { space, queue, lane } = target
  const on: Holdable =
    lane !== null
      ? { queue: queue as string, lane }
      : { ...(queue === null ? {} : { queue }), ...(space === null ? { everywhere: true } : {}) }
  const everywhere = random.chance(0.6)
  const options = everywhere ? { wait: true, timeout: random.pick(['500ms', '20s'] as const) } : {}
  const kind = random.pick(KINDS)
  app.track(
    app.skep.queues[kind](on, options).then(() => {
      app.recorder.write({ f: 'confirm', type: 'ok', kind, ...target, everywhere })
    }),
  )
}

/** Somebody releases what somebody else, or nobody, has put. */
function release(trial: Trial): void {
  const { random } = trial
  const app = random.pick(trial.up)
  const standing = heldBefore(trial)
  const target =
    standing.length > 0 && random.chance(0.9)
      ? random.pick(standing)
      : { kind: random.pick(KINDS), ...drawTarget(trial) }
  app.trackCall(app.store.release({ holds: [target] }))
}

type Held = HoldTarget & { readonly kind: 'pause' | 'block' }

function heldBefore(trial: Trial): Held[] {
  const held: Held[] = []
  for (const record of trial.records) {
    if (record.f !== 'hold' || record.type !== 'invoke' || record.action !== 'hold') continue
    const { kind, space, queue, lane } = record
    held.push({ kind, space, queue, lane })
  }
  return held
}

/** A hold may arrive late, after the heal: what stands is released until nothing does. */
function releaseAll(trial: Trial): void {
  const app = trial.up.at(-1)
  if (!app || heldBefore(trial).length === 0) return
  const released = app.store.holds({}).then(async ({ holds: standing }) => {
    if (standing.length > 0) await app.store.release({ holds: standing })
  })
  app.trackCall(released)
}

export const holds: Feature = {
  name: 'holds',
  queues: [],
  actions: [
    { name: 'hold', weight: 3, run: hold },
    { name: 'pause', weight: 4, run: pause },
    { name: 'release', weight: 6, run: release },
  ],
  mend: releaseAll,
}
