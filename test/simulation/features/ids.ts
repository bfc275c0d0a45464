import { archive, fixed, type JobContext, type Queue, queue, retry } from '../../../src/index.ts'
import type { QueueFacts } from '../../proof/history.ts'
import { type Recorder, recordedChoice, recordStart } from '../../proof/recorder.ts'
import { type App, CHOSEN_IDS } from '../app.ts'
import type { Trial } from '../trial.ts'
import type { Feature } from './index.ts'
import { type Load, pause, type Yield } from './jobs.ts'

const ENQUEUE = 'enqueue with an id of its own'

// Kept for the whole trial, whatever clocks do: an id that is free again would be another story.
const chosen: readonly Queue<Load, Yield>[] = ['chosen-a', 'chosen-b'].map((name) =>
  queue<Load, Yield>(name, {
    onSuccess: archive('90d'),
    keepCancelled: '90d',
    onError: retry(50, fixed(300)),
    onLost: retry(50, fixed(0)),
  }),
)

const facts: QueueFacts = {
  retries: { errors: 50, timeouts: 50, lost: 50 },
  backoffMs: { errors: 300, timeouts: 0, lost: 0 },
  discards: false,
}

async function work(
  trial: Trial,
  app: App,
  recorder: Recorder,
  job: JobContext<Load, Yield>,
): Promise<Yield> {
  const end = recordStart(recorder, job)
  try {
    await pause(app, job, trial.random.next() * trial.swarm.handlerMs, false)
    job.signal.throwIfAborted()
    if (!trial.isHealed && trial.random.chance(trial.swarm.failureRate)) throw new Error('Bad luck.')
    const value = { n: job.payload.n, by: app.process.name }
    end('returned', value)
    return value
  } catch (error) {
    end('threw')
    throw error
  }
}

/** Two queues and two spaces, and few ids: most of them are taken, by a job of this queue or of another. */
function enqueueChosen(trial: Trial): void {
  const { random, world } = trial
  for (let count = random.int(1, 3); count > 0; count--) {
    const app = random.pick(trial.up)
    const { skep, recorder } = app.tenant && random.chance(0.5) ? app.tenant : app
    const to = random.pick(chosen)
    const id = random.pick(CHOSEN_IDS)
    const payload: Load = { n: world.next() }
    const asked = { id, queue: to.name, payload: JSON.stringify(payload) }
    app.track(recordedChoice(recorder, asked, skep.enqueue(to, payload, { id })))
  }
}

export const ids: Feature = {
  name: 'ids',
  queues: chosen.map((one) => ({
    name: one.name,
    facts,
    handler: (trial, app) => one.handle((job) => work(trial, app, app.recorder, job)),
  })),
  begin: (trial, app) => {
    if (trial.swarm.without.has(ENQUEUE) || !(trial.isHealed || trial.random.chance(0.5))) return
    app.openTenant(trial, (recorder) =>
      chosen.map((one) => one.handle((job) => work(trial, app, recorder, job))),
    )
  },
  actions: [{ name: ENQUEUE, weight: 8, run: enqueueChosen }],
}
