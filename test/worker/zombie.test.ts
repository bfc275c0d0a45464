import { describe, expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import { gate, openScene, type Scene } from './support/scene.ts'

const mail = queue<number, string>('mail')

/** Takes the job away from whoever runs it, as a rescuer does: with the token of the lease. */
async function rescue(scene: Scene, id: string): Promise<void> {
  const [job] = (await scene.truth.get({ space: 'default', ids: [id] })).jobs
  const verdict = {
    to: 'delayed',
    keepMs: null,
    delayMs: 5_000,
    count: 'lost',
    refund: false,
    keepPlace: false,
    keepCancelledMs: 0,
    result: null,
    failure: null,
  } as const
  const { results } = await scene.truth.settle({
    settlements: [{ id, token: job?.token as string, verdict }],
  })
  expect(results).toMatchObject([{ status: 'ok' }])
}

describe('a worker whose job was taken away', () => {
  it('does not tell of a success that was not saved, nor of the jobs it would have enqueued', async () => {
    const scene = openScene()
    const open = gate()
    const job = await scene.skep.enqueue(mail, 1)
    let child = ''
    scene.skep.worker([
      mail.handle(async ({ enqueue, attempt }) => {
        if (attempt > 1) return 'second'
        child = (await enqueue(mail, 2)).id
        await open.promise
        return 'first'
      }),
    ])
    await scene.until(() => child !== '')
    await rescue(scene, job.id)

    open.open()
    await scene.runtime.settle()

    expect(scene.toldOf(job.id)).toEqual(['received'])
    expect(await scene.skep.get(child)).toBeNull()
    expect(await scene.through(job.result(), 120_000)).toBe('second')
    expect(scene.toldOf(job.id)).toEqual(['received', 'received', 'finished'])
  })
})
