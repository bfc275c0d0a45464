import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { postgresStore } from '../../src/postgres.ts'
import { postgresReply } from './fault-proxy.ts'
import { Scene } from './scene.ts'
import { type PostgresStage, withClient } from './stage.ts'

let scene: Scene
afterEach(() => scene.close())
afterAll(() => Scene.closeShared())

async function open(options: { leaseMs?: number } = {}): Promise<PostgresStage> {
  scene = await Scene.open('postgres', options)
  return scene.stage as PostgresStage
}

describe('A reply that is lost after the commit', () => {
  it('of an enqueue, leaves exactly one job, which runs once', async () => {
    const stage = await open()
    await scene.enqueue('kept')
    const lost = stage.proxyOf('p1').loseReply(postgresReply('insert_job'))

    const job = await scene.enqueue('kept', { n: 7 })
    await lost
    await scene.worker('w1')

    expect(await job.result()).toBe(7)
    const { report, audit } = await scene.judge()
    expect(report).toMatchObject({ violations: [], counts: { enqueued: 2, starts: 2, lost: 0 } })
    expect(audit.filter(({ before }) => before === null)).toHaveLength(2)
  })

  it('of a settle, leaves exactly one end', async () => {
    const stage = await open()
    const job = await scene.enqueue('parent', { n: 7 })
    const lost = stage.proxyOf('w1').loseReply(postgresReply(job.id))

    await scene.worker('w1')
    await lost

    expect(await job.result()).toBe(7)
    const { report, audit, final } = await scene.judge()
    expect(report.violations).toEqual([])
    expect(audit.filter(({ id, after }) => id === job.id && after?.state === 'done')).toHaveLength(1)
    expect(final.get(job.id)).toMatchObject({ counters: { starts: 1, lost: 0, errors: 0 } })
    // The child that was enqueued with it is there once, too.
    expect([...final.values()].map(({ queue }) => queue).toSorted()).toEqual(['child', 'parent'])
  })
})

describe('A connection of which only one end is left', () => {
  it('keeps no job from running: a worker that vanished behind a dead line loses it when the lease ends', async () => {
    const stage = await open()
    const victim = await scene.worker('w1')
    const job = await scene.enqueue('kept', { ms: 1_000 })
    await scene.written(({ f }) => f === 'start')

    // The server does not hear of its end: for it the session, and with it the worker, is still there.
    stage.proxyOf('w1').set({ blackHole: 'both' })
    await victim.kill()
    await scene.worker('w2')

    await job.result()
    expect((await scene.judge()).report.violations).toEqual([])
  })

  it('does not stop a living worker: it notices, connects anew and goes on', async () => {
    const stage = await open({ leaseMs: 1_000 })
    const worker = await scene.worker('w1')
    await (await scene.enqueue('kept')).result()

    stage.proxyOf('w1').set({ blackHole: 'down' })
    const job = await scene.enqueue('kept')
    await sleep(1_500)
    stage.proxyOf('w1').heal()

    await job.result()
    expect(worker.proc).toBe('w1#1')
    expect((await scene.judge()).report.violations).toEqual([])
  })
})

describe('A server that goes away under workers', () => {
  it('by a crash, and comes back, finds the same processes going on', async () => {
    const stage = await open()
    const workers = [await scene.worker('w1'), await scene.worker('w2')]
    const before = await Promise.all([1, 2, 3].map((n) => scene.enqueue('kept', { n, ms: 200 })))
    await scene.written(({ f }) => f === 'start')

    await stage.server.stop('crash')
    await stage.server.start()
    const after = await scene.enqueue('kept', { n: 4 })

    expect(await Promise.all([...before, after].map((job) => job.result()))).toEqual([1, 2, 3, 4])
    expect(workers.map(({ proc, isAlive }) => [proc, isAlive])).toEqual([
      ['w1#1', true],
      ['w2#1', true],
    ])
    expect((await scene.judge()).report.violations).toEqual([])
  })

  it('in the shape of terminated backends is noticed and forgotten', async () => {
    const stage = await open()
    const worker = await scene.worker('w1')
    const before = await Promise.all([1, 2, 3].map((n) => scene.enqueue('kept', { n, ms: 200 })))
    await scene.written(({ f }) => f === 'start')

    await stage.terminate(1)
    const after = await scene.enqueue('kept', { n: 4 })

    expect(await Promise.all([...before, after].map((job) => job.result()))).toEqual([1, 2, 3, 4])
    expect([worker.proc, worker.isAlive]).toEqual(['w1#1', true])
    expect((await scene.judge()).report.violations).toEqual([])
  })

  it('in the very moment in which it grants a connection, does not end the process', async () => {
    const stage = await open()
    const store = postgresStore({ ...(stage.address('p1') as { url: string }), listen: false })
    // Its answers are held back until the backend is gone: "ready" and "terminated" then arrive in one piece.
    stage.proxyOf('p1').set({ stall: 'down' })
    const answer = store.counts({ space: 'default' }).then(
      () => 'answered',
      (error: { code?: string }) => error.code,
    )
    await withClient(stage.url, async (client) => {
      const connected = `select pid from pg_stat_activity where application_name = 'skep' and datname = current_database()`
      while ((await client.query(connected)).rowCount === 0) await sleep(5)
      await sleep(50)
      await client.query(`select pg_terminate_backend(pid) from (${connected}) x`)
      while ((await client.query(connected)).rowCount !== 0) await sleep(5)
    })
    stage.proxyOf('p1').heal()

    expect(['STORE_UNAVAILABLE', 'STORE_UNKNOWN', 'answered']).toContain(await answer)
    await store.close()
  })
})
