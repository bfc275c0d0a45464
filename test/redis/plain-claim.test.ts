import { afterEach, describe, expect, it } from 'vitest'
import type { NewJob } from '../../src/core/jobs/job.ts'
import type { Store } from '../../src/store/store.ts'
import {
  HOUR,
  MINUTE,
  OTHER_QUEUE,
  QUEUE,
  SPACE,
  sample,
  samples,
  tokenOf,
  unique,
} from '../../src/testing/store/samples.ts'
import { readContents } from './contents.ts'
import { now, openWorld, type World } from './stocked.ts'

const worlds: World[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close()
})

interface Scene {
  readonly batches: readonly (readonly NewJob[])[]
  readonly queue?: string
  readonly limit?: number
  /** What else happens before the claim. */
  readonly prepare?: (store: Store) => Promise<unknown>
}

const HOLD = {
  kind: 'pause',
  space: SPACE,
  queue: QUEUE,
  lane: null,
  reason: null,
  by: null,
  forMs: MINUTE,
} as const

const SCENES: readonly (readonly [string, Scene])[] = [
  ['one', { batches: [[sample(1)]] }],
  ['none', { batches: [[sample(1, { queue: 'third' })]] }],
  ['none of a queue that is new', { batches: [] }],
  ['some sheets', { batches: [samples(40), samples(3, {}, 100)] }],
  ['more than are asked for', { batches: [samples(40)], limit: 7 }],
  ['as many as are asked for', { batches: [samples(7)], limit: 7 }],
  ['many more', { batches: [samples(400)], limit: 64 }],
  [
    'with priorities and headers',
    { batches: [[sample(1, { headers: '{"a":"b"}' }), sample(2, { priority: 3 })]] },
  ],
  ['with a unique key', { batches: [[sample(1), sample(2, { unique: unique('k', { scope: 'queued' }) })]] }],
  ['beside one that is due later', { batches: [[sample(1), sample(2, { delayMs: MINUTE })]] }],
  ['only one that is due later', { batches: [[sample(1, { delayMs: MINUTE })]] }],
  [
    'one that is due by now',
    { batches: [[sample(1, { runAt: now - 5, delayMs: 0 }), sample(2, { delayMs: 1 })]] },
  ],
  [
    'of a queue that is held',
    { batches: [[sample(1)]], prepare: (store) => store.hold({ holds: [HOLD], now }) },
  ],
  ['of a queue with limits', { batches: [samples(5, { queue: OTHER_QUEUE })], queue: OTHER_QUEUE }],
]

/** What a claim brings and leaves behind. With a second source that has nothing, it is the long script that is asked. */
async function claimed(
  { batches, queue = QUEUE, limit = 100, prepare }: Scene,
  isLong: boolean,
): Promise<unknown> {
  const world = await openWorld()
  worlds.push(world)
  const { store, client, prefix } = world
  const limited = { target: { queue: OTHER_QUEUE }, by: 'code', fields: { concurrency: 2 } } as const
  await store.setLimits({ space: SPACE, limits: [limited], now })
  for (const jobs of batches) await store.insert({ jobs, now })
  await prepare?.(store)
  const own = { space: SPACE, queue, limit }
  const sources = isLong ? [own, { space: SPACE, queue: 'nobody', limit }] : [own]
  const call = { sources, limit, workerId: 'worker', leaseMs: HOUR, now: now + 1 }

  const replies = [
    await store.claim({ ...call, token: tokenOf(1) }),
    await store.claim({ ...call, token: tokenOf(2) }),
  ]

  const { hashes, sets } = await readContents(client, prefix)
  const meta = new Map(hashes.get('meta'))
  for (const differs of ['birth', 'run', 'runs']) meta.delete(differs)
  return { replies, hashes: new Map([...hashes, ['meta', meta]]), sets }
}

describe('what waits in a queue without limits is claimed as by the long script', () => {
  it.each(SCENES)('%s', async (_name, scene) => {
    const short = await claimed(scene, false)
    const long = await claimed(scene, true)

    expect(short).toEqual(long)
  })
})
