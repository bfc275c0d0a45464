import type { Feature } from './index.ts'

/** What happens between programs and their store, and to clocks. */
export const trouble: Feature = {
  name: 'trouble',
  queues: [],
  actions: [
    {
      name: 'cut one off',
      weight: 2,
      run: (trial) => {
        const { link } = trial.random.pick(trial.up)
        link.isCut = true
        trial.world.after(trial.random.int(50, 3 * trial.swarm.leaseMs), null, () => {
          link.isCut = false
        })
      },
    },
    {
      name: 'outage',
      weight: 1,
      run: (trial) => {
        const links = trial.up.map(({ link }) => link)
        for (const link of links) link.isCut = true
        trial.world.after(trial.random.int(50, 3 * trial.swarm.leaseMs), null, () => {
          for (const link of links) link.isCut = false
        })
      },
    },
    {
      name: "a process's clock jumps",
      weight: 1,
      run: (trial) => {
        const { process } = trial.random.pick(trial.up)
        process.skewMs += trial.random.pick([-86_400_000, -1_000, 1_000, 86_400_000])
      },
    },
    {
      name: "the store's clock goes back",
      weight: 1,
      run: (trial) => {
        const ms = trial.random.int(1, 1_500)
        trial.world.storeSkewMs -= ms
        trial.random.pick(trial.up).recorder.write({ f: 'clock', type: 'info', what: `${ms}` })
      },
    },
  ],
}
