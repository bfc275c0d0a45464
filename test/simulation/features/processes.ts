import type { Feature } from './index.ts'

/** What happens to programs: they die, stand still, are stopped, and come back. */
export const processes: Feature = {
  name: 'processes',
  queues: [],
  actions: [
    { name: 'kill', weight: 3, run: (trial) => trial.random.pick(trial.up).process.die() },
    {
      // In the middle of whatever it does.
      name: 'kill at its n-th step',
      weight: 4,
      run: (trial) => {
        trial.random.pick(trial.up).process.diesAfter = trial.random.int(0, 60)
      },
    },
    {
      name: 'stall',
      weight: 3,
      run: (trial) => {
        const app = trial.random.pick(trial.up)
        const ms = trial.random.pick([100, 0.9, 1.1, 3].map((x) => (x < 10 ? x * trial.swarm.leaseMs : x)))
        app.process.stall(ms)
        app.recorder.write({ f: 'stall', type: 'info', what: `${ms}` })
      },
    },
    {
      // Somebody else will run its jobs by the time it wakes and wants to save what it did.
      name: 'stall while it works',
      weight: 5,
      run: (trial) => {
        const busy = trial.up.filter(({ running }) => running > 0)
        if (busy.length === 0) return
        const app = trial.random.pick(busy)
        const ms = (1.2 + trial.random.next()) * trial.swarm.leaseMs + trial.random.int(0, 1_500)
        app.process.stall(ms)
        app.recorder.write({ f: 'stall', type: 'info', what: `${ms}` })
      },
    },
    {
      name: 'stop',
      weight: 2,
      run: (trial) => {
        const app = trial.random.pick(trial.up)
        app.track(app.close())
      },
    },
    {
      name: 'start',
      weight: 4,
      run: (trial) => {
        if (trial.up.length < 4) trial.startApp()
      },
    },
  ],
}
