/** Many lanes, many ranges: whatever is claimed, every store takes the same jobs in the same order as the memory store. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClaimedJob } from '../../src/core/jobs/job.ts'
import { KEYS, type KeyRange, SLICES } from '../../src/core/lanes/key-range.ts'
import type { LimitFields } from '../../src/core/lanes/limit-fields.ts'
import { memoryStore } from '../../src/memory.ts'
import { postgresStore } from '../../src/postgres.ts'
import { redisStore } from '../../src/redis.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { type Random, seededRandom } from '../../src/testing/random.ts'
import { QUEUE, SPACE, START, sample, tokenOf, verdict } from '../../src/testing/store/samples.ts'
import { auditRedis } from '../redis/audit.ts'
import { type FreshDatabase, freshDatabase, redisUrlVariable } from '../servers/index.ts'

const SEEDS = Number(process.env['SKEP_SEEDS'] ?? 3)
const FIRST_SEED = Number(process.env['SKEP_SEED'] ?? 1)
const STEPS = 40

let database: FreshDatabase
const client = new Redis(process.env[redisUrlVariable] as string, { lazyConnect: true })

beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(async () => {
  client.disconnect()
  await database.drop()
})

interface Opened {
  readonly store: Store
  readonly audit?: (now: number) => Promise<void>
}

const STORES: Readonly<Record<string, (seed: number) => Promise<Opened>>> = {
  sqlite: async () => ({ store: sqliteStore({ file: ':memory:' }) }),
  redis: async (seed) => {
    const prefix = `key-ranges-${process.pid}-${seed}`
    return {
      store: redisStore({ client, prefix, unsafe: { lateFsync: true } }),
      audit: (now) => auditRedis(client, prefix, { now }),
    }
  },
  postgres: async (seed) => ({
    store: postgresStore({ url: database.url, schema: `ranges_${seed}`, migrate: true, listen: false }),
  }),
}

function drawKeys(random: Random): { readonly keys?: KeyRange } {
  if (random.chance(0.25)) return {}
  const first = random.int(0, SLICES - 1)
  const end = random.int(first + 1, Math.min(SLICES, first + random.pick([1, 2, 4, 16])))
  return { keys: { from: (first * KEYS) / SLICES, to: (end * KEYS) / SLICES } }
}

function drawFields(random: Random): LimitFields {
  return {
    ...(random.chance(0.3) ? { laneConcurrency: random.pick([1, 3, null]) } : {}),
    ...(random.chance(0.2) ? { concurrency: random.pick([20, 60, null]) } : {}),
    ...(random.chance(0.2) ? { laneRate: random.pick([{ limit: 30, perMs: 1_000, burst: 5 }, null]) } : {}),
    ...(random.chance(0.2) ? { weight: random.int(1, 3) } : {}),
  }
}

/** The lanes and ids of what was claimed: what a failure should show. */
const shown = (jobs: readonly ClaimedJob[]): string[] =>
  jobs.map(({ lane, id }) => `${lane ?? '-'} ${id.slice(-4)}`)

async function compare({ store, audit }: Opened, seed: number): Promise<void> {
  const model = memoryStore()
  await store.ready()
  const random = seededRandom(seed)
  const isStrict = random.chance(0.2)
  const both = async <T>(ask: (one: Store) => Promise<T>): Promise<readonly [T, T]> => [
    await ask(store),
    await ask(model),
  ]
  const lanes = Array.from({ length: random.pick([5, 40, 150]) }, (_, n) => `lane ${n}`)
  let held: readonly ClaimedJob[] = []
  let now = START
  let jobs = 0
  const limit = (fields: LimitFields) =>
    both((one) =>
      one.setLimits({ space: SPACE, limits: [{ target: { queue: QUEUE }, by: 'hand', fields }], now }),
    )
  if (isStrict) await limit({ strict: true })

  for (let step = 0; step < STEPS; step++) {
    now += random.pick([0, 1, 100, 5_000])
    const what = random.next()
    if (what < 0.3 || step === 0) {
      // A few lanes have much, many have little.
      const fresh = Array.from({ length: random.pick([1, 30, 300]) }, () => {
        const lane = random.chance(0.05)
          ? null
          : random.chance(0.4)
            ? (lanes[0] as string)
            : random.pick(lanes)
        const cost = random.chance(0.1) ? 3 : 1
        return sample(++jobs, { lane, cost: isStrict ? 1 : cost, strict: isStrict })
      })
      await both((one) => one.insert({ jobs: fresh, now }))
    } else if (what < 0.38 && !isStrict) {
      const fields = drawFields(random)
      if (Object.keys(fields).length > 0) await limit(fields)
    } else if (what < 0.5 && held.length > 0) {
      const some = held.filter(() => random.chance(0.7))
      held = held.filter((job) => !some.includes(job))
      const settlements = some.map(({ space, id, token }) => ({
        space,
        id,
        token,
        verdict: random.chance(0.2) ? verdict('ready') : verdict('done', { keepMs: null }),
      }))
      await both((one) => one.settle({ settlements, now }))
    } else {
      const sources = Array.from({ length: random.pick([1, 1, 2]) }, () => ({
        space: SPACE,
        queue: QUEUE,
        limit: random.pick([1, 3, 10, 70, 200]),
        ...drawKeys(random),
      }))
      const call = { sources, limit: 300, workerId: 'w', token: tokenOf(step + 1), leaseMs: 3_600_000, now }
      const [real, expected] = await both((one) => one.claim(call))
      expect(shown(real.jobs), `seed ${seed}, step ${step}: ${JSON.stringify(sources)}`).toEqual(
        shown(expected.jobs),
      )
      held = [...held, ...expected.jobs]
    }
    if (step % 10 === 9) await audit?.(now)
  }
  await both((one) => one.close())
}

describe.each(Object.entries(STORES))('Claims of ranges from %s', (_name, open) => {
  it(`take what the memory store takes, with seeds ${FIRST_SEED} to ${FIRST_SEED + SEEDS - 1}`, async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) await compare(await open(seed), seed)
  }, 300_000)
})
