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

export const commands: Feature = {
  name: 'commands',
  queues: [],
  actions: [
    command('cancel', 6),
    command('redrive', 4),
    command('remove', 3),
    command('promote', 2),
    command('bury', 2),
    { name: 'redrive a whole queue', weight: 1, run: redriveAll },
  ],
}
