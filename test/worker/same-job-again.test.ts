import { expect, it } from 'vitest'
import { type JobContext, queue } from '../../src/index.ts'
import { workHint } from '../../src/notifier/notifier.ts'
import { aborted, openScene } from './support/scene.ts'

it('a worker that is given a job anew ends the run it still has, and its stop forgets neither', async () => {
  const scene = openScene()
  const mail = queue<number>('mail')
  const runs: JobContext<number>[] = []
  const worker = scene.skep.worker(
    [
      mail.handle(async (job) => {
        runs.push(job)
        await aborted(job.signal)
      }),
    ],
    { lease: '1h' },
  )
  const { id } = await scene.skep.enqueue(mail, 1)
  await scene.until(() => runs.length === 1)

  // Somebody takes it for dead and gives the job back; nobody tells the worker.
  const { token } = await scene.job(id)
  const verdict = {
    to: 'ready',
    keepMs: null,
    delayMs: 0,
    count: 'lost',
    refund: false,
    keepPlace: false,
    keepCancelledMs: 0,
    result: null,
    failure: null,
  } as const
  await scene.truth.settle({
    settlements: [{ space: scene.space, id, token: token as string, verdict, rescue: true }],
  })
  scene.notifier.tell(
    workHint({ space: scene.space, queue: mail.name, dueAt: scene.runtime.now(), priority: 0 }),
  )
  await scene.until(() => runs.length === 2)

  expect(runs.map(({ signal }) => signal.aborted)).toEqual([true, false])
  await scene.through(worker.stop({ drain: 0 }))
  expect(runs.map(({ signal }) => signal.aborted)).toEqual([true, true])
  // Both handlers end when they are told, and the success of the one that holds the job is saved.
  expect(await scene.state(id)).toBe('done')
})
