import { describe, expect, it } from 'vitest'
import { chained, nextInChain } from '../../src/core/flows/chains.ts'
import type { ClaimedJob } from '../../src/core/jobs/job.ts'
import type { Store } from '../../src/store/store.ts'
import { membersOf, newGroup } from './flow-samples.ts'
import { createWorld, newJob, take, uuid, verdict, type World } from './world.ts'

const openOf = async (store: Store, group: string, from = 0, limit = 100): Promise<string[]> =>
  (await store.openMembers({ space: 'acme', group, from, limit })).members.map(({ id }) => id)

/** One for each row of members: how many it names. */
const rowsOf = async ({ sql }: World): Promise<number[]> =>
  (await sql('select cardinality(ids) as n from skep.members order by 1')).map((row) => Number(row['n']))

describe('the members of a group', () => {
  it('are one row, and are found by number as long as they have not ended', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    const [group, other] = [newGroup(30, { keepMs: 0 }), newGroup(2, { keepMs: 0 })]
    const members = membersOf(group)
    await store.insert({ jobs: [...members, ...membersOf(other)], groups: [group, other] })
    const ids = members.map(({ id }) => id)

    expect(await rowsOf(world)).toEqual([2, 30])
    expect(await openOf(store, group.id, 5, 10)).toEqual(ids.slice(5, 15))
    const jobs = await take(store, 100)
    expect(await openOf(store, group.id)).toEqual(ids)
    const settlements = jobs.map(({ space, id, token }) => ({ space, id, token, verdict: verdict() }))
    await store.settle({ settlements: settlements.filter(({ id }) => id !== ids[7]) })
    expect(await openOf(store, group.id)).toEqual([ids[7]])

    await store.prune({ limit: 100, now: Date.now() + 1_000 })
    expect(await rowsOf(world)).toEqual([30])
  })

  it('are named before they are there if they come one after the other, and else when they come', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    const group = newGroup(1)
    const member = { group: group.id, n: 0 }
    const chain = [newJob(), newJob(), newJob()]
    await store.insert({ jobs: [chained(chain, member)], groups: [group] })
    const handOn = async (enqueue: (job: ClaimedJob) => ReturnType<typeof newJob>): Promise<void> => {
      const [job] = await take(store, 1)
      const { space, id, token } = job!
      const settlement = {
        space,
        id,
        token,
        verdict: verdict({ keepMs: null }),
        enqueue: [enqueue(job!)],
        handsOn: true,
      }
      expect((await store.settle({ settlements: [settlement] })).results[0]?.status).toBe('ok')
    }

    await handOn((job) => nextInChain(job, '1')!)
    expect(await openOf(store, group.id)).toEqual([chain[1]!.id])
    await handOn((job) => nextInChain(job, '1')!)
    expect(await openOf(store, group.id)).toEqual([chain[2]!.id])
    expect(await rowsOf(world)).toEqual([3])
    const stranger = newJob({ member })
    await handOn(() => stranger)
    expect(await openOf(store, group.id)).toEqual([stranger.id])
    expect(await rowsOf(world)).toEqual([1, 3])
  })

  it('come with the settlements that are accepted, and not with those that are refused', async () => {
    const world = await createWorld()
    const store = await world.open({ migrate: true, listen: false })
    const group = newGroup(3)
    await store.insert({ jobs: membersOf(group), groups: [group] })
    const jobs = await take(store, 3)
    const next = jobs.map((_, n) =>
      newJob({ member: { group: group.id, n }, headers: n === 2 ? '{"a":"b"}' : null }),
    )
    const settlements = jobs.map(({ space, id, token }, n) => ({
      space,
      id,
      token: n === 1 ? uuid() : token,
      verdict: verdict({ keepMs: null }),
      enqueue: [next[n]!],
      handsOn: true,
    }))

    const { results } = await store.settle({ settlements })

    expect(results.map(({ status }) => status)).toEqual(['ok', 'refused', 'ok'])
    expect(await openOf(store, group.id)).toEqual([next[0]!.id, jobs[1]!.id, next[2]!.id])
    const { jobs: read } = await store.get({ space: 'acme', ids: next.map(({ id }) => id) })
    expect(read.map((job) => job && [job.headers, job.member?.n])).toEqual([
      [null, 0],
      null,
      ['{"a":"b"}', 2],
    ])
  })
})
