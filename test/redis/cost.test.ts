import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { NewJob } from '../../src/core/jobs/job.ts'
import { type KeyRange, parseKeyRange } from '../../src/core/lanes/key-range.ts'
import { redisStore } from '../../src/redis.ts'
import type { Store } from '../../src/store/store.ts'
import { group, groupOf, members } from '../../src/testing/store/flows/group-samples.ts'
import {
  DAY,
  HOUR,
  idOf,
  MINUTE,
  OTHER_QUEUE,
  OTHER_SPACE,
  QUEUE,
  SPACE,
  START,
  sample,
  tokenOf,
  unique,
  verdict,
} from '../../src/testing/store/samples.ts'
import { type RedisServer, startRedis } from '../servers/index.ts'

// W1, W2: what an operation costs does not depend on how many jobs there are. What is counted is commands, which no
// other load of this machine can change.

const FEW = 100
const MANY = 20_000
const AT_ONCE = 5_000
const LANES = 10
/** Where jobs of a kind begin. */
const FROM = {
  ready: 1,
  laned: 30_000,
  delayed: 60_000,
  kept: 90_000,
  gone: 120_000,
  members: 150_000,
  fresh: 200_000,
}

const now = START + HOUR
let server: RedisServer
let client: Redis

beforeAll(async () => {
  const { redis, reason } = await startRedis({ appendfsync: 'everysec' })
  if (!redis) throw new Error(`There is no Redis: ${reason}`)
  server = redis
  client = new Redis(redis.url)
}, 300_000)
afterAll(async () => {
  client?.disconnect()
  await server?.stop()
})

/** What is asked of a store that has `size` jobs of each kind, and what is held when it is asked. */
const OPERATIONS: readonly (readonly [string, (store: Store) => Promise<unknown>])[] = [
  ['insert', (store) => store.insert({ jobs: [sample(FROM.fresh)], now })],
  ['insert again', (store) => store.insert({ jobs: [sample(FROM.fresh + 1)], again: true, now })],
  ['insert delayed', (store) => store.insert({ jobs: [sample(FROM.fresh + 2, { delayMs: HOUR })], now })],
  [
    'insert unique',
    (store) => store.insert({ jobs: [sample(FROM.fresh + 3, { unique: unique('new') })], now }),
  ],
  [
    'insert a duplicate',
    (store) => store.insert({ jobs: [sample(FROM.fresh + 4, { unique: unique('new') })], now }),
  ],
  ['insert into a lane', (store) => store.insert({ jobs: [inLane(FROM.fresh + 5)], now })],
  ['claim', (store) => claim(store, 100)],
  ['claim by id', (store) => claim(store, 101, { ids: [idOf(FROM.ready + 50)] })],
  ['claim of lanes', (store) => claim(store, 102, { queue: OTHER_QUEUE })],
  [
    'claim of a range of lanes',
    (store) => claim(store, 106, { queue: OTHER_QUEUE, keys: parseKeyRange('-80') }),
  ],
  // The backlog of one space is nothing to another.
  ['insert in another space', (store) => store.insert({ jobs: [sample(FROM.fresh + 6, ELSEWHERE)], now })],
  ['claim in another space', (store) => claim(store, 107, ELSEWHERE)],
  ['claim of nothing', (store) => claim(store, 103, { queue: 'empty' })],
  ['extend', (store) => store.extend({ leases: [lease(0)], leaseMs: HOUR, now })],
  [
    'settle and go',
    (store) =>
      store.settle({ settlements: [{ ...lease(0), verdict: verdict('done', { keepMs: null }) }], now }),
  ],
  [
    'settle and stay',
    (store) => store.settle({ settlements: [{ ...lease(1), verdict: verdict('done') }], now }),
  ],
  [
    'settle and retry',
    (store) => store.settle({ settlements: [{ ...lease(2), verdict: verdict('delayed') }], now }),
  ],
  ['settle and claim', (store) => settleAndClaim(store)],
  [
    'settle again',
    (store) =>
      store.settle({ settlements: [{ ...lease(0), verdict: verdict('done', { keepMs: null }) }], now }),
  ],
  ['settle a member', (store) => settleMember(store)],
  ['expired', (store) => store.expired({ sources: [source()], workerIds: [], limit: 10, now })],
  ['promote', (store) => change(store, 'promote', FROM.delayed)],
  ['prioritize', (store) => change(store, 'prioritize', FROM.ready + 51)],
  ['cancel', (store) => change(store, 'cancel', FROM.ready + 52)],
  ['remove', (store) => change(store, 'remove', FROM.ready + 53)],
  ['retry', (store) => change(store, 'retry', FROM.kept)],
  ['get', (store) => store.get({ space: SPACE, ids: [idOf(FROM.ready + 54), idOf(FROM.kept + 1)] })],
  ...(['ready', 'delayed', 'running', 'done'] as const).map(
    (state) =>
      [
        `list ${state}`,
        (store: Store) => store.list({ space: SPACE, queue: QUEUE, state, limit: 5, cursor: null }),
      ] as const,
  ),
  ['counts', (store) => store.counts({ space: SPACE })],
  ['lanes', (store) => store.lanes({ space: SPACE, queue: OTHER_QUEUE, limit: 10, now })],
  ['hold', (store) => store.hold({ holds: [{ ...HELD, reason: null, by: null, forMs: null }], now })],
  ['release', (store) => store.release({ holds: [HELD], now })],
  [
    'limit',
    (store) =>
      store.setLimits({
        space: SPACE,
        limits: [{ target: { queue: OTHER_QUEUE }, by: 'hand', fields: { concurrency: 50 } }],
        now,
      }),
  ],
  [
    'put a record',
    (store) =>
      store.putRecords({ ...PLACE, records: [{ ...recordOf(50), expect: 'one', revision: 'two' }], now }),
  ],
  ['get a record', (store) => store.getRecords({ ...PLACE, ids: [recordOf(51).id, 'none'], now })],
  ['list records', (store) => store.listRecords({ ...PLACE, from: recordOf(20).id, limit: 5, now })],
  ['list records backwards', (store) => store.listRecords({ ...PLACE, backwards: true, limit: 5, now })],
  ['remove a record', (store) => store.removeRecords({ ...PLACE, ids: [recordOf(52).id], now })],
  ['prune', (store) => store.prune({ limit: 10, now })],
  ['prune of some', (store) => pruneSome(store)],
]

const PLACE = { scope: SPACE, kind: 'token' } as const
const recordOf = (n: number) => ({
  id: `id ${String(n).padStart(6, '0')}`,
  body: '{}',
  revision: 'one',
  expiresAt: n % 2 === 0 ? null : START + 2 * DAY,
})
const HELD = { kind: 'pause', space: SPACE, queue: QUEUE, lane: null } as const
const ELSEWHERE = { space: OTHER_SPACE }
const source = (queue: string = QUEUE, space: string = SPACE) => ({ space, queue, limit: 10 })
const inLane = (n: number): NewJob => sample(n, { queue: OTHER_QUEUE, lane: `lane ${n % LANES}` })
/** One of those that the first claim took. */
const lease = (n: number) => ({ space: SPACE, id: idOf(FROM.ready + n), token: tokenOf(100) })

function claim(
  store: Store,
  token: number,
  {
    queue = QUEUE,
    space = SPACE,
    ids = undefined as string[] | undefined,
    keys = undefined as KeyRange | undefined,
  } = {},
): Promise<unknown> {
  const call = {
    sources: [{ ...source(queue, space), ...(keys && { keys }) }],
    limit: 10,
    workerId: 'worker-a',
    token: tokenOf(token),
    leaseMs: HOUR,
    now,
  }
  return store.claim({ ...call, ...(ids && { ids }) })
}

function settleAndClaim(store: Store): Promise<unknown> {
  const settlements = [3, 4, 5].map((n) => ({ ...lease(n), verdict: verdict('done', { keepMs: null }) }))
  const next = { sources: [source()], limit: 3, workerId: 'worker-a', token: tokenOf(104), leaseMs: HOUR }
  return store.settle({ settlements, claim: next, now })
}

/** Of finished jobs, after those that were only remembered. */
async function pruneSome(store: Store): Promise<unknown> {
  for (let n = 0; n < 2; n++) await store.prune({ limit: 10, now: START + DAY - 1 })
  await client.config('RESETSTAT')
  return store.prune({ limit: 10, now: START + DAY })
}

async function settleMember(store: Store): Promise<unknown> {
  const id = idOf(FROM.members)
  await claim(store, 105, { ids: [id] })
  return store.settle({
    settlements: [{ space: SPACE, id, token: tokenOf(105), verdict: verdict('done') }],
    now,
  })
}

function change(
  store: Store,
  action: 'promote' | 'prioritize' | 'cancel' | 'remove' | 'retry',
  n: number,
): Promise<unknown> {
  const call = { action, space: SPACE, failure: null, keepMs: DAY, priority: 3, now }
  return store.change({ ...call, target: { ids: [idOf(n)] } })
}

async function openStore(size: number): Promise<Store> {
  const store = redisStore({ url: server.url, prefix: `cost-${size}`, unsafe: { lateFsync: true } })
  await store.ready()
  return store
}

/** A store with so many jobs of each kind. It is opened anew, so that it has learnt nothing from what was done before. */
async function filled(size: number): Promise<Store> {
  const store = await openStore(size)
  const limits = { laneConcurrency: 5 }
  await store.setLimits({
    space: SPACE,
    limits: [{ target: { queue: OTHER_QUEUE }, by: 'code', fields: limits }],
    now: START,
  })
  const insert = async (kind: keyof typeof FROM, make: (n: number) => NewJob): Promise<void> => {
    for (let at = 0; at < size; at += AT_ONCE) {
      const jobs = Array.from({ length: Math.min(AT_ONCE, size - at) }, (_, n) => make(FROM[kind] + at + n))
      await store.insert({ jobs, now: START })
    }
  }
  const end = async (keepMs: number | null, at: number): Promise<void> => {
    for (let from = 0; from < size; from += 1_000) {
      const token = tokenOf(1_000 + from + (keepMs === null ? 500 : 0))
      const call = {
        sources: [{ ...source(), limit: 1_000 }],
        limit: 1_000,
        workerId: 'worker-b',
        token,
        leaseMs: HOUR,
      }
      const { jobs } = await store.claim({ ...call, now: at })
      await store.settle({
        settlements: jobs.map(({ space, id }) => ({
          space,
          id,
          token,
          verdict: verdict('done', { keepMs }),
        })),
        now: at,
      })
    }
  }
  for (let at = 0; at < size; at += AT_ONCE) {
    const records = Array.from({ length: Math.min(AT_ONCE, size - at) }, (_, n) => recordOf(at + n))
    await store.putRecords({ ...PLACE, records, now: START })
  }
  await insert('kept', (n) => sample(n))
  await end(DAY, START)
  await insert('gone', (n) => sample(n))
  await end(null, now)
  await insert('ready', (n) => sample(n))
  await insert('delayed', (n) => sample(n, { delayMs: DAY }))
  await insert('laned', inLane)
  // Later than the rest, so that nobody takes one by chance.
  const joined = members(Math.min(size, 500), groupOf(1), FROM.members, { delayMs: 2 * MINUTE })
  await store.insert({ jobs: joined, groups: [group(joined.length)], now: START })
  await store.close()
  return openStore(size)
}

/** Calls of each command since the last reset. */
async function calls(): Promise<Record<string, number>> {
  const text = await client.info('commandstats')
  const found = [...text.matchAll(/^cmdstat_([a-z|]+):calls=(\d+)/gm)]
  const own = /^(info|config|auth|hello|client|ping|select)/
  return Object.fromEntries(found.flatMap(([, name = '', n]) => (own.test(name) ? [] : [[name, Number(n)]])))
}

async function measured(size: number): Promise<Record<string, Record<string, number>>> {
  const store = await filled(size)
  const costs: Record<string, Record<string, number>> = {}
  for (const [name, run] of OPERATIONS) {
    await client.config('RESETSTAT')
    await run(store)
    costs[name] = await calls()
  }
  await store.close()
  return costs
}

describe('The Redis store', () => {
  it(`sends as many commands with ${MANY} jobs of each kind as with ${FEW}`, async () => {
    const few = await measured(FEW)
    const many = await measured(MANY)

    expect(many).toEqual(few)
    expect(Object.values(few).every((cost) => (cost.evalsha ?? 0) + (cost.eval ?? 0) >= 1)).toBe(true)
  }, 120_000)

  it('never looks for keys, and never walks through one', async () => {
    const costs = Object.values(await measured(FEW))

    const commands = new Set(costs.flatMap((cost) => Object.keys(cost)))
    expect([...commands].filter((name) => /scan|keys|smembers|sort|flush/.test(name))).toEqual(['hkeys'])
    // Of the names of queues, when all of them are asked for.
    expect(OPERATIONS.map(([name]) => name).filter((_, n) => costs[n]?.hkeys !== undefined)).toEqual([
      'counts',
    ])
  }, 60_000)
})
