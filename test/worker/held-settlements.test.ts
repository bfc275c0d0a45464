import { describe, expect, it } from 'vitest'
import { StoreError } from '../../src/core/errors.ts'
import { never, queue } from '../../src/index.ts'
import type { SettleCall, Settlement } from '../../src/store/store.ts'
import { openScene, type Scene, type SceneOptions } from './support/scene.ts'

const parent = queue<string>('parent')
const child = queue<string>('child')
const other = queue<number, number>('other')

interface Story {
  readonly scene: Scene
  /** Keys and ids that a transaction of a stranger holds, and jobs whose rows it has locked. */
  readonly held: Set<string>
  readonly calls: SettleCall[]
  /** How long the reply to a call with follow-up jobs takes that is not held up. */
  readonly slow: { ms: number }
}

/** A worker on a store in which settlements can run into what others hold, and wait for that as PostgreSQL does. */
function openStory(options: SceneOptions = {}): Story {
  const held = new Set<string>()
  const calls: SettleCall[] = []
  const slow = { ms: 0 }
  const isHeld = ({ id, enqueue = [] }: Settlement): boolean =>
    held.has(id) || enqueue.some((job) => held.has(job.unique?.key ?? job.id))
  const scene = openScene({
    ...options,
    wrap: (store) => ({
      ...store,
      capabilities: { ...store.capabilities, waitsForKeys: true },
      async settle(call) {
        calls.push(call)
        const giveUpAt = scene.runtime.mono() + (call.lockWaitMs ?? 15_000)
        while (call.settlements.some(isHeld)) {
          if (scene.runtime.mono() >= giveUpAt) throw new StoreError('STORE_BUSY', 'Held.')
          await new Promise<void>((resolve) => void scene.runtime.timer(5, resolve))
        }
        const reply = await store.settle(call)
        if (slow.ms > 0 && call.settlements.some(({ enqueue }) => enqueue !== undefined))
          await new Promise<void>((resolve) => void scene.runtime.timer(slow.ms, resolve))
        return reply
      },
    }),
  })
  return { scene, held, calls, slow }
}

async function work(scene: Scene, concurrency = 10): Promise<ReturnType<Scene['skep']['worker']>> {
  const worker = scene.skep.worker(
    [
      parent.handle(async (job) => {
        await job.enqueue(child, job.payload, { unique: job.payload })
      }),
      other.handle(({ payload }) => payload),
    ],
    { concurrency },
  )
  await scene.through(worker.ready)
  return worker
}

const keysOf = ({ settlements }: SettleCall): (string | undefined)[] =>
  settlements.flatMap(({ enqueue = [] }) => enqueue.map(({ unique }) => unique?.key))

describe('Outcomes whose follow-up jobs have keys that are held', () => {
  it('keep no other outcome waiting, share no call with others, and keep their leases', async () => {
    const { scene, held, calls } = openStory()
    const worker = await work(scene)
    held.add('k')
    const parents = await scene.through(scene.skep.enqueueMany(parent, ['k', 'k', 'free']))
    await scene.until(() => worker.health().unsaved === 2)

    for (let n = 0; n < 30; n++) {
      const at = scene.runtime.mono()
      const job = await scene.through(scene.skep.enqueue(other, n))
      expect(await scene.through(job.result())).toBe(n)
      expect(scene.runtime.mono() - at).toBeLessThan(100)
      // In all three leases long.
      await scene.advance(3_000)
    }

    expect(worker.health()).toMatchObject({ status: 'running', unsaved: 2 })
    expect(await scene.counts('parent')).toEqual({ running: 2, done: 1 })
    const keyed = calls.filter((call) => keysOf(call).length > 0)
    expect(keyed.every(({ claim, lockWaitMs = Infinity }) => claim === undefined && lockWaitMs <= 50)).toBe(
      true,
    )
    expect(keyed.every((call) => keysOf(call).length === call.settlements.length)).toBe(true)

    held.clear()
    await scene.until(() => worker.health().unsaved === 0)
    expect(await scene.counts('parent')).toEqual({ done: 3 })
    expect(await scene.counts('child')).toEqual({ ready: 2 })
    expect(parents.map(({ id }) => scene.toldOf(id))).toEqual(parents.map(() => ['received', 'finished']))
  })

  it('ask the store as often as one, and are saved together', async () => {
    const { scene, held, calls } = openStory()
    const worker = await work(scene, 100)
    held.add('k')
    await scene.through(
      scene.skep.enqueueMany(
        parent,
        Array.from({ length: 200 }, () => 'k'),
      ),
    )
    await scene.until(() => worker.health().unsaved === 200)
    await scene.advance(1_000)
    calls.length = 0

    await scene.advance(10_000)
    expect(calls.length).toBeLessThan(40)
    expect(calls.every(({ settlements }) => settlements.length === 1)).toBe(true)

    held.clear()
    calls.length = 0
    await scene.until(() => worker.health().unsaved === 0)
    expect(calls.length).toBeLessThan(5)
    expect(await scene.counts('child')).toEqual({ ready: 1 })
  })

  it.each(['after', 'lost', 'before'] as const)(
    'are saved once, whatever becomes of an answer meanwhile (%s)',
    async (fault) => {
      const { scene, held } = openStory()
      const worker = await work(scene)
      held.add('a')
      await scene.through(scene.skep.enqueueMany(parent, ['a', 'b', 'c']))
      await scene.until(() => worker.health().unsaved === 1)
      scene.faults.next('settle', fault, fault)
      await scene.advance(5_000)
      expect(worker.health().unsaved).toBe(1)

      scene.faults.next('settle', fault)
      held.clear()
      await scene.until(() => worker.health().unsaved === 0)

      expect(await scene.counts('parent')).toEqual({ done: 3 })
      expect(await scene.counts('child')).toEqual({ ready: 3 })
      expect(worker.health().status).toBe('running')
    },
  )

  it('are lost alone when the store refuses one of them', async () => {
    const { scene, held } = openStory()
    await work(scene)
    held.add('a')
    scene.faults.choose((operation, argument) =>
      operation === 'settle' && keysOf(argument as SettleCall).includes('bad') ? 'reject' : null,
    )
    const jobs = await scene.through(scene.skep.enqueueMany(parent, ['b', 'bad', 'c', 'a']))
    await scene.until(async () => (await scene.counts('child')).ready === 2)

    held.clear()
    await scene.until(async () => (await scene.counts('child')).ready === 3)
    expect(await scene.state(jobs[1]?.id as string)).toBe('running')
    expect(scene.logged('error', /cannot be saved/)).toBe(true)
  })

  it('are refused when the lease ended meanwhile, and leave nothing behind', async () => {
    const { scene, held } = openStory()
    const worker = await work(scene)
    held.add('k')
    const job = await scene.through(scene.skep.enqueue(parent, 'k'))
    await scene.until(() => worker.health().unsaved === 1)
    const { token } = await scene.job(job.id)
    await scene.truth.settle({
      settlements: [
        {
          space: scene.space,
          id: job.id,
          token: token as string,
          rescue: true,
          verdict: {
            to: 'dead',
            keepMs: 60_000,
            delayMs: 0,
            count: 'lost',
            refund: false,
            keepPlace: false,
            keepCancelledMs: 0,
            result: null,
            failure: null,
          },
        },
      ],
      // Nothing of it is held.
      lockWaitMs: 0,
    })

    held.clear()
    await scene.until(() => worker.health().unsaved === 0)
    expect(await scene.state(job.id)).toBe('dead')
    expect(await scene.counts('child')).toEqual({})
    expect(scene.logged('warn', /came too late/)).toBe(true)
  })

  it('stop the claims of their queue when they are hundreds, and of no other', async () => {
    const { scene, held } = openStory()
    const worker = await work(scene, 100)
    held.add('k')
    for (let n = 0; n < 4; n++) {
      await scene.through(
        scene.skep.enqueueMany(
          parent,
          Array.from({ length: 500 }, () => 'k'),
        ),
      )
      await scene.advance(1_000)
    }
    await scene.advance(20_000)
    const { unsaved } = worker.health()
    expect(unsaved).toBeGreaterThanOrEqual(500)
    expect(unsaved).toBeLessThan(2_000)
    const job = await scene.through(scene.skep.enqueue(other, 1))
    expect(await scene.through(job.result())).toBe(1)

    held.clear()
    await scene.until(async () => (await scene.counts('parent')).done === 2_000)
    expect(await scene.counts('child')).toEqual({ ready: 1 })
  })

  it('keep a stop waiting for ten seconds at most, and are handed back then', async () => {
    const { scene, held } = openStory()
    const worker = await work(scene)
    held.add('k')
    const job = await scene.through(scene.skep.enqueue(parent, 'k'))
    const { dueAt } = await scene.job(job.id)
    await scene.until(() => worker.health().unsaved === 1)

    const at = scene.runtime.mono()
    await scene.through(worker.stop())
    const took = scene.runtime.mono() - at
    expect(took).toBeGreaterThan(9_000)
    expect(took).toBeLessThan(11_000)
    expect(await scene.job(job.id)).toMatchObject({ state: 'ready', lost: 0, errors: 0, dueAt })
    expect(
      scene.logged('warn', /job ".+" is not saved: .* unique key "k" of queue "child".* runs again/),
    ).toBe(true)
    held.clear()
    await scene.advance(5_000)

    expect(await scene.state(job.id)).toBe('ready')
    expect(await scene.counts('child')).toEqual({})
  })

  it('are all handed back by a stop, those that wait behind others too, and their lanes go on', async () => {
    const { scene, held } = openStory()
    const strict = queue<string>('strict', {
      lanes: { order: 'strict' },
      lane: ({ payload }: { readonly payload: string }) => payload,
      onLost: never(),
    })
    const handlers = [
      strict.handle(async (job) => {
        await job.enqueue(child, job.payload, { unique: job.payload })
      }),
    ]
    const worker = scene.skep.worker(handlers)
    await scene.through(worker.ready)
    held.add('a').add('b')
    const jobs = await scene.through(scene.skep.enqueueMany(strict, ['a', 'b', 'c', 'a', 'b']))
    await scene.until(() => worker.health().unsaved === 2)
    await scene.through(worker.stop())
    expect(worker.health().unsaved).toBe(0)
    expect(await scene.counts('strict')).toEqual({ ready: 4, done: 1 })

    held.clear()
    const next = scene.skep.worker(handlers)
    await scene.through(next.ready)
    await scene.until(async () => (await scene.counts('strict')).done === 5, 1_000)
    expect(await Promise.all(jobs.map(async ({ id }) => (await scene.job(id)).lost))).toEqual([0, 0, 0, 0, 0])
  })

  it.each(['before', 'after', 'lost'] as const)(
    'are handed back once by a stop, also when the answer to an attempt or to that is lost (%s)',
    async (fault) => {
      const { scene, held } = openStory()
      const worker = await work(scene)
      held.add('k')
      const jobs = await scene.through(scene.skep.enqueueMany(parent, ['k', 'k', 'k']))
      await scene.until(() => worker.health().unsaved === 3)
      const stopped = worker.stop()
      await scene.advance(8_000)
      let isFirst = true
      scene.faults.choose((operation, argument) => {
        if (operation !== 'settle' || !isFirst) return null
        isFirst = (argument as SettleCall).settlements[0]?.verdict.to !== 'ready'
        return isFirst ? null : fault
      })
      await scene.through(stopped)
      const { state, starts } = await scene.job(jobs[0]?.id as string)
      expect({ state, starts }).toEqual({ state: 'ready', starts: 1 })
      expect(await scene.counts('parent')).toEqual({ ready: 3 })
      expect(worker.health().unsaved).toBe(0)
    },
  )

  it('count as saved when a stop finds that only the answer had been lost', async () => {
    const { scene, held, calls, slow } = openStory()
    const answering = queue<string, string>('answering')
    const worker = scene.skep.worker([
      answering.handle(async (job) => {
        await job.enqueue(child, job.payload, { unique: job.payload })
        return 'answer'
      }),
    ])
    await scene.through(worker.ready)
    held.add('k')
    const job = await scene.through(scene.skep.enqueue(answering, 'k'))
    await scene.until(() => worker.health().unsaved === 1)
    const at = scene.runtime.mono()
    const stopped = worker.stop()
    await scene.advance(9_000)
    // Released before the last attempt, which is in flight at the end of the stop and whose answer does not arrive.
    slow.ms = 2_000
    scene.faults.choose((operation, argument) =>
      operation === 'settle' && keysOf(argument as SettleCall).length > 0 ? 'after' : null,
    )
    held.clear()
    await scene.through(stopped)

    expect(scene.runtime.mono() - at).toBeLessThan(16_000)
    expect(await scene.counts('answering')).toEqual({ done: 1 })
    expect(await scene.counts('child')).toEqual({ ready: 1 })
    expect(calls.at(-1)?.settlements.map(({ verdict }) => verdict.to)).toEqual(['ready'])
    expect(scene.toldOf(job.id)).toEqual(['received', 'finished'])
    expect(scene.told.at(-1)?.event).toMatchObject({ result: 'answer' })
    expect(worker.health().unsaved).toBe(0)
  })

  it('stay with their leases when the store is down at the end of a stop', async () => {
    const { scene, held } = openStory()
    const worker = await work(scene)
    held.add('k')
    const job = await scene.through(scene.skep.enqueue(parent, 'k'))
    await scene.until(() => worker.health().unsaved === 1)
    scene.faults.choose(() => 'before')
    await scene.through(worker.stop())

    expect(await scene.state(job.id)).toBe('running')
    expect(scene.logged('warn', /stops with 1 outcomes unsaved/)).toBe(true)
    expect(scene.logged('warn', /handed back/)).toBe(false)
  })

  it('are saved by a stop if they are released in time', async () => {
    const { scene, held } = openStory()
    const worker = await work(scene)
    held.add('k')
    await scene.through(scene.skep.enqueue(parent, 'k'))
    await scene.until(() => worker.health().unsaved === 1)

    const stopped = worker.stop()
    await scene.advance(5_000)
    held.clear()
    await scene.through(stopped)

    expect(await scene.counts('parent')).toEqual({ done: 1 })
    expect(await scene.counts('child')).toEqual({ ready: 1 })
  })
})

it('A lane goes on at once after an outcome that could have had to wait for a key', async () => {
  const { scene } = openStory()
  const strict = queue<string>('strict', {
    lanes: { order: 'strict' },
    lane: ({ payload }: { readonly payload: string }) => payload,
  })
  const worker = scene.skep.worker([
    strict.handle(async (job) => {
      await job.enqueue(child, job.payload, { unique: job.payload })
    }),
  ])
  await scene.through(worker.ready)
  await scene.through(scene.skep.enqueueMany(strict, ['a', 'a', 'a', 'a']))

  // Not with the next poll.
  await scene.until(async () => (await scene.counts('strict')).done === 4, 500)
})

it('An outcome that runs into a lock of which nothing was known goes apart from then on', async () => {
  const { scene, held, calls } = openStory()
  const worker = await work(scene)
  const id = scene.runtime.uuid()
  held.add(id)
  await scene.through(
    Promise.all([scene.skep.enqueueMany(other, [0, 1, 2, 3]), scene.skep.enqueue(other, 4, { id })]),
  )
  await scene.until(async () => (await scene.counts('other')).done === 4, 3_000)
  calls.length = 0

  for (let n = 0; n < 10; n++) {
    const at = scene.runtime.mono()
    const job = await scene.through(scene.skep.enqueue(other, n))
    await scene.through(job.result())
    expect(scene.runtime.mono() - at).toBeLessThan(200)
  }
  expect(calls.every(({ lockWaitMs }) => lockWaitMs !== undefined && lockWaitMs <= 100)).toBe(true)
  expect(worker.health()).toMatchObject({ status: 'running', unsaved: 1 })

  held.clear()
  await scene.until(() => worker.health().unsaved === 0)
  expect(await scene.counts('other')).toEqual({ done: 15 })
})

it('A store that waits for no keys is asked as ever', async () => {
  const scene = openScene()
  await work(scene)
  await scene.through(scene.skep.enqueueMany(parent, ['a', 'b', 'c']))
  await scene.until(async () => (await scene.counts('parent')).done === 3)

  expect(scene.faults.arguments('settle').every(({ lockWaitMs }) => lockWaitMs === undefined)).toBe(true)
})
