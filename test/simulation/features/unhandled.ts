import { archive, fixed, type Queue, queue, retry } from '../../../src/index.ts'
import type { QueueFacts } from '../../proof/history.ts'
import type { Trial } from '../trial.ts'
import type { Feature } from './index.ts'
import { enqueue, type Load, work, type Yield } from './jobs.ts'

/** What the history says when a queue is left without a worker. */
export const LEFT = 'no worker for seldom'

/** Strict lanes of a queue that only some programs handle, and at times none. */
const seldom: Queue<Load, Yield> = queue('seldom', {
  onSuccess: archive('1h'),
  onError: retry(50, fixed(300)),
  onTimeout: retry(50, fixed('1s')),
  onLost: retry(50, fixed(0)),
  lane: () => undefined,
  lanes: { order: 'strict' },
})

const facts: QueueFacts = {
  retries: { errors: 50, timeouts: 50, lost: 50 },
  backoffMs: { errors: 300, timeouts: 1_000, lost: 0 },
  discards: false,
}

const LANES = ['', 'a'] as const

/** Every program that handles the queue stops or dies. Its jobs wait until one that handles it starts. */
function leave(trial: Trial): void {
  const serving = trial.up.filter(({ queues }) => queues.has(seldom.name))
  if (serving.length === 0) return
  for (const app of serving) {
    if (trial.random.chance(0.5)) app.track(app.close())
    else app.process.die()
  }
  trial.note(LEFT)
}

export const unhandled: Feature = {
  name: 'unhandled',
  queues: [
    {
      name: seldom.name,
      facts,
      rare: true,
      handler: (trial, app) => seldom.handle((job) => work(trial, app, job)),
    },
  ],
  order: LANES.map((lane) => `${seldom.name}/${lane}`),
  actions: [
    {
      name: 'enqueue what is seldom handled',
      weight: 5,
      run: (trial) => {
        const { random } = trial
        for (let n = random.int(1, 4); n > 0; n--) {
          const lane = random.pick(LANES)
          void enqueue(trial, seldom, lane === '' ? {} : { lane })
        }
      },
    },
    { name: 'leave a queue without a worker', weight: 1, run: leave },
  ],
}
