import { expect, it } from 'vitest'
import type { NewJob } from '../../src/core/jobs/job.ts'
import { memoryStore } from '../../src/memory.ts'
import type { Store } from '../../src/store/store.ts'
import { type Random, seededRandom } from '../../src/testing/random.ts'
import { createWorld, newJobs, uuid, verdict } from './world.ts'

const SEEDS = 6
const STEPS = 25

/** The lanes and ids that a claim gives, in its order; what was given ends at once. */
async function claim(store: Store, limit: number, now: number): Promise<readonly string[]> {
  const call = { limit, workerId: 'worker', token: uuid(), leaseMs: 60_000, now }
  const { jobs } = await store.claim({ ...call, sources: [{ space: 'acme', queue: 'mail', limit }] })
  const settlements = jobs.map(({ space, id, token }) => ({
    space,
    id,
    token,
    verdict: verdict({ keepMs: null }),
  }))
  if (settlements.length > 0) await store.settle({ settlements, now })
  return jobs.map(({ id, lane }) => `${lane} ${id}`)
}

/** Mostly a deep lane or two, and others that come with a few jobs and go. */
function someJobs(random: Random, step: number): NewJob[] {
  const lanes = Array.from({ length: random.int(0, 4) }, (_, n) => ({
    lane: random.int(1, 3) === 1 ? `deep-${random.int(1, 3)}` : `new-${step}-${n}`,
    count: random.pick([1, 1, 1, 2, 7, 80]),
  }))
  return lanes.flatMap(({ lane, count }) => newJobs(count, { lane }))
}

// The memory store takes jobs one by one. A statement that takes hundreds has to come to the same, whatever the sizes of
// claims, and so of portions, the weights of lanes, and how many of them there are.
it('takes portions of deep lanes and of lanes that just came, in the order of the rules', async () => {
  const world = await createWorld()
  const owner = await world.open({ migrate: true })
  await owner.close()
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = seededRandom(seed)
    const stores = [memoryStore(), await world.open()]
    await world.tamper('truncate skep.jobs, skep.lanes, skep.lines, skep.news, skep.limits')
    const all = <T>(use: (store: Store) => Promise<T>): Promise<T[]> => Promise.all(stores.map(use))
    let now = 1_000_000
    const limits = [
      { target: { queue: 'mail' }, by: 'hand' as const, fields: { weight: random.pick([1, 1, 3]) } },
      {
        target: { queue: 'mail', lane: 'deep-2' },
        by: 'hand' as const,
        fields: { weight: random.int(1, 7) },
      },
    ]
    await all((store) => store.setLimits({ space: 'acme', limits, now }))
    const first = newJobs(700, { lane: 'deep-1' })
    await all((store) => store.insert({ jobs: first, now }))

    for (let step = 0; step < STEPS; step++) {
      now += random.int(1, 5)
      const jobs = someJobs(random, step)
      if (jobs.length > 0) await all((store) => store.insert({ jobs, now }))
      const limit = random.pick([1, 2, 8, 63, 64, 100, 127, 128, 200, 500])
      const [wanted, taken] = await all((store) => claim(store, limit, now))
      expect({ seed, step, limit, taken }).toEqual({ seed, step, limit, taken: wanted })
    }
    await stores[1]?.close()
  }
}, 60_000)
