import type { Trial } from '../trial.ts'
import { bulkActions, startBulk } from './bulk.ts'
import type { Action, Feature } from './index.ts'
import { enqueue } from './jobs.ts'
import { ordered } from './lanes.ts'

type Command = 'cancel' | 'retry' | 'remove' | 'promote' | 'bury'

/** What people do to single jobs, and to all of a queue. */
function command(name: Command, weight: number): Action {
  return {
    name,
    weight,
    run: (trial) => {
      const { random, known } = trial
      if (known.length === 0) return
      const app = random.pick(trial.up)
      // The latest are the likeliest to be in a state in which it is possible.
      const id = random.pick(random.chance(0.7) ? known.slice(-10) : known)
      app.track(app.skep.jobs[name](id))
    },
  }
}

function retryAll(trial: Trial): void {
  const app = trial.random.pick(trial.up)
  const queue = trial.random.pick([
    'kept',
    'strict',
    'single',
    'child',
    'laned',
    'ordered',
    'ordered',
    'ordered',
  ])
  app.track(app.skep.jobs.retry({ queue, state: trial.random.pick(['dead', 'failed', 'cancelled']) }))
}

/** Queues with strict lanes are the likeliest: there the order in which jobs come back shows. */
const RETRIED = ['ordered', 'ordered', 'kept', 'strict', 'laned'] as const

/** The same as a bulk action, which a worker takes up. */
function retryInBulk(trial: Trial): void {
  const { random } = trial
  const app = random.pick(trial.up)
  const state = random.pick(['dead', 'dead', 'cancelled', 'failed'] as const)
  app.track(startBulk(trial, app, random.pick(RETRIED), state))
}

/** Jobs of a strict lane come, what waits there ends in any order, and all of it comes back in one retry. */
function endAndRetryAll(trial: Trial): void {
  const { random } = trial
  const app = random.pick(trial.up)
  const how = random.pick(['ids', 'selection', 'bulk'] as const)
  const places = Array.from({ length: 30 }, () => random.next())
  const waiting = (): string[] =>
    [...trial.model.final()]
      .filter(([, { queue, state }]) => queue === ordered.name && (state === 'ready' || state === 'delayed'))
      .map(([id], n) => ({ id, place: places[n] ?? 1 }))
      .sort((a, b) => a.place - b.place)
      .map(({ id }) => id)
  const act = async (): Promise<unknown> => {
    for (let n = 0; n < 4; n++) await enqueue(trial, ordered, {}, app)
    const ids = waiting()
    for (const id of ids) await app.skep.jobs.bury(id)
    if (how === 'bulk') return startBulk(trial, app, ordered.name, 'dead')
    return app.skep.jobs.retry(how === 'ids' ? ids : { queue: ordered.name })
  }
  app.track(act())
}

/** Another priority for one job, or for all of a queue that wait. */
function prioritize(trial: Trial): void {
  const { random, known } = trial
  const app = random.pick(trial.up)
  const priority = random.int(-3, 3)
  const options = { priorityMode: random.pick(['head-start', 'strict'] as const) }
  if (random.chance(0.3)) {
    const queue = random.pick(['kept', 'spool', 'single', 'child'])
    app.track(app.skep.jobs.prioritize({ queue }, priority, options))
  } else if (known.length > 0) {
    app.track(app.skep.jobs.prioritize(random.pick(known.slice(-10)), priority, options))
  }
}

export const commands: Feature = {
  name: 'commands',
  queues: [],
  actions: [
    command('cancel', 6),
    command('retry', 4),
    command('remove', 3),
    command('promote', 2),
    command('bury', 2),
    { name: 'prioritize', weight: 3, run: prioritize },
    { name: 'retry a whole queue', weight: 1, run: retryAll },
    { name: 'retry a whole queue in bulk', weight: 2, run: retryInBulk },
    { name: 'end what waits in order and retry it', weight: 3, run: endAndRetryAll },
  ],
  ...bulkActions,
}
