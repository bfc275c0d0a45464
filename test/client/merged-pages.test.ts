/** Lists over several queues, of jobs that came alone and of jobs that came by the dozen in one moment. */
import { describe, expect, it } from 'vitest'
import { type ListOptions, type NewJob, type Skep, type Store, systemRuntime } from '../../src/index.ts'
import { type Random, seededRandom } from '../../src/testing/random.ts'
import { openSkep, openStore, STORES } from './support/stores.ts'

const QUEUES = ['a', 'ab', 'b', 'mail', 'mail.bounce', 'z']
const MOMENTS = 6
/** How many jobs of a queue have one moment. */
const AMOUNTS = [0, 0, 1, 2, 9, 40]
const HOUR_MS = 3_600_000

type State = 'delayed' | 'cancelled'

interface Made {
  readonly id: string
  readonly queue: string
  readonly at: number
}

/** Jobs in both states, by their moments: delayed ones will be due then, the others ended then. */
async function fill(
  store: Store,
  skep: Skep,
  random: Random,
): Promise<Readonly<Record<State, readonly Made[]>>> {
  await skep.ready()
  const { space } = skep
  const { uuid } = systemRuntime()
  const now = Date.now()
  const made: Record<State, Made[]> = { delayed: [], cancelled: [] }
  for (let moment = 0; moment < MOMENTS; moment++) {
    for (const queue of QUEUES) {
      for (const state of ['delayed', 'cancelled'] as const) {
        const at = state === 'delayed' ? now + HOUR_MS + moment : now - 60_000 + moment
        const ids = Array.from({ length: random.pick(AMOUNTS) }, () => uuid())
        if (ids.length === 0) continue
        await store.insert({ jobs: ids.map((id) => laterJob(space, queue, id, now + HOUR_MS + moment)), now })
        if (state === 'cancelled') {
          const target = { ids }
          await store.change({ action: 'cancel', space, target, failure: null, keepMs: HOUR_MS, now: at })
        }
        made[state].push(...ids.map((id) => ({ id, queue, at })))
      }
    }
  }
  return made
}

function laterJob(space: string, queue: string, id: string, runAt: number): NewJob {
  return {
    id,
    space,
    queue,
    payload: '{"to":"ada"}',
    headers: null,
    priority: 0,
    delayMs: 0,
    runAt,
    unique: null,
    overrides: null,
    lane: null,
    strict: false,
    cost: 1,
    member: null,
  }
}

/** As a list over all queues has them. */
function inOrder(made: readonly Made[], state: State): string[] {
  const direction = state === 'cancelled' ? -1 : 1
  const keyOf = ({ at, queue, id }: Made): string => `${at} ${queue}\0${id}`
  return made.toSorted((a, b) => direction * (keyOf(a) < keyOf(b) ? -1 : 1)).map(({ id }) => id)
}

async function pagesOf(
  skep: Skep,
  query: string,
  limit: number,
  after: (shown: readonly string[]) => Promise<unknown> = async () => {},
  options: ListOptions = {},
): Promise<{ readonly ids: string[]; readonly sizes: number[] }> {
  const ids: string[] = []
  const sizes: number[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await skep.jobs.list({ ...options, query, limit, ...(cursor !== undefined && { cursor }) })
    const shown = page.jobs.map(({ id }) => id)
    ids.push(...shown)
    sizes.push(shown.length)
    await after(shown)
    cursor = page.cursor
  }
  return { ids, sizes }
}

describe.each(STORES)('pages over several queues in %s', (name) => {
  it.each([1, 2, 3])('have every job once and in order, whatever their size, seed %d', async (seed) => {
    const store = await openStore(name)
    const skep = openSkep(store)
    const made = await fill(store, skep, seededRandom(seed))

    for (const state of ['cancelled', 'delayed'] as const) {
      const expected = inOrder(made[state], state)
      for (const limit of [7, 20, 50, 200]) {
        const { ids, sizes } = await pagesOf(skep, `state:${state}`, limit)
        expect(ids, `${state}, ${limit}`).toEqual(expected)
        // All are full but the last, which has something.
        expect(sizes.slice(0, -1).every((size) => size === limit)).toBe(true)
        expect(sizes.at(-1)).toBeGreaterThan(0)
      }
      expect((await pagesOf(skep, `state:${state} payload.to:ada`, 33)).ids).toEqual(expected)
      const middle = made[state][Math.floor(made[state].length / 2)] as Made
      const since = `since:${new Date(middle.at).toISOString()}`
      const later = made[state].filter(({ at }) => at >= middle.at)
      expect((await pagesOf(skep, `state:${state} ${since}`, 20)).ids).toEqual(inOrder(later, state))
    }
  })

  it('have every job once although those that were shown are removed', async () => {
    const store = await openStore(name)
    const skep = openSkep(store)
    const { cancelled } = await fill(store, skep, seededRandom(4))

    const { ids } = await pagesOf(skep, 'state:cancelled', 20, (shown) => skep.jobs.remove(shown))

    expect(ids).toEqual(inOrder(cancelled, 'cancelled'))
  })

  it('end before the job with which they would exceed their bytes, and have at least one', async () => {
    const store = await openStore(name)
    const skep = openSkep(store)
    const made = await fill(store, skep, seededRandom(6))
    // Each job has a payload of 12 bytes, cancelled ones also a failure.
    const options = { pageBytes: 125 }
    const some = made.delayed.slice(0, 25).map(({ id }) => id)

    for (const state of ['cancelled', 'delayed'] as const) {
      const { ids, sizes } = await pagesOf(skep, `state:${state}`, 20, undefined, options)
      expect(ids).toEqual(inOrder(made[state], state))
      expect(Math.max(...sizes)).toBeLessThanOrEqual(10)
      const { jobs } = await skep.jobs.list({ query: `state:${state}`, pageBytes: 1 })
      expect(jobs.map(({ id }) => id)).toEqual(inOrder(made[state], state).slice(0, 1))
    }
    const byContent = await pagesOf(skep, 'state:delayed payload.to:ada', 20, undefined, options)
    expect(byContent.ids).toEqual(inOrder(made.delayed, 'delayed'))
    const byId = await pagesOf(skep, `id:${some.join(',')}`, 20, undefined, options)
    expect(byId.ids.toSorted()).toEqual(some.toSorted())
    expect(Math.max(...byId.sizes)).toBeLessThanOrEqual(10)
    await expect(skep.jobs.list({ pageBytes: 0 })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  })
})

describe('pages over several queues', () => {
  it('have every job once, one at a time', async () => {
    const store = await openStore('memory')
    const skep = openSkep(store)
    const made = await fill(store, skep, seededRandom(5))

    for (const state of ['cancelled', 'delayed'] as const) {
      for (const limit of [1, 2, 3]) {
        expect((await pagesOf(skep, `state:${state}`, limit)).ids).toEqual(inOrder(made[state], state))
      }
    }
  })
})
