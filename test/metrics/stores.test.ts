// What is kept in records, on every store, by two processes that know of each other only through it.
import { describe, expect, it, onTestFinished } from 'vitest'
import { createSkep, never, queue, type Skep, silentLogger } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { memoryWorld, postgresWorld, redisWorld, sqliteWorld } from '../flows/worlds.ts'

const mail = queue<string, number>('mail', { onError: never(), timeout: '1m' })

async function two(world: { open(): Store }): Promise<[Skep, Skep]> {
  const skeps = [1, 2].map(() => createSkep({ store: world.open(), logger: silentLogger, version: '7' }))
  onTestFinished(async () => {
    for (const skep of skeps) await skep.close()
  })
  return skeps as [Skep, Skep]
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)

describe.each([
  ['memory', async () => memoryWorld()],
  ['SQLite', sqliteWorld],
  ['Postgres', postgresWorld],
  ['Redis', redisWorld],
] as const)('on %s', (_name, open) => {
  it('one process sees what the other did', { timeout: 60_000 }, async () => {
    const [here, there] = await two(await open())
    const worker = there.worker([
      mail.handle(({ payload }) => {
        if (payload.startsWith('bad')) throw new Error(`Cannot send ${payload}`)
        return 1
      }),
    ])
    const jobs = await here.enqueueMany(mail, ['a', 'b', 'bad 1', 'bad 2'])
    for (const job of jobs) await job.result({ timeout: '30s' }).catch(() => {})
    await worker.ready

    const [view] = await here.workers.list()
    expect(view).toMatchObject({ id: worker.id, version: '7', node: process.version, paused: false })
    expect(await here.queues.declarations()).toMatchObject([{ queue: 'mail', timeoutMs: 60_000 }])
    expect(await here.metrics.deploys({ range: '1h' })).toMatchObject([{ version: '7' }])

    // Written when the worker has stopped, and seen without any wait.
    await worker.stop()
    for (const range of ['15m', '7d'] as const) {
      const series = await here.metrics.series({ range, queue: 'mail' })
      const all = await here.metrics.series({ range })
      expect(
        [series, all].map(({ enqueued, done, failed }) => [sum(enqueued), sum(done), sum(failed)]),
      ).toEqual([
        [4, 2, 2],
        [4, 2, 2],
      ])
      expect(all.isWhole).toBe(true)
      expect(all.waitP50.some((value) => value !== null)).toBe(true)
    }
    const { groups } = await here.errors.list()
    expect(groups).toMatchObject([
      { queue: 'mail', count: 2, dead: 2, message: expect.stringMatching(/^Cannot send bad/) },
    ])
    const muted = await here.errors.mute(groups[0]?.id as string, { by: 'ann' })
    expect(muted?.muted).toEqual({ by: 'ann', until: null })
    expect(await there.errors.list({ muted: false })).toEqual({ groups: [], cursor: null })
    expect(await here.metrics.prometheus()).toContain(
      'skep_jobs{space="default",queue="mail",state="dead"} 2\n',
    )
  })

  it('one process tells a worker of the other to be quiet, to go on and to stop', {
    timeout: 60_000,
  }, async () => {
    const [here, there] = await two(await open())
    // Where no hint goes from one to the other, the heartbeat tells.
    const worker = there.worker([mail.handle(() => 1)], { lease: '3s' })
    await worker.ready

    await here.workers.pause(worker.id, { by: 'ann' })
    await expect.poll(async () => (await here.workers.list())[0]?.paused, { timeout: 25_000 }).toBe(true)
    const job = await here.enqueue(mail, 'later')
    await here.workers.resume(worker.id)
    expect(await job.result({ timeout: '25s' })).toBe(1)
    await here.workers.stop(worker.id)

    await worker.stopped
    expect(await here.workers.list()).toEqual([])
  })
})
