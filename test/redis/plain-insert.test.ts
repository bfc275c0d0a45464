import { Redis } from 'ioredis'
import { afterEach, describe, expect, it } from 'vitest'
import type { NewJob } from '../../src/core/jobs/job.ts'
import type { InsertCall } from '../../src/store/store.ts'
import { OTHER_QUEUE, QUEUE, SPACE, sample, samples } from '../../src/testing/store/samples.ts'
import { redisUrlVariable } from '../servers/index.ts'
import { readContents } from './contents.ts'
import { now, openWorld, type World } from './stocked.ts'

const worlds: World[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close()
})

async function open(): Promise<World> {
  const world = await openWorld()
  worlds.push(world)
  return world
}

/** All that is kept after these calls, but for what tells two stores apart. */
async function keptAfter(calls: readonly InsertCall[]): Promise<unknown> {
  const { store, client, prefix } = await open()
  const limited = { target: { queue: OTHER_QUEUE }, by: 'code', fields: { concurrency: 1 } } as const
  await store.setLimits({ space: SPACE, limits: [limited], now })
  for (const call of calls) {
    const { results } = await store.insert({ ...call, now })
    expect(results).toEqual(call.jobs.map(() => ({ status: 'ok', state: 'ready', dueAt: now })))
  }
  const { hashes, sets } = await readContents(client, prefix)
  const meta = new Map(hashes.get('meta'))
  for (const own of ['birth', 'run', 'runs']) meta.delete(own)
  return { hashes: new Map([...hashes, ['meta', meta]]), sets }
}

/** Its length takes more than two bytes. */
const LARGE = `"${'x'.repeat(70_000)}"`
const SOME = `"${'ü'.repeat(1_500)}"`
const HUGE = `"${'x'.repeat(250_000)}"`

describe('fresh plain jobs are kept as any others', () => {
  const cases: readonly (readonly [string, readonly (readonly NewJob[])[]])[] = [
    ['one, of a queue that is new', [[sample(1)]]],
    ['one more, and some', [[sample(1)], [sample(2)], samples(3, {}, 10)]],
    ['more than one command takes', [[sample(1)], samples(4_500, {}, 10)]],
    ['some of a queue with limits', [[sample(1)], samples(3, { queue: OTHER_QUEUE }, 10)]],
    ['some of several queues', [[sample(1)], [sample(2), sample(3, { queue: 'third' }), sample(4)]]],
    ['very many, of a queue that is new', [samples(600)]],
    ['very many, of a queue with limits', [[sample(1)], samples(600, { queue: OTHER_QUEUE }, 10)]],
    ['very many that do not rise', [[sample(1)], samples(600, {}, 10).reverse()]],
    ['very many around another one', [[sample(300)], [...samples(290, {}, 10), ...samples(310, {}, 301)]]],
    [
      'very many before and behind others',
      [samples(20, {}, 1_000), samples(600, {}, 10), samples(700, {}, 2_000)],
    ],
    ['very many with letters of any size', [[sample(1)], samples(600, { payload: '"ü€😀\\u0000"' }, 10)]],
    ['very many and a large one', [[sample(1)], [...samples(600, {}, 10), sample(700, { payload: LARGE })]]],
    ['very many that take several pieces', [[sample(1)], samples(600, { payload: SOME }, 10)]],
    [
      'very many and one larger than a piece',
      [[sample(1)], [...samples(600, {}, 10), sample(700, { payload: HUGE })]],
    ],
    ['letters of any size', [[sample(1)], [sample(2, { payload: '"ü€😀\\u0000"' }), sample(3)]]],
  ]

  it.each(cases)('%s', async (_name, batches) => {
    const fresh = await keptAfter(batches.map((jobs) => ({ jobs, fresh: true })))
    const looked = await keptAfter(batches.map((jobs) => ({ jobs })))

    expect(fresh).toEqual(looked)
  })
})

describe('an insert that is not done by the first script', () => {
  it.each<[string, readonly NewJob[], true | undefined]>([
    ['some of a queue that is new', [sample(2, { queue: 'third' })], true],
    ['very many', samples(600, {}, 2), true],
    ['some of a queue that is known', [sample(2)], undefined],
  ])('says that it came late, unless it had a letter: %s', async (_name, jobs, isLate) => {
    const { store } = await open()
    await store.insert({ jobs: [sample(1)], now })

    const reply = await store.insert({ jobs, fresh: true, now })

    expect(reply.isLate).toBe(isLate)
    const other = jobs.map((job, n) => ({ ...job, queue: `${job.queue}-2`, id: sample(2_000 + n).id }))
    expect((await store.insert({ jobs: other, fresh: true, letter: '[]', now })).isLate).toBeUndefined()
  })
})

describe('a letter that goes along with an insert', () => {
  it.each<[string, readonly NewJob[]]>([
    ['plain jobs', [sample(2)]],
    ['jobs that are looked at', [sample(2, { priority: 1 }), sample(3, { queue: 'third' })]],
    ['very many', samples(600, {}, 2)],
  ])('is heard when the insert has happened: %s', async (_name, jobs) => {
    const { store, prefix } = await open()
    await store.insert({ jobs: [sample(1)], now })
    const ear = new Redis(process.env[redisUrlVariable] as string)
    try {
      await ear.subscribe(`{${prefix}}:hints`)
      const heard = new Promise<string>((resolve) => ear.on('message', (_, text) => resolve(text)))

      await store.insert({ jobs, fresh: true, letter: '["me"]', now })

      expect(await heard).toBe('["me"]')
      const { queues } = await store.counts({ space: SPACE })
      expect(queues.find(({ queue }) => queue === QUEUE)?.states.ready).toBe(
        1 + jobs.filter(({ queue }) => queue === QUEUE).length,
      )
    } finally {
      ear.disconnect()
    }
  })
})
