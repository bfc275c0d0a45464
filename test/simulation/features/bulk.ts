import type { App } from '../app.ts'
import type { Trial } from '../trial.ts'
import type { Feature } from './index.ts'

/** Bulk actions of trials in which some may still run. */
const bulks = new WeakMap<Trial, readonly { readonly app: App; readonly isAnswered: boolean }[]>()

/** After the heal bulk actions are stopped: one that was begun by a clock that is ahead begins hours later. */
function stopBulks(trial: Trial): void {
  const app = trial.up.at(-1)
  const begun = bulks.get(trial)
  if (!app || !begun) return
  const isLast =
    begun.every((one) => one.isAnswered || one.app.state === 'dead') &&
    trial.apps.every(({ link }) => link.underWay === 0)
  const stopped = app.skep.bulk.list().then(async (all) => {
    const running = all.filter(({ status }) => status === 'running')
    for (const { id } of running) await app.skep.bulk.stop(id)
    if (isLast && running.length === 0) bulks.delete(trial)
  })
  app.track(stopped)
}

/** Retries all of a queue in a state, as a bulk action, which a worker takes up. */
export async function startBulk(trial: Trial, app: App, queue: string, state: string): Promise<void> {
  const begun = { app, isAnswered: false }
  bulks.set(trial, [...(bulks.get(trial) ?? []), begun])
  try {
    await app.skep.bulk.start({ action: 'retry', query: `queue:${queue} state:${state}` })
  } finally {
    begun.isAnswered = true
  }
}

/** What keeps a trial from its end while bulk actions run. */
export const bulkActions: Pick<Feature, 'isOwed' | 'mend'> = {
  isOwed: (trial) => bulks.has(trial),
  mend: stopBulks,
}
