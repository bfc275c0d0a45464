import { archive, type Queue, queue, retry } from '../../../src/index.ts'
import type { Feature } from './index.ts'
import { enqueue, type Load, work, type Yield } from './jobs.ts'

/** At most one job for each key. */
const single: Queue<Load, Yield> = queue('single', {
  onSuccess: archive('1h'),
  onError: retry(50),
  onTimeout: retry(50),
  onLost: retry(50),
})

export const unique: Feature = {
  name: 'unique',
  queues: [
    {
      name: single.name,
      facts: {
        retries: { errors: 50, timeouts: 50, lost: 50 },
        backoffMs: { errors: 0, timeouts: 0, lost: 0 },
        discards: false,
      },
      handler: (trial, app) => single.handle((job) => work(trial, app, job)),
    },
  ],
  actions: [
    {
      name: 'enqueue with a unique key',
      weight: 10,
      run: (trial) => {
        const { random } = trial
        const key = random.pick(['a', 'b', 'c'])
        void enqueue(trial, single, {
          unique: {
            // Keys of different scopes are different things here: the checker judges each by its own rule.
            ...random.pick([
              { key: `queued-${key}`, scope: 'queued' },
              { key: `active-${key}`, scope: 'active' },
              { key: `window-${key}`, scope: 1_000 },
            ] as const),
            onConflict: random.pick(['ignore', 'replace', 'postpone']),
          },
          delay: random.pick([0, 0, 200, 1_000]),
        })
      },
    },
  ],
}
