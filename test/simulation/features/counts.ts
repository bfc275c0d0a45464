import type { Trial } from '../trial.ts'
import type { Feature } from './index.ts'

/** Somebody looks how many jobs each queue has: a dashboard, an alarm. The checker judges what it is told. */
function look({ random, up }: Trial): void {
  const app = random.pick(up)
  app.trackCall(app.store.counts({ space: 'default' }))
}

/** Somebody looks at the queues through the client, which also says what no worker handles. */
function lookAtQueues(trial: Trial): void {
  const app = trial.random.pick(trial.up)
  const common = { f: 'handled', call: trial.world.next() } as const
  app.recorder.write({ ...common, type: 'invoke' })
  const told = app.skep.queues.list().then((views) => {
    const queues = views.map(({ queue, ready, unhandled }) => ({ queue, ready, unhandled }))
    app.recorder.write({ ...common, type: 'ok', queues })
  })
  app.track(told)
}

export const counts: Feature = {
  name: 'counts',
  queues: [],
  actions: [
    { name: 'look', weight: 6, run: look },
    { name: 'look at the queues', weight: 4, run: lookAtQueues },
  ],
}
