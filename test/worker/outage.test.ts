import { describe, expect, it } from 'vitest'
import { discard, queue } from '../../src/index.ts'
import type { Fault, Operation } from './support/faulty-store.ts'
import { gate, openScene } from './support/scene.ts'

const mail = queue<number, number>('mail')
const spool = queue<number>('spool', { onSuccess: discard() })

const many = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

describe('when the store is away', () => {
  it.each<Fault>(['before', 'lost', 'foreign', 'hang'])(
    'an idle worker takes jobs again afterwards, whatever the calls failed with (%s)',
    async (fault) => {
      const scene = openScene()
      const worker = scene.skep.worker([mail.handle(({ payload }) => payload)])
      await worker.ready
      await scene.advance(100)
      scene.faults.break(fault)
      await scene.advance(60_000)

      scene.faults.heal()
      const job = await scene.skep.enqueue(mail, 7)

      expect(await scene.through(job.result(), 15_000)).toBe(7)
    },
  )

  it('says that it is degraded, and then that it is running again', async () => {
    const scene = openScene()
    const worker = scene.skep.worker([mail.handle(() => 1)])
    await worker.ready
    await scene.advance(100)
    expect(worker.health().status).toBe('running')

    scene.faults.break('before')
    await scene.until(() => worker.health().status === 'degraded')
    await scene.until(() => worker.health().loops.some(({ lastError }) => lastError !== null))

    scene.faults.heal()
    await scene.until(() => worker.health().status === 'running')
    expect(worker.health().loops.map(({ lastError }) => lastError)).toEqual(
      worker.health().loops.map(() => null),
    )
  })

  it('a worker that starts meanwhile begins when the store is back', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 3)
    scene.faults.break('before')
    const worker = scene.client().worker([mail.handle(({ payload }) => payload)])
    await scene.advance(20_000)
    expect(worker.health().status).toBe('degraded')

    scene.faults.heal()
    await scene.through(worker.ready)

    await scene.until(async () => (await scene.state(job.id)) === 'done')
    expect(worker.health().status).toBe('running')
  })

  it('an outcome waits, and is saved when the store is back: the job runs once', async () => {
    const scene = openScene()
    const work = gate<number>()
    let runs = 0
    const job = await scene.skep.enqueue(mail, 1)
    const handler = mail.handle(() => {
      runs++
      return work.promise
    })
    const worker = scene.skep.worker([handler])
    await scene.until(() => runs === 1)

    scene.faults.break('before')
    work.open(42)
    await scene.advance(15_000)
    expect(worker.health().unsaved).toBe(1)
    scene.faults.heal()

    expect(await scene.through(job.result())).toBe(42)
    expect(runs).toBe(1)
    expect(worker.health().unsaved).toBe(0)
  })

  it('logs the outage once, not at every try', async () => {
    const scene = openScene()
    await scene.skep.worker([mail.handle(() => 1)]).ready

    scene.faults.break('before')
    await scene.advance(120_000)

    const warnings = scene.log.filter(({ level }) => level === 'warn').map(({ message }) => message)
    expect(new Set(warnings).size).toBe(warnings.length)
  })
})

describe('when an answer is lost', () => {
  it.each<Fault>(['after', 'lost', 'before'])(
    'a settlement is sent again until the store has it (%s)',
    async (fault) => {
      const scene = openScene()
      scene.faults.next('settle', fault, fault, fault)
      const jobs = await scene.skep.enqueueMany(mail, many(5))
      const runs: number[] = []
      scene.skep.worker([
        mail.handle(({ payload }) => {
          runs.push(payload)
          return payload * 2
        }),
      ])

      const results = await scene.through(Promise.all(jobs.map((job) => job.result())))

      expect(results).toEqual([0, 2, 4, 6, 8])
      expect(runs.toSorted((a, b) => a - b)).toEqual(many(5))
      expect(scene.told.filter(({ name }) => name === 'finished')).toHaveLength(5)
    },
  )

  it('a settlement that removed its job can be repeated', async () => {
    const scene = openScene()
    scene.faults.next('settle', 'after', 'after')
    const job = await scene.skep.enqueue(spool, 1)
    let runs = 0
    scene.skep.worker([spool.handle(() => void runs++)])

    await scene.until(() => scene.toldOf(job.id).includes('finished'))

    expect(runs).toBe(1)
    expect(await scene.state(job.id)).toBe('absent')
  })

  it('a worker keeps the lease of a job whose outcome it cannot save, so that nobody runs it again', async () => {
    const scene = openScene()
    let runs = 0
    const job = await scene.skep.enqueue(mail, 1)
    const handler = mail.handle(() => ++runs)
    const onlySettlesFail: readonly Operation[] = ['settle']
    scene.faults.break('before', onlySettlesFail)
    scene.skep.worker([handler], { lease: '3s' })
    await scene.until(() => runs === 1)

    // This one sees the store as it is, and would rescue what is given up.
    scene.client(scene.truth).worker([handler], { lease: '3s' })
    await scene.advance(30_000)
    scene.faults.heal()

    expect(await scene.through(job.result())).toBe(1)
    expect(runs).toBe(1)
  })

  it('does not hammer a store that says "unknown" to every settlement', async () => {
    const scene = openScene({
      wrap: (store) => ({
        ...store,
        settle: async (call) =>
          scene.runtime.mono() < 10_000
            ? { results: call.settlements.map(() => ({ status: 'unknown' as const })), claimed: null }
            : store.settle(call),
      }),
    })
    const job = await scene.skep.enqueue(mail, 1)
    scene.skep.worker([mail.handle(() => 5)])

    await scene.advance(9_000)
    expect(scene.faults.count('settle')).toBeLessThan(30)

    expect(await scene.through(job.result())).toBe(5)
  })
})

describe('when the store refuses data', () => {
  it('one outcome that cannot be saved does not keep the others from being saved', async () => {
    const scene = openScene()
    const jobs = await scene.skep.enqueueMany(mail, many(10))
    scene.faults.choose((operation, argument) => {
      if (operation !== 'settle') return null
      const { settlements } = argument as { settlements: { verdict: { result: string | null } }[] }
      return settlements.some(({ verdict }) => verdict.result === '6') ? 'reject' : null
    })

    scene.skep.worker([mail.handle(({ payload }) => payload * 2)])
    await scene.until(async () => (await scene.counts('mail')).done === 9)

    expect(scene.logged('error', /cannot be saved/)).toBe(true)
    expect(await scene.state(jobs[3]!.id)).not.toBe('done')
  })

  it('one outcome that makes an adapter throw an error of its driver does not keep the others from being saved', async () => {
    const scene = openScene()
    const [bad] = await scene.skep.enqueueMany(mail, many(10))
    scene.faults.choose((operation, argument) => {
      if (operation !== 'settle') return null
      const { settlements } = argument as { settlements: { id: string; verdict: { to: string } }[] }
      return settlements.some(({ id, verdict }) => id === bad!.id && verdict.to === 'done') ? 'foreign' : null
    })

    scene.skep.worker([mail.handle(({ payload }) => payload)], { lease: '3s' })
    await scene.until(async () => (await scene.counts('mail')).done === 9, 5_000)
    const late = await scene.skep.enqueue(mail, 11)
    await scene.until(async () => (await scene.state(late.id)) === 'done', 30_000)

    await scene.until(async () => (await scene.state(bad!.id)) === 'dead', 600_000)
  })

  it('a job whose outcome is refused for ever ends among the dead, not in an endless loop', async () => {
    const scene = openScene()
    const [job] = await scene.skep.enqueueMany(mail, [1])
    scene.faults.choose((operation, argument) => {
      if (operation !== 'settle') return null
      const { settlements } = argument as { settlements: { verdict: { result: string | null } }[] }
      return settlements.some(({ verdict }) => verdict.result !== null) ? 'reject' : null
    })

    scene.skep.worker([mail.handle(() => 1)], { lease: '2s' })

    await scene.until(async () => (await scene.state(job!.id)) === 'dead', 300_000)
  })
})
