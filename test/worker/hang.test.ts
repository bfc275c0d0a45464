import { describe, expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import { sleep } from '../../src/runtime/runtime.ts'
import type { Store } from '../../src/store/store.ts'
import type { Operation } from './support/faulty-store.ts'
import { codeOf, openScene, type Scene } from './support/scene.ts'

const mail = queue<number, string>('mail')

describe('a store that never answers', () => {
  it('fails each call of a client in bounded time', async () => {
    const scene = openScene({ history: false })
    const job = await scene.skep.enqueue(mail, 1)
    const calls: Record<string, () => Promise<unknown>> = {
      get: () => scene.skep.jobs.get(job.id),
      list: () => scene.skep.jobs.list({ queue: 'mail' }),
      counts: () => scene.skep.queues.list(),
      workers: () => scene.skep.workers.list(),
      change: () => scene.skep.jobs.cancel(job.id),
      prune: () => scene.skep.jobs.prune(),
    }
    scene.faults.break('hang')

    for (const [name, call] of Object.entries(calls)) {
      const began = scene.runtime.mono()
      expect([name, await scene.through(codeOf(call()), 90_000)]).toEqual([name, 'STORE_UNKNOWN'])
      expect(scene.runtime.mono() - began).toBeLessThan(62_000)
    }
    expect(scene.runtime.timers).toBe(0)
  })

  it('is given up after the time that was asked for', async () => {
    const scene = openScene({ storeTimeout: '2s' })
    await scene.skep.ready()
    scene.faults.break('hang')

    expect(await scene.through(codeOf(scene.skep.queues.list()), 3_000)).toBe('STORE_UNKNOWN')
  })

  it('fails an enqueue when its time is over, and not the next one', async () => {
    const scene = openScene({ enqueueTimeout: '3s' })
    await scene.skep.ready()
    scene.faults.next('insert', 'hang')

    const error = await scene.through(
      scene.skep.enqueue(mail, 1).then(
        () => null,
        (reason: { code: string; facts: { ids: string[] } }) => reason,
      ),
      4_000,
    )
    const next = await scene.through(scene.skep.enqueue(mail, 2), 1_000)

    expect(error?.code).toBe('STORE_UNKNOWN')
    expect(error?.facts.ids).toHaveLength(1)
    expect(await scene.state(next.id)).toBe('ready')
  })

  it('fails the first enqueue too, which has to wait until the store is open', async () => {
    const scene = openScene({ enqueueTimeout: '3s' })
    scene.faults.next('ready', 'hang')

    expect(await scene.through(codeOf(scene.skep.enqueue(mail, 1)), 4_000)).toBe('STORE_UNAVAILABLE')

    scene.faults.heal()
    const next = await scene.through(scene.skep.enqueue(mail, 2), 1_000)
    expect(await scene.state(next.id)).toBe('ready')
  })

  it.each<Operation>(['claim', 'settle', 'extend', 'expired', 'prune', 'attend'])(
    'to one call (%s) stops no loop of a worker for ever',
    async (operation) => {
      const scene = openScene()
      const handler = mail.handle(async () => {
        // Long enough for its lease to need renewal.
        await sleep(scene.runtime, 40_000)
        return 'done'
      })
      const worker = scene.skep.worker([handler])
      await worker.ready
      const calls = scene.faults.count(operation)
      scene.faults.next(operation, 'hang')

      const before = await scene.skep.enqueue(mail, 1)
      await scene.advance(150_000)
      const after = await scene.skep.enqueue(mail, 2)
      await scene.advance(60_000)

      for (const { id } of [before, after]) {
        expect(await scene.job(id)).toMatchObject({ state: 'done', starts: 1, lost: 0 })
      }
      expect(worker.health()).toMatchObject({ status: 'running' })
      expect(scene.faults.count(operation)).toBeGreaterThan(calls + 1)
    },
  )

  it.each<'claim' | 'settle'>(['claim', 'settle'])(
    'until a %s has long been given up gets the jobs back that it leased to nobody',
    async (operation) => {
      const scene: Scene = openScene({
        wrap: (store) => slowOnce(store, operation, () => sleep(scene.runtime, 70_000)),
      })
      const attempts: number[] = []
      const jobs = await scene.skep.enqueueMany(mail, [1, 2, 3])
      scene.skep.worker([mail.handle(({ attempt }) => String(attempts.push(attempt)))], {
        lease: '1h',
        concurrency: 1,
      })

      await scene.advance(100_000)

      // Long before the lease ends, and without a try used up.
      expect(await scene.counts('mail')).toEqual({ done: 3 })
      expect(attempts).toEqual([1, 1, 1])
      for (const { id } of jobs) expect(await scene.job(id)).toMatchObject({ lost: 0, starts: 1 })
    },
  )
})

/** The first answer with jobs comes late. */
function slowOnce(store: Store, operation: 'claim' | 'settle', wait: () => Promise<void>): Store {
  let isFirst = true
  const late = async <Reply>(answer: Reply): Promise<Reply> => {
    if (!isFirst || !holdsJobs(answer)) return answer
    isFirst = false
    await wait()
    return answer
  }
  return operation === 'claim'
    ? { ...store, claim: async (call) => late(await store.claim(call)) }
    : { ...store, settle: async (call) => late(await store.settle(call)) }
}

function holdsJobs(reply: unknown): boolean {
  const { jobs, claimed } = reply as { jobs?: unknown[]; claimed?: { jobs: unknown[] } | null }
  return (jobs ?? claimed?.jobs ?? []).length > 0
}
