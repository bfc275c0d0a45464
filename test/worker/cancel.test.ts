import { describe, expect, it } from 'vitest'
import { fixed, queue, retry, snooze } from '../../src/index.ts'
import { aborted, gate, openScene } from './support/scene.ts'

const mail = queue<number, unknown>('mail', { onError: retry(5, fixed(0)) })

describe('cancelling a running job', () => {
  it('aborts its signal at once through the hint, with the reason', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    let reason: unknown
    scene.skep.worker([
      mail.handle(async ({ signal }) => {
        await aborted(signal)
        reason = signal.reason
        throw new Error('stopped')
      }),
    ])
    await scene.until(async () => (await scene.state(job.id)) === 'running')
    const before = scene.runtime.mono()

    expect(await job.cancel('changed my mind')).toEqual({ changed: 0, requested: 1, refused: [] })
    await scene.runtime.settle()

    expect(scene.runtime.mono()).toBe(before)
    expect(reason).toMatchObject({ kind: 'cancel', message: 'changed my mind' })
    expect(await scene.job(job.id)).toMatchObject({ state: 'cancelled', errors: 0 })
    expect(scene.toldOf(job.id)).toEqual(['received', 'cancelled'])
    await expect(job.result()).rejects.toMatchObject({ code: 'JOB_CANCELLED' })
  })

  it('aborts its signal within a heartbeat when no hint arrives', async () => {
    const scene = openScene()
    scene.notifier.blackHole = true
    const job = await scene.skep.enqueue(mail, 1)
    let seen = false
    scene.skep.worker(
      [
        mail.handle(async ({ signal }) => {
          await aborted(signal)
          seen = true
        }),
      ],
      { lease: '30s' },
    )
    await scene.until(async () => (await scene.state(job.id)) === 'running')

    await job.cancel()

    // Renewed every third of the lease, looked at every quarter of that.
    await scene.until(() => seen, 12_600)
  })

  it('from within its own handler reaches that handler', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    let seen = 0
    scene.skep.worker([
      mail.handle(async ({ signal, id }) => {
        await scene.skep.jobs.cancel(id)
        await aborted(signal)
        seen++
      }),
    ])

    await scene.until(() => seen === 1)
    await scene.runtime.settle()

    expect(await scene.state(job.id)).toBe('done')
  })

  it('lets a handler that was nearly done finish with success', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    scene.skep.worker([
      mail.handle(async ({ signal }) => {
        await aborted(signal)
        return 'done all the same'
      }),
    ])
    await scene.until(async () => (await scene.state(job.id)) === 'running')

    await job.cancel()

    expect(await scene.through(job.result())).toBe('done all the same')
  })

  it('means that it does not run again, whether it fails, snoozes or is handed back', async () => {
    const scene = openScene()
    const work = gate()
    const jobs = await scene.skep.enqueueMany(mail, [0, 1, 2])
    scene.notifier.blackHole = true
    let runs = 0
    const handler = mail.handle(async ({ payload }) => {
      runs++
      await work.promise
      if (payload === 0) throw new Error('no')
      if (payload === 1) return snooze('1s')
      return new Promise(() => {})
    })
    const worker = scene.skep.worker([handler], { drain: '1s' })
    await scene.until(() => runs === 3)

    await scene.skep.jobs.cancel(jobs.map(({ id }) => id))
    work.open()
    await scene.runtime.settle()
    await scene.through(worker.stop())
    scene.skep.worker([handler])
    await scene.advance(20_000)

    expect(await scene.counts('mail')).toEqual({ cancelled: 3 })
    expect(runs).toBe(3)
    expect(jobs.map(({ id }) => scene.toldOf(id).at(-1))).toEqual(['cancelled', 'cancelled', 'cancelled'])
  })

  it('frees the slot of a handler that ignores it, after the grace', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    const worker = scene.skep.worker([mail.handle(() => new Promise(() => {}))], { grace: '3s' })
    await scene.until(async () => (await scene.state(job.id)) === 'running')

    await job.cancel()
    await scene.until(async () => (await scene.state(job.id)) === 'cancelled', 3_500)

    expect(worker.health()).toMatchObject({ running: 0, zombies: 1 })
  })

  it('of unknown ids, or of jobs that others hold, asks the store for nothing', async () => {
    const scene = openScene()
    const worker = scene.skep.worker([mail.handle(() => 1)])
    await worker.ready
    await scene.advance(100)
    const before = scene.faults.count('extend')

    for (let n = 0; n < 100; n++) {
      scene.notifier.tell({ kind: 'cancel', space: 'default', ids: [scene.runtime.uuid()] })
    }
    await scene.runtime.settle()

    expect(scene.faults.count('extend')).toBe(before)
  })

  it('goes on to be looked for at the next heartbeat when the store fails at the hint', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    let seen = false
    scene.skep.worker([
      mail.handle(async ({ signal }) => {
        await aborted(signal)
        seen = true
      }),
    ])
    await scene.until(async () => (await scene.state(job.id)) === 'running')

    scene.faults.next('extend', 'before')
    await job.cancel()
    await scene.runtime.settle()
    expect(seen).toBe(false)

    await scene.until(() => seen, 15_000)
  })
})

describe('cancelling a waiting job', () => {
  it('ends it at once, and no worker ever starts it', async () => {
    const scene = openScene()
    const now = await scene.skep.enqueue(mail, 1)
    const later = await scene.skep.enqueue(mail, 2, { delay: '5m' })

    expect(await scene.skep.jobs.cancel([now.id, later.id])).toMatchObject({ changed: 2, requested: 0 })
    let runs = 0
    scene.skep.worker([mail.handle(() => ++runs)])
    await scene.advance(400_000)

    expect(runs).toBe(0)
    expect(await scene.counts('mail')).toEqual({ cancelled: 2 })
  })
})
