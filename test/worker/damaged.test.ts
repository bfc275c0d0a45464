import { describe, expect, it } from 'vitest'
import type { NewJob } from '../../src/core/jobs/job.ts'
import { archive, queue } from '../../src/index.ts'
import { newJob } from '../support/new-job.ts'
import { openScene, type Scene } from './support/scene.ts'

const DAY = 86_400_000

/** A job as somebody may have left it who wrote to the table by hand. */
async function insert(scene: Scene, difference: Partial<NewJob>): Promise<string> {
  const job = newJob({ id: scene.runtime.uuid(), space: scene.space, payload: '1', ...difference })
  await scene.truth.insert({ jobs: [job] })
  return job.id
}

describe('a job whose own options make no sense', () => {
  it.each([
    '{"keepMs":"soon"}',
    '{"keepMs":-1}',
    '{"keepMs":1.5}',
    '{"keepMs":1e300}',
    '{"timeoutMs":"soon"}',
    '{"timeoutMs":0}',
    'null',
    '7',
    '[]',
  ])('runs once, as its queue says: %s', async (overrides) => {
    const scene = openScene()
    const mail = queue<number, number>('mail', { onSuccess: archive('1d') })
    const id = await insert(scene, { overrides })
    scene.skep.worker([
      mail.handle(async ({ payload }) => {
        await new Promise<void>((resolve) => void scene.runtime.timer(50, resolve))
        return payload
      }),
    ])
    await scene.until(async () => (await scene.state(id)) === 'done')
    const job = await scene.job(id)
    expect(job).toMatchObject({ starts: 1, errors: 0, timeouts: 0 })
    expect((job.expiresAt as number) - (job.finishedAt as number)).toBe(DAY)
  })
})

describe('headers that are not JSON', () => {
  it('bury the job whose handler reads them, and say what is wrong', async () => {
    const scene = openScene()
    const mail = queue<number>('mail')
    const id = await insert(scene, { headers: '{"tenant":' })
    scene.skep.worker([mail.handle((job) => void job.headers.tenant)])
    await scene.until(async () => (await scene.state(id)) === 'dead')
    const job = await scene.job(id)
    expect(job.starts).toBe(1)
    expect(JSON.parse(job.failure as string)).toMatchObject({ code: 'PAYLOAD_UNREADABLE' })
  })

  it('do not matter to a handler that does not read them', async () => {
    const scene = openScene()
    const mail = queue<number, number>('mail')
    const id = await insert(scene, { headers: '{"tenant":' })
    scene.skep.worker([mail.handle(({ payload }) => payload)])
    await scene.until(async () => (await scene.state(id)) === 'done')
  })
})
