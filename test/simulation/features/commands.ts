import type { Trial } from '../trial.ts'
import type { Action, Feature } from './index.ts'

type Command = 'cancel' | 'redrive' | 'remove' | 'promote' | 'bury'

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
      app.track(app.skep[name](id))
    },
  }
}

function redriveAll(trial: Trial): void {
  const app = trial.random.pick(trial.up)
  const queue = trial.random.pick(['kept', 'strict', 'single', 'child', 'laned', 'ordered'])
  app.track(app.skep.redrive({ queue, state: trial.random.pick(['dead', 'failed', 'cancelled']) }))
}

/** Another priority for one job, or for all of a queue that wait. */
function prioritize(trial: Trial): void {
  const { random, known } = trial
  const app = random.pick(trial.up)
  const priority = random.int(-3, 3)
  const options = { priorityMode: random.pick(['head-start', 'strict'] as const) }
  if (random.chance(0.3)) {
    const queue = random.pick(['kept', 'spool', 'single', 'child'])
    app.track(app.skep.prioritize({ queue }, priority, options))
  } else if (known.length > 0) {
    app.track(app.skep.prioritize(random.pick(known.slice(-10)), priority, options))
  }
}

export const commands: Feature = {
  name: 'commands',
  queues: [],
  actions: [
    command('cancel', 6),
    command('redrive', 4),
    command('remove', 3),
    command('promote', 2),
    command('bury', 2),
    { name: 'prioritize', weight: 3, run: prioritize },
    { name: 'redrive a whole queue', weight: 1, run: redriveAll },
  ],
}
