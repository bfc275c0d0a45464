import { archive, fixed, type JobContext, type Queue, queue, retry, type snooze } from '../../../src/index.ts'
import type { App } from '../app.ts'
import type { Trial } from '../trial.ts'
import type { Feature } from './index.ts'
import { enqueue, kept, type Load, work, type Yield } from './jobs.ts'

/** Jobs that end inside a transaction of their handler's own, where the store can do that. */
const exact: Queue<Load, Yield> = queue('exact', {
  onSuccess: archive('1h'),
  onError: retry(50, fixed(300)),
  onTimeout: retry(50),
  onLost: retry(50, fixed(0)),
})

/** Enqueues in a transaction of the user, and commits it or not. */
function enqueueWithin(trial: Trial): void {
  const app = trial.random.pick(trial.up)
  app.track(inTransaction(trial, app, (tx) => app.skep.enqueue(kept, { n: 1 }, { tx })))
}

async function inTransaction(
  trial: Trial,
  app: App,
  insert: (tx: unknown) => Promise<{ readonly id: string }>,
): Promise<void> {
  if (!app.transaction) return
  // A user's own connection is as quick as it is; what can go wrong on the way to the store is not on this way.
  const { tx, commit, rollBack } = app.transaction()
  const write = (type: 'ok' | 'fail', id: string): void =>
    app.recorder.write({
      f: 'enqueue',
      type,
      id,
      queue: kept.name,
      payload: type === 'fail' ? 'rolled back' : '',
      notBefore: 0,
    })
  let id: string
  try {
    id = (await insert(tx)).id
  } catch (error) {
    rollBack()
    throw error
  }
  if (trial.random.chance(0.5)) {
    commit()
    write('ok', id)
  } else {
    rollBack()
    write('fail', id)
  }
}

/** A handler that saves its own success together with its work, and sometimes rolls both back. */
async function complete(
  trial: Trial,
  app: App,
  job: JobContext<Load, Yield>,
): Promise<Yield | ReturnType<typeof snooze>> {
  const answer = await work(trial, app, job)
  if (!app.transaction || !('by' in answer)) return answer
  const { tx, commit, rollBack } = app.transaction()
  try {
    await job.complete(answer, { tx })
  } catch (error) {
    rollBack()
    throw error
  }
  if (trial.isHealed || trial.random.chance(0.7)) commit()
  else rollBack()
  return answer
}

export const transactions: Feature = {
  name: 'transactions',
  queues: [
    {
      name: exact.name,
      facts: {
        retries: { errors: 50, timeouts: 50, lost: 50 },
        backoffMs: { errors: 300, timeouts: 0, lost: 0 },
        discards: false,
      },
      handler: (trial, app) => exact.handle((job) => complete(trial, app, job)),
    },
  ],
  actions: [
    { name: 'enqueue in a transaction', weight: 3, run: enqueueWithin },
    {
      name: 'enqueue what completes in a transaction',
      weight: 4,
      run: (trial) => void enqueue(trial, exact),
    },
  ],
}
