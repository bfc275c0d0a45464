import { describe, expect, it } from 'vitest'
import type { Verdict } from '../../src/core/policies/policy.ts'
import { discard, queue } from '../../src/index.ts'
import { codeOf, gate, openScene, type Scene } from './support/scene.ts'
import { FakeTransaction, withTransactions } from './support/transactions.ts'

const mail = queue<number, string>('mail')

/** Takes the job away from whoever runs it, as a rescuer does: with the token of the lease. */
async function rescue(scene: Scene, id: string, difference: Partial<Verdict> = {}): Promise<void> {
  const [job] = (await scene.truth.get({ space: 'default', ids: [id] })).jobs
  const verdict: Verdict = {
    to: 'delayed',
    keepMs: null,
    delayMs: 5_000,
    count: 'lost',
    refund: false,
    keepPlace: false,
    keepCancelledMs: 0,
    result: null,
    failure: null,
    ...difference,
  }
  const { results } = await scene.truth.settle({
    settlements: [{ space: 'default', id, token: job?.token as string, verdict, rescue: true }],
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
    expect(await scene.skep.jobs.get(child)).toBeNull()
    expect(await scene.through(job.result(), 120_000)).toBe('second')
    expect(scene.toldOf(job.id)).toEqual(['received', 'received', 'finished'])
  })

  // Both leave nothing behind, so only the token could tell the rescuer's end from the holder's.
  it('does not tell of a success when the rescuer discarded the job, nor lets it commit', async () => {
    const scene = openScene({ wrap: withTransactions })
    const fleeting = queue<number, string>('fleeting', { onSuccess: discard() })
    const open = gate()
    let code = ''
    const jobs = await scene.skep.enqueueMany(fleeting, [1, 2])
    scene.skep.worker([
      fleeting.handle(async ({ payload, complete }) => {
        await open.promise
        if (payload === 2) code = await codeOf(complete('late', { tx: new FakeTransaction() }))
        return 'late'
      }),
    ])
    await scene.until(() => jobs.every(({ id }) => scene.toldOf(id).length === 1))
    for (const { id } of jobs) await rescue(scene, id, { to: 'failed' })

    open.open()
    await scene.until(() => scene.log.filter(({ message }) => /came too late/.test(message)).length === 2)

    expect(jobs.map(({ id }) => scene.toldOf(id))).toEqual([['received'], ['received']])
    expect(code).toBe('LEASE_LOST')
  })
})
