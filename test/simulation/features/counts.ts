import type { Trial } from '../trial.ts'
import type { Feature } from './index.ts'

/** Somebody looks how many jobs each queue has: a dashboard, an alarm. The checker judges what it is told. */
function look({ random, up }: Trial): void {
  const app = random.pick(up)
  app.trackCall(app.store.counts({ space: 'default' }))
}

export const counts: Feature = {
  name: 'counts',
  queues: [],
  actions: [{ name: 'look', weight: 6, run: look }],
}
