import { describe, expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import { claimAndDie } from './support/dead-worker.ts'
import { gate, openScene } from './support/scene.ts'

const mail = queue<number, unknown>('mail')

const many = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

describe('after an outage of the store', () => {
  it.each([['30s'], ['3s'], ['1s']] as const)(
    'nobody is declared dead before the living had time to renew (lease %s)',
    async (lease) => {
      for (let seed = 1; seed <= 5; seed++) {
        const scene = openScene({ seed })
        const work = gate()
        let runs = 0
        await scene.skep.enqueueMany(mail, many(4))
        const handler = mail.handle(() => {
          runs++
          return work.promise
        })
        // Two processes with connections of their own; the handlers hold on through the outage.
        const options = { lease, grace: '10m', concurrency: 2 } as const
        scene.skep.worker([handler], options)
        scene.client().worker([handler], options)
        await scene.until(() => runs === 4)

        scene.faults.break('before')
        await scene.advance(40_000 + seed * 777)
        scene.faults.heal()
        await scene.advance(25_000)

        expect(scene.told.filter(({ name }) => name === 'lost')).toEqual([])
        expect(runs).toBe(4)
        work.open()
        await scene.close()
      }
    },
  )

  it('a process that was started during it does not take the jobs of the living either', async () => {
    for (let seed = 1; seed <= 5; seed++) {
      const scene = openScene({ seed })
      const work = gate()
      let runs = 0
      await scene.skep.enqueueMany(mail, many(4))
      const handler = mail.handle(() => {
        runs++
        return work.promise
      })
      scene.skep.worker([handler], { lease: '5s', grace: '10m' })
      await scene.until(() => runs === 4)

      scene.faults.break('before')
      await scene.advance(20_000 + seed * 777)
      const other = scene.client()
      other.on('lost', () => runs++)
      other.worker([handler], { lease: '5s' })
      await scene.advance(20_000 + seed * 777)
      scene.faults.heal()
      await scene.advance(25_000)

      expect(runs).toBe(4)
      work.open()
      await scene.close()
    }
  })

  it('a store that fails now and then does not keep the dead from being rescued', async () => {
    for (let seed = 1; seed <= 10; seed++) {
      const scene = openScene({ seed })
      const job = await scene.skep.enqueue(mail, 1)
      await claimAndDie(scene)
      scene.faults.choose(() => (scene.runtime.random() < 0.45 ? 'before' : null))
      scene.skep.worker([mail.handle(() => 'alive')])

      await scene.until(async () => (await scene.state(job.id)) === 'done', 120_000)
      await scene.close()
    }
  })

  it('those who really died are rescued all the same', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    await claimAndDie(scene)
    scene.skep.worker([mail.handle(() => 'alive')])
    await scene.advance(1_000)

    scene.faults.break('before')
    await scene.advance(60_000)
    scene.faults.heal()

    await scene.until(async () => (await scene.state(job.id)) === 'done', 40_000)
  })
})
