import { describe, expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import type { Operation } from './support/faulty-store.ts'
import { aborted, gate, openScene } from './support/scene.ts'

const mail = queue<number, unknown>('mail')

const many = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

describe('leases', () => {
  it('of all running jobs are renewed in one call, for as long as they run', async () => {
    const scene = openScene()
    const work = gate()
    await scene.skep.enqueueMany(mail, many(8))
    scene.skep.worker([mail.handle(() => work.promise)], { lease: '30s' })
    await scene.until(async () => (await scene.counts('mail')).running === 8)

    await scene.advance(300_000)

    expect(await scene.counts('mail')).toEqual({ running: 8 })
    const renewals = scene.faults.arguments('extend')
    expect(renewals.every((call) => call.leases.length === 8)).toBe(true)
    // One each third of the lease, give or take the beat.
    expect(renewals.length).toBeLessThanOrEqual(300 / 10)
    work.open()
    await scene.until(async () => (await scene.counts('mail')).done === 8)
  })

  it('that cannot be renewed in time end the run: the signal aborts before anyone else can hold the job', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    let abortedAt = 0
    let reason: unknown
    const claimedAt = scene.runtime.mono()
    scene.skep.worker(
      [
        mail.handle(async ({ signal }) => {
          await aborted(signal)
          abortedAt = scene.runtime.mono()
          reason = signal.reason
          throw new Error('stopped')
        }),
      ],
      { lease: '10s' },
    )
    await scene.until(async () => (await scene.state(job.id)) === 'running')

    scene.faults.break('before', ['extend', 'claim', 'settle', 'expired', 'attend'])
    await scene.until(() => abortedAt > 0)

    expect(reason).toMatchObject({ kind: 'lost' })
    expect(abortedAt - claimedAt).toBeLessThan(10_000)
    expect((await scene.job(job.id)).leaseUntil).toBeGreaterThan(scene.runtime.now())
  })

  it.each(['1s', '2s', '5s', '30s'] as const)(
    'of %s end the run before their own end, whenever the job began',
    async (lease) => {
      const scene = openScene()
      const late: number[] = []
      let ended = 0
      scene.faults.break('before', ['extend', 'expired'])
      const handler = mail.handle(async ({ id, signal }) => {
        await aborted(signal)
        const { leaseUntil } = await scene.job(id)
        if ((leaseUntil ?? 0) <= scene.runtime.now()) late.push(scene.runtime.now() - (leaseUntil ?? 0))
        ended++
      })
      const worker = scene.skep.worker([handler], { lease, concurrency: 1_000 })
      await worker.ready

      // A worker that cannot renew takes nothing, so the jobs come before it knows.
      for (let n = 0; n < 20; n++) {
        await scene.skep.enqueue(mail, n)
        await scene.advance(17)
      }
      await scene.until(() => ended === 20)

      expect(late).toEqual([])
    },
  )

  it('that ran out and nobody took count as lost once, and the job runs again', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    let runs = 0
    const handler = mail.handle(async ({ signal }) => {
      if (++runs === 1) await aborted(signal)
      return runs
    })
    scene.skep.worker([handler], { lease: '5s' })
    await scene.until(() => runs === 1)
    const onlyLeases: readonly Operation[] = ['extend']
    scene.faults.break('before', onlyLeases)

    await scene.until(async () => (await scene.job(job.id)).lost === 1)
    scene.faults.heal()

    expect(await scene.through(job.result())).toBe(2)
    expect(await scene.job(job.id)).toMatchObject({ lost: 1, errors: 0 })
    expect(scene.toldOf(job.id)).toContain('lost')
  })

  it('refused by the store end the run, and whatever it returns is dropped', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    const late = gate<string>()
    let reason: unknown
    const handler = mail.handle(({ signal }) => {
      signal.addEventListener('abort', () => {
        reason = signal.reason
      })
      return late.promise
    })
    scene.skep.worker([handler], { lease: '10s' })
    await scene.until(async () => (await scene.state(job.id)) === 'running')
    // A rescuer that took us for dead gave the job to somebody else.
    const { token } = await scene.job(job.id)
    await scene.truth.settle({
      settlements: [
        {
          space: 'default',
          id: job.id,
          token: token as string,
          verdict: {
            to: 'delayed',
            keepMs: null,
            delayMs: 3_600_000,
            count: 'lost',
            refund: false,
            keepPlace: false,
            keepCancelledMs: 0,
            result: null,
            failure: null,
          },
        },
      ],
    })

    await scene.until(() => reason !== undefined, 5_000)
    expect(reason).toMatchObject({ kind: 'lost' })
    late.open('too late')
    await scene.runtime.settle()

    expect(await scene.job(job.id)).toMatchObject({ state: 'delayed', result: null, lost: 1 })
    expect(scene.toldOf(job.id)).toEqual(['received'])
  })

  it('are counted from the moment a renewal was sent, not from its answer', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    let leftMs: number | null = null
    const handler = mail.handle(async ({ signal }) => {
      await aborted(signal)
      leftMs ??= ((await scene.job(job.id)).leaseUntil ?? 0) - scene.runtime.now()
    })
    scene.skep.worker([handler], { lease: '10s' })
    await scene.until(async () => (await scene.state(job.id)) === 'running')

    // One answer comes four seconds after it was asked for, halfway of which the store renewed; then none comes.
    scene.faults.next('extend', { slowMs: 4_000 })
    scene.faults.break('hang', ['extend', 'expired'])
    await scene.until(() => leftMs !== null)

    expect(leftMs).toBeGreaterThan(0)
  })

  it('survive a slow store: half a second for each call loses nothing', async () => {
    const scene = openScene()
    scene.faults.break({ slowMs: 500 })
    await scene.through(scene.skep.enqueueMany(mail, many(20)))
    const handler = mail.handle(
      () => new Promise<void>((resolve) => void scene.runtime.timer(20_000, resolve)),
    )

    scene.skep.worker([handler], { lease: '5s', concurrency: 5 })
    await scene.until(async () => (await scene.counts('mail')).done === 20, 300_000)

    expect(scene.told.filter(({ name }) => name === 'lost')).toEqual([])
    expect(scene.told.filter(({ name }) => name === 'received')).toHaveLength(20)
  })

  it('are not taken by a worker that cannot renew the ones it has', async () => {
    const scene = openScene()
    const work = gate()
    await scene.skep.enqueueMany(mail, many(2))
    scene.skep.worker([mail.handle(() => work.promise)], { lease: '30s', concurrency: 10 })
    await scene.until(async () => (await scene.counts('mail')).running === 2)

    scene.faults.break('before', ['extend'])
    await scene.advance(14_000)
    await scene.skep.enqueueMany(mail, many(3))
    await scene.advance(7_000)
    expect(await scene.counts('mail')).toEqual({ running: 2, ready: 3 })

    scene.faults.heal()
    await scene.until(async () => (await scene.counts('mail')).running === 5)
    work.open()
  })

  it('are not taken by a worker whose renewals get no answer at all', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, many(2))
    const handler = mail.handle(() => new Promise(() => {}))
    const worker = scene.skep.worker([handler], { lease: '5s', concurrency: 10, grace: '1h' })
    await scene.until(async () => (await scene.counts('mail')).running === 2)

    scene.faults.break('hang', ['extend'])
    await scene.advance(10_000)
    await scene.skep.enqueueMany(mail, many(3))

    // The first two are given back, some time after their leases have ended, and then nobody takes any.
    await scene.until(async () => (await scene.counts('mail')).ready === 5)
    await scene.advance(10_000)
    expect(await scene.counts('mail')).toEqual({ ready: 5 })
    expect(worker.health().status).toBe('degraded')
    scene.faults.heal()
    await scene.through(worker.stop({ drain: 0, grace: 0 }))
  })

  it('of a process that stood still for longer than they last are noticed at once when it goes on', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    const other = scene.client(scene.truth)
    const runs: string[] = []
    let firstAborted = false
    scene.skep.worker(
      [
        mail.handle(async ({ signal }) => {
          runs.push('first')
          signal.addEventListener('abort', () => {
            firstAborted = true
          })
          return new Promise(() => {})
        }),
      ],
      { lease: '5s', grace: '1s' },
    )
    await scene.until(() => runs.length === 1)

    // Standing still, as others see it: nothing it says arrives, and it hears nothing.
    scene.faults.break('hang')
    const second = other.worker([mail.handle(() => runs.push('second'))], { lease: '5s' })
    await scene.until(async () => (await scene.state(job.id)) === 'done')
    scene.faults.heal()
    await scene.advance(2_000)

    expect(firstAborted).toBe(true)
    expect(runs).toEqual(['first', 'second'])
    expect(await scene.job(job.id)).toMatchObject({ state: 'done', lost: 1, worker: second.id })
  })
})
