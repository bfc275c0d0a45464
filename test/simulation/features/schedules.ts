import {
  archive,
  fixed,
  type Queue,
  queue,
  retry,
  type ScheduleDefinition,
  schedule,
} from '../../../src/index.ts'
import type { AuditEntry, SlotFact } from '../../proof/history.ts'
import type { App } from '../app.ts'
import type { Trial } from '../trial.ts'
import { EPOCH } from '../world.ts'
import type { Action, Feature } from './index.ts'
import { type Load, work, type Yield } from './jobs.ts'

/** Its jobs come from schedules alone. */
const slots: Queue<Load, Yield> = queue('slots', {
  onSuccess: archive('1h'),
  onError: retry(50, fixed(300)),
  onTimeout: retry(50),
  onLost: retry(50, fixed(0)),
})

/** Declared by every program, and never changed: each of its slots has to get its job, whatever happens. */
const STEADY_MS = 1_000
const STEADY_END = EPOCH + 10_000
const steady = schedule('steady', {
  queue: slots,
  every: STEADY_MS,
  payload: { n: 1 },
  missed: 'all',
  endAt: STEADY_END,
})

/** Made, changed, paused and removed at run time, with these intervals in milliseconds. */
const LOOSE = ['x', 'y', 'z'] as const
const INTERVALS = [1_000, 2_000, 3_000] as const

function hasSteady({ seed }: Trial): boolean {
  return seed % 2 === 0
}

function loose({ random, world }: Trial): ScheduleDefinition {
  return schedule(random.pick(LOOSE), {
    queue: slots,
    every: random.pick(INTERVALS),
    payload: { n: random.int(1, 9) },
    missed: random.pick(['skip', 'once', 'all']),
    grace: random.pick([0, 1_000, 60_000]),
    overlap: random.pick(['allow', 'allow', 'skip', 'replace']),
    jitter: random.pick([0, 0, 700]),
    endAt: world.storeNow() + random.int(1_000, 8_000),
  })
}

function action(name: string, weight: number, act: (app: App, trial: Trial) => Promise<unknown>): Action {
  return {
    name,
    weight,
    run: (trial) => {
      const app = trial.random.pick(trial.up)
      app.track(act(app, trial))
    },
  }
}

/** What a schedule may have fired lies on one of its grids; the steady one has no gap up to its end. */
function facts(trial: Trial, audit: readonly AuditEntry[]): SlotFact[] {
  const fired = audit.flatMap(({ before, after }) => (before === null && after?.slot ? [after.slot] : []))
  const possible = fired
    .filter(({ schedule: id, slot }) =>
      id === steady.id
        ? slot % STEADY_MS === 0 && slot < STEADY_END
        : INTERVALS.some((ms) => slot % ms === 0),
    )
    .map((slot): SlotFact => ({ ...slot, required: false }))
  const first = Math.min(...fired.filter(({ schedule: id }) => id === steady.id).map(({ slot }) => slot))
  const required: SlotFact[] = []
  for (let slot = first; hasSteady(trial) && slot < STEADY_END; slot += STEADY_MS)
    required.push({ schedule: steady.id, slot, required: true })
  return [...possible, ...required]
}

export const schedules: Feature = {
  name: 'schedules',
  queues: [
    {
      name: slots.name,
      facts: {
        retries: { errors: 50, timeouts: 50, lost: 50 },
        backoffMs: { errors: 300, timeouts: 0, lost: 0 },
        discards: false,
      },
      handler: (trial, app) => slots.handle((job) => work(trial, app, job)),
    },
  ],
  begin: (trial, app) => {
    if (hasSteady(trial)) app.skep.schedules.declare([steady], { owner: 'simulation' })
  },
  slots: facts,
  actions: [
    action('put a schedule', 5, ({ skep }, trial) => skep.schedules.put(loose(trial))),
    action('pause a schedule', 2, ({ skep }, { random }) => skep.schedules.pause(random.pick(LOOSE))),
    action('resume a schedule', 2, ({ skep }, { random }) => skep.schedules.resume(random.pick(LOOSE))),
    action('remove a schedule', 1, ({ skep }, { random }) => skep.schedules.remove(random.pick(LOOSE))),
    action('run a schedule now', 2, ({ skep }, { random }) => skep.schedules.runNow(random.pick(LOOSE))),
  ],
}
