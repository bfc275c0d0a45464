import { describe, expect, it } from 'vitest'
import { type EnqueueOptions, never, queue } from '../../src/index.ts'
import { gate, openScene, type Scene } from '../worker/support/scene.ts'

const mail = queue<string, string>('mail')

async function enqueue(
  scene: Scene,
  payload: string,
  unique: EnqueueOptions['unique'],
  more: EnqueueOptions = {},
) {
  return scene.skep.enqueue(mail, payload, { ...more, ...(unique === undefined ? {} : { unique }) })
}

describe('a unique key', () => {
  it('is held until the job has ended; meanwhile an enqueue gives the job that holds it', async () => {
    const scene = openScene()
    const work = gate<string>()
    const first = await enqueue(scene, 'first', 'key')
    scene.skep.worker([mail.handle(() => work.promise)])
    await scene.until(async () => (await scene.state(first.id)) === 'running')

    const second = await enqueue(scene, 'second', 'key')
    expect(second).toMatchObject({ id: first.id, duplicate: true })
    work.open('result of the first')
    expect(await scene.through(second.result())).toBe('result of the first')

    const third = await enqueue(scene, 'third', 'key')
    expect(third.duplicate).toBe(false)
    expect(third.id).not.toBe(first.id)
  })

  it('held while queued is free again when the job starts', async () => {
    const scene = openScene()
    const work = gate<string>()
    const unique = { key: 'key', scope: 'queued' } as const
    const first = await enqueue(scene, 'first', unique)
    expect((await enqueue(scene, 'second', unique)).duplicate).toBe(true)
    scene.skep.worker([mail.handle(() => work.promise)])
    await scene.until(async () => (await scene.state(first.id)) === 'running')

    const next = await enqueue(scene, 'third', unique)

    expect(next.duplicate).toBe(false)
    work.open('')
  })

  it('held for a span of time is a throttle: at most one in that time, whatever becomes of the job', async () => {
    const scene = openScene()
    const seen: string[] = []
    const unique = { key: 'key', scope: '1m' } as const
    scene.skep.worker([
      mail.handle(({ payload }) => {
        seen.push(payload)
        return payload
      }),
    ])

    for (let second = 0; second < 180; second += 10) {
      await enqueue(scene, `at ${second}`, unique)
      await scene.advance(10_000)
    }

    expect(seen).toEqual(['at 0', 'at 60', 'at 120'])
  })

  it('with postpone is a debounce: the last payload runs, once, when it has been quiet for the delay', async () => {
    const scene = openScene()
    const seen: [string, number][] = []
    const unique = { key: 'key', onConflict: 'postpone' } as const
    scene.skep.worker([
      mail.handle(({ payload }) => {
        seen.push([payload, scene.runtime.mono()])
        return payload
      }),
    ])

    for (let n = 0; n < 5; n++) {
      await enqueue(scene, `typed ${n}`, unique, { delay: '2s' })
      await scene.advance(1_000)
    }
    await scene.advance(10_000)

    expect(seen).toEqual([['typed 4', 6_000]])
  })

  it('with replace takes over the new payload and time', async () => {
    const scene = openScene()
    const unique = { key: 'key', onConflict: 'replace' } as const
    const first = await enqueue(scene, 'old', unique, { delay: '1h', priority: 1 })

    const second = await enqueue(scene, 'new', unique, { delay: '1m', priority: 5 })

    expect(second).toMatchObject({ id: first.id, duplicate: true })
    const view = await first.get()
    expect(view).toMatchObject({ payload: 'new', priority: 5, state: 'delayed' })
    expect((view?.dueAt.getTime() ?? 0) - scene.runtime.now()).toBe(60_000)
  })

  it('with replace makes a delayed job due at once, and a worker takes it at once', async () => {
    const scene = openScene()
    const seen: string[] = []
    const unique = { key: 'key', onConflict: 'replace' } as const
    scene.skep.worker([
      mail.handle(({ payload }) => {
        seen.push(payload)
        return payload
      }),
    ])
    await enqueue(scene, 'later', unique, { delay: '1h' })
    await scene.advance(100)
    const before = scene.runtime.mono()

    await enqueue(scene, 'now', unique)
    await scene.runtime.settle()

    expect(seen).toEqual(['now'])
    expect(scene.runtime.mono()).toBe(before)
  })

  it('never changes a job that runs', async () => {
    const scene = openScene()
    const work = gate<string>()
    const first = await enqueue(scene, 'first', 'key')
    scene.skep.worker([mail.handle(() => work.promise)])
    await scene.until(async () => (await scene.state(first.id)) === 'running')

    await enqueue(scene, 'second', { key: 'key', onConflict: 'replace' })
    await enqueue(scene, 'third', { key: 'key', onConflict: 'postpone' }, { delay: '1h' })

    expect((await first.get())?.payload).toBe('first')
    work.open('')
  })

  it('is free again when the job was cancelled, and while it is dead', async () => {
    const scene = openScene()
    const once = queue<string>('once', { onError: never() })
    const first = await scene.skep.enqueue(once, 'a', { unique: 'key' })
    await first.cancel()
    const second = await scene.skep.enqueue(once, 'b', { unique: 'key' })
    expect(second.duplicate).toBe(false)
    scene.skep.worker([
      once.handle(() => {
        throw new Error('no')
      }),
    ])
    await scene.until(async () => (await scene.state(second.id)) === 'dead')

    expect((await scene.skep.enqueue(once, 'c', { unique: 'key' })).duplicate).toBe(false)
  })

  it('is of one queue: the same key elsewhere is another', async () => {
    const scene = openScene()
    const other = queue<string>('other')

    const here = await enqueue(scene, 'a', 'key')
    const there = await scene.skep.enqueue(other, 'a', { unique: 'key' })

    expect([here.duplicate, there.duplicate]).toEqual([false, false])
  })

  it('may come from the queue itself, and an enqueue may give another', async () => {
    const scene = openScene()
    const account = queue<{ user: number; at: number }>('account', { unique: ({ user }) => `user ${user}` })

    const [first, second, third] = await scene.skep.enqueueMany(account, [
      { user: 1, at: 1 },
      { user: 1, at: 2 },
      { user: 2, at: 3 },
    ])
    const special = await scene.skep.enqueue(account, { user: 1, at: 4 }, { unique: 'special' })

    expect([first, second, third, special].map((job) => job?.duplicate)).toEqual([false, true, false, false])
    expect(second?.id).toBe(first?.id)
  })

  it('is compared letter by letter', async () => {
    const scene = openScene()

    const jobs = await Promise.all(
      ['Order-1', 'order-1', 'order-1 ', 'ordér-1'].map((key) => enqueue(scene, key, key)),
    )

    expect(jobs.map(({ duplicate }) => duplicate)).toEqual([false, false, false, false])
  })

  it('survives a lost answer: the repeated enqueue is not a duplicate of itself', async () => {
    const scene = openScene()
    scene.faults.next('insert', 'after')

    const job = await scene.through(enqueue(scene, 'a', 'key'))

    expect(job.duplicate).toBe(false)
    expect(await scene.counts('mail')).toEqual({ ready: 1 })
  })
})
