import { describe, expect, it, onTestFinished } from 'vitest'
import { createSkep, queue, type Skep, silentLogger } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { parseVitals } from '../../src/runtime/process-stats.ts'
import { COMMAND_KIND, CommandReader, recallId } from '../../src/worker/commands.ts'
import { gate, openScene } from '../worker/support/scene.ts'

const mail = queue<number, number>('mail')
const NOBODY = '01890a5d-ac96-774b-bcce-b302099a8057'

describe('the list of workers', () => {
  it('shows what each tells of itself', async () => {
    const scene = openScene({ version: '1.2.3' })
    const worker = scene.skep.worker([mail.handle(() => 1)])
    await scene.through(worker.ready)

    const [view] = await scene.skep.workers.list()

    expect(view).toMatchObject({
      id: worker.id,
      queues: ['mail'],
      version: '1.2.3',
      node: process.version,
      command: null,
      paused: false,
      // A virtual clock has no event loop to be late.
      lagMs: null,
    })
    expect(view?.memoryBytes).toBeGreaterThan(1e6)
  })

  it('shows the version of the worker rather than that of the program', async () => {
    const scene = openScene({ version: '1.2.3' })
    const worker = scene.skep.worker([mail.handle(() => 1)], { version: '9' })
    await scene.through(worker.ready)

    expect((await scene.skep.workers.list())[0]?.version).toBe('9')
  })

  it('shows how late the event loop of a real process is', async () => {
    const skep = createSkep({ store: memoryStore(), logger: silentLogger })
    onTestFinished(() => skep.close())
    const worker = skep.worker([mail.handle(() => 1)], { lease: '1s' })
    await worker.ready

    await expect
      .poll(async () => (await skep.workers.list())[0]?.lagMs ?? null, { timeout: 20_000 })
      .not.toBeNull()
  })

  it('takes nothing that a worker tells at its word', () => {
    for (const text of ['', 'null', '7', '{"lagMs":"x","memoryBytes":-1,"version":5,"paused":1}']) {
      expect(parseVitals(text)).toEqual({
        version: null,
        node: '',
        memoryBytes: 0,
        lagMs: null,
        paused: false,
        prefetched: 0,
        isRelay: false,
      })
    }
  })
})

describe('a command to a worker', () => {
  it('that pauses it lets it claim no more and finish what runs', async () => {
    const scene = openScene()
    const work = gate<number>()
    const worker = scene.skep.worker([mail.handle(() => work.promise)], { concurrency: 1 })
    const first = await scene.skep.enqueue(mail, 1)
    await scene.until(() => worker.health().running === 1)

    const told = await scene.skep.workers.pause(worker.id, { by: 'ann' })
    await scene.until(async () => (await scene.skep.workers.list())[0]?.paused === true, 1_000)
    const second = await scene.skep.enqueue(mail, 2)
    work.open(7)
    expect(await scene.through(first.result())).toBe(7)
    await scene.advance(60_000)

    expect(told).toMatchObject({ id: worker.id, command: 'pause', paused: false })
    expect(worker.health()).toMatchObject({ paused: true, status: 'running' })
    expect(await scene.state(second.id)).toBe('ready')
    // What was done is not shown as if it were not.
    expect((await scene.skep.workers.list())[0]?.command).toBeNull()
    expect(scene.logged('info', /"pause" from ann/)).toBe(true)
  })

  it('is taken back by a resume', async () => {
    const scene = openScene()
    const worker = scene.skep.worker([mail.handle(({ payload }) => payload)])
    await scene.through(worker.ready)
    await scene.skep.workers.pause(worker.id)
    await scene.until(() => worker.health().paused)
    const job = await scene.skep.enqueue(mail, 5)
    await scene.advance(30_000)
    expect(await scene.state(job.id)).toBe('ready')

    await scene.skep.workers.resume(worker.id)

    expect(await scene.through(job.result(), 5_000)).toBe(5)
    expect((await scene.skep.workers.list())[0]).toMatchObject({ paused: false, command: null })
  })

  it('gives back what it had claimed and not begun', async () => {
    const scene = openScene()
    const work = gate<number>()
    const worker = scene.skep.worker([mail.handle(() => work.promise)], { concurrency: 1 })
    await scene.skep.enqueueMany(mail, [1, 2, 3])
    await scene.until(() => worker.health().running === 1)

    await scene.skep.workers.pause(worker.id)
    await scene.until(() => worker.health().paused)
    await scene.advance(100)

    expect(await scene.counts('mail')).toEqual({ running: 1, ready: 2 })
    work.open(1)
  })

  it('to stop ends it as if its program had said so', async () => {
    const scene = openScene()
    const work = gate<number>()
    const worker = scene.skep.worker([mail.handle(() => work.promise)])
    const job = await scene.skep.enqueue(mail, 1)
    await scene.until(() => worker.health().running === 1)
    let over = false
    void worker.stopped.then(() => {
      over = true
    })

    await scene.skep.workers.stop(worker.id)
    await scene.until(() => worker.health().status === 'stopping')
    expect(over).toBe(false)
    work.open(3)
    await scene.through(worker.stopped)

    expect(await job.result()).toBe(3)
    expect(worker.health().status).toBe('stopped')
    expect(await scene.skep.workers.list()).toEqual([])
  })

  it('reaches it without a hint too, with its next heartbeat', async () => {
    const scene = openScene()
    const worker = scene.skep.worker([mail.handle(() => 1)])
    await scene.through(worker.ready)
    scene.notifier.broken = true

    await scene.skep.workers.pause(worker.id)
    expect((await scene.skep.workers.list())[0]).toMatchObject({ command: 'pause', paused: false })

    await scene.until(() => worker.health().paused, 15_000)
  })

  it('reaches the worker that was meant, and no other', async () => {
    const scene = openScene()
    const [one, other] = [
      scene.skep.worker([mail.handle(() => 1)]),
      scene.skep.worker([mail.handle(() => 2)]),
    ]
    await scene.through(Promise.all([one.ready, other.ready]))

    await scene.skep.workers.pause(one.id)
    await scene.until(() => one.health().paused)
    const job = await scene.skep.enqueue(mail, 1)

    expect(await scene.through(job.result())).toBe(2)
    expect(other.health().paused).toBe(false)
  })

  it('that comes while another is carried out is carried out after it', async () => {
    const scene = openScene()
    const give = (command: string): Promise<unknown> =>
      scene.truth.putRecords({
        scope: 'default',
        kind: COMMAND_KIND,
        records: [{ id: NOBODY, body: JSON.stringify({ command }), revision: command, expiresAt: null }],
      })
    const done: string[] = []
    const keeper = new CommandReader({
      store: scene.truth,
      runtime: scene.runtime,
      logger: silentLogger,
      space: 'default',
      workerId: NOBODY,
      obey: async ({ command }) => {
        done.push(command)
        if (command === 'pause') await give('resume')
      },
      recall: () => {},
    })
    await give('pause')

    await keeper.look()
    await keeper.look()

    expect(done).toEqual(['pause', 'resume'])
  })

  it('to recall jobs is taken off the list when it has been carried out, and not before', async () => {
    const scene = openScene()
    const place = { scope: 'default', kind: COMMAND_KIND }
    const ids = [recallId(NOBODY, 'one'), recallId(NOBODY, 'two')]
    const target = { space: 'default', queue: 'mail', lane: null }
    const records = ids.map((id) => ({ id, body: JSON.stringify(target), revision: '1', expiresAt: null }))
    await scene.truth.putRecords({ ...place, records })
    const seen: unknown[] = []
    const keeper = new CommandReader({
      store: {
        ...scene.truth,
        removeRecords: (call) => {
          seen.push(call.ids)
          return scene.truth.removeRecords(call)
        },
      },
      runtime: scene.runtime,
      logger: silentLogger,
      space: 'default',
      workerId: NOBODY,
      obey: async () => {},
      recall: (meant) => void seen.push(meant),
    })

    await keeper.look()

    expect(seen).toEqual([target, target, ids])
    expect((await scene.truth.getRecords({ ...place, ids })).records).toEqual([null, null])
  })

  it('that cannot be read disturbs no job', async () => {
    const scene = openScene()
    const worker = scene.skep.worker([mail.handle(({ payload }) => payload)])
    await scene.through(worker.ready)
    scene.faults.choose((_, argument) =>
      (argument as { kind?: unknown }).kind === COMMAND_KIND ? 'foreign' : null,
    )

    await scene.advance(60_000)
    const job = await scene.skep.enqueue(mail, 4)

    expect(await scene.through(job.result())).toBe(4)
    expect(worker.health().status).toBe('running')
  })

  it('is answered with null if there is no such worker', async () => {
    const scene = openScene()

    expect(await scene.skep.workers.pause(NOBODY)).toBeNull()
  })
})

describe('deploys', () => {
  const start = async (
    scene: ReturnType<typeof openScene>,
    skep: Skep,
    version: string,
  ): Promise<() => Promise<void>> => {
    const worker = skep.worker([mail.handle(() => 1)], { version })
    await scene.through(worker.ready)
    return () => scene.through(worker.stop())
  }

  it('are told when workers of another version appear, also of an earlier one', async () => {
    const scene = openScene()
    const versions = async (): Promise<string[]> =>
      (await scene.skep.metrics.deploys({ range: '24h' })).map(({ version }) => version)
    const stopOld = await start(scene, scene.skep, '1')
    await start(scene, scene.client(), '1')
    expect(await versions()).toEqual(['1'])

    await scene.advance(3_600_000)
    const stopNew = await start(scene, scene.skep, '2')
    await stopOld()
    expect(await versions()).toEqual(['1', '2'])

    await stopNew()
    await scene.advance(3_600_000)
    await start(scene, scene.skep, '2')
    expect(await versions()).toEqual(['1', '2'])
  })

  it('go back too', async () => {
    const scene = openScene()
    for (const version of ['1', '2', '1']) {
      const stop = await start(scene, scene.skep, version)
      await scene.advance(3_600_000)
      await stop()
    }

    const deploys = await scene.skep.metrics.deploys({ range: '24h' })

    expect(deploys.map(({ version }) => version)).toEqual(['1', '2', '1'])
    expect(await scene.skep.metrics.deploys({ range: '15m' })).toEqual([])
  })
})
