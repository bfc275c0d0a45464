import { describe, expect, it } from 'vitest'
import { type Logger, queue, type Skep, type WorkerEvents } from '../../src/index.ts'
import { openScene } from '../worker/support/scene.ts'

const mail = queue<number, number>('mail')

const EVENTS = ['received', 'finished', 'error', 'timeout', 'lost', 'dead', 'snoozed', 'cancelled'] as const

function onEverything(skep: Skep, listener: (event: WorkerEvents[keyof WorkerEvents]) => unknown): void {
  for (const name of EVENTS) skep.on(name, listener)
}

/** Whoever turns it into text fails. */
function unspeakable(): unknown {
  const thing = Object.create(null) as Record<string, unknown>
  thing['self'] = thing
  return thing
}

describe('listeners', () => {
  it.each<[string, () => unknown]>([
    [
      'throw',
      () => {
        throw new Error('hook')
      },
    ],
    ['reject', () => Promise.reject(new Error('hook'))],
    ['never end', () => new Promise(() => {})],
    [
      'throw things that are no errors',
      () => {
        throw null as unknown as Error
      },
    ],
    [
      'throw things that cannot even be shown',
      () => {
        throw unspeakable() as Error
      },
    ],
    ['reject with things that cannot even be shown', () => Promise.reject(unspeakable() as Error)],
  ])('that %s change no outcome', async (_name, listener) => {
    const scene = openScene()
    onEverything(scene.skep, listener)
    const jobs = await scene.skep.enqueueMany(mail, [1, 2, 3])
    scene.skep.worker([
      mail.handle(({ payload, counters }) => {
        if (payload === 2 && counters.errors === 0) throw new Error('once')
        return payload
      }),
    ])

    const results = await scene.through(Promise.all(jobs.map((job) => job.result())))

    expect(results).toEqual([1, 2, 3])
    expect(await scene.job(jobs[1]!.id)).toMatchObject({ errors: 1, starts: 2 })
  })

  it('that try to change what they are told cannot', async () => {
    const scene = openScene()
    onEverything(scene.skep, (event) => {
      const job = event.job as unknown as { id: string; token: string; payload: string; queue: string }
      job.payload = '666'
      job.token = 'stolen'
      job.id = 'other'
      job.queue = 'other'
    })
    const job = await scene.skep.enqueue(mail, 5)
    scene.skep.worker([mail.handle(({ payload }) => payload)])

    expect(await scene.through(job.result())).toBe(5)
  })

  it('hear of an end only after it is saved', async () => {
    const scene = openScene()
    const states: string[] = []
    const job = await scene.skep.enqueue(mail, 1)
    scene.skep.on('finished', async () => states.push(await scene.state(job.id)))
    scene.skep.worker([mail.handle(() => 1)])

    await scene.through(job.result())
    await scene.runtime.settle()

    expect(states).toEqual(['done'])
  })

  it('hear nothing any more once they have been taken off', async () => {
    const scene = openScene()
    let heard = 0
    const off = scene.skep.on('finished', () => heard++)
    scene.skep.worker([mail.handle(() => 1)])
    await scene.through((await scene.skep.enqueue(mail, 1)).result())
    await scene.runtime.settle()

    off()
    await scene.through((await scene.skep.enqueue(mail, 2)).result())
    await scene.runtime.settle()

    expect(heard).toBe(1)
  })
})

describe('a logger that throws', () => {
  it('harms nobody', async () => {
    const fail = (): never => {
      throw new Error('the disk is full')
    }
    const logger: Logger = { debug: fail, info: fail, warn: fail, error: fail }
    const scene = openScene({ logger })
    const worker = scene.skep.worker([mail.handle(({ payload }) => payload)])
    await worker.ready
    scene.faults.break('before')
    await scene.advance(10_000)
    scene.faults.heal()

    const job = await scene.through(scene.skep.enqueue(mail, 4))

    expect(await scene.through(job.result())).toBe(4)
    await scene.through(worker.stop())
  })
})

describe('a notifier that breaks its promises', () => {
  it('by throwing at every call fails no enqueue, no job, no result, no change and no stop', async () => {
    const scene = openScene()
    scene.notifier.broken = true
    const worker = scene.skep.worker([mail.handle(({ payload }) => payload)])

    const job = await scene.skep.enqueue(mail, 7)
    const later = await scene.skep.enqueue(mail, 8, { delay: '1d' })

    expect(await scene.through(job.result(), 10_000)).toBe(7)
    expect(await scene.skep.jobs.cancel(later.id)).toMatchObject({ changed: 1 })
    expect(worker.health().notifier.status).toBe('down')
    expect(worker.health().status).toBe('running')
    await scene.through(worker.stop(), 5_000)
    expect(scene.logged('warn', /notifier failed/)).toBe(true)
    expect(scene.log.filter(({ message }) => message.includes('notifier failed'))).toHaveLength(1)
  })

  it('by swallowing every hint only makes things later', async () => {
    const scene = openScene()
    scene.notifier.blackHole = true
    scene.skep.worker([mail.handle(({ payload }) => payload)])
    await scene.advance(100)

    const job = await scene.skep.enqueue(mail, 7)

    expect(await scene.through(job.result(), 8_000)).toBe(7)
  })

  it('by telling nonsense does not disturb anyone', async () => {
    const scene = openScene()
    scene.skep.worker([mail.handle(({ payload }) => payload)])
    await scene.advance(100)
    const before = scene.faults.count('claim')

    for (let n = 0; n < 200; n++) {
      scene.notifier.tell(
        { kind: 'work', space: 'default', queue: 'unknown', dueAt: 0, rank: 0 },
        { kind: 'work', space: 'other', queue: 'mail', dueAt: 0, rank: 0 },
        { kind: 'settled', space: 'other', queue: 'mail' },
        { kind: 'cancel', space: 'default', ids: [] },
      )
    }
    await scene.runtime.settle()

    expect(scene.faults.count('claim')).toBe(before)
    expect(await scene.through((await scene.skep.enqueue(mail, 1)).result())).toBe(1)
  })

  it('by a storm of hints causes at most one claim at a time', async () => {
    const scene = openScene()
    scene.skep.worker([mail.handle(({ payload }) => payload)])
    await scene.advance(100)
    scene.faults.break({ slowMs: 50 }, ['claim'])
    const before = scene.faults.count('claim')

    for (let ms = 0; ms < 500; ms += 5) {
      for (let n = 0; n < 50; n++) {
        scene.notifier.tell({ kind: 'work', space: 'default', queue: 'mail', dueAt: 0, rank: 0 })
      }
      await scene.advance(5)
    }

    expect(scene.faults.count('claim') - before).toBeLessThanOrEqual(12)
  })
})
