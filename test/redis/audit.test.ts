import { afterEach, describe, expect, it } from 'vitest'
import { groupOf, move, runOf } from '../../src/testing/store/flows/group-samples.ts'
import {
  DAY,
  idOf,
  OTHER_QUEUE,
  QUEUE,
  SPACE,
  START,
  samples,
  tokenOf,
  verdict,
} from '../../src/testing/store/samples.ts'
import type { RuleName } from './audit/say.ts'
import { auditContents } from './audit.ts'
import { numberBytes, queueBytes, readContents } from './contents.ts'
import { fill, JOBS, now, openWorld, type World } from './stocked.ts'

let world: World | null = null
afterEach(async () => {
  await world?.close()
  world = null
})

async function filled(): Promise<World> {
  world = await openWorld()
  await fill(world)
  return world
}

const faultsIn = async ({ client, prefix }: World, isEmpty = false): Promise<string[]> =>
  auditContents(await readContents(client, prefix), { now, isEmpty }).map(
    ({ rule, what }) => `${rule}: ${what}`,
  )

const idBytes = (n: number): Buffer => Buffer.from(idOf(n).replaceAll('-', ''), 'hex')
/** The field of a job: its id and its space. */
const keyBytes = (n: number): Buffer => Buffer.concat([idBytes(n), bytes(SPACE)])
const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

/** The queues have numbers in the order in which they were first named. */
const LANED = queueBytes(1)
const PLAIN = queueBytes(2)
const readyPlace = `${PLAIN}\0${numberBytes(START)}${idBytes(JOBS.ready).toString('latin1')}`

/** What a fault in the script could leave behind, and the rule that has to notice. */
const BREAKS: readonly (readonly [RuleName, string, (world: World) => Promise<unknown>])[] = [
  ['places', 'a job that is in no place', ({ client, key }) => client.zrem(key('ready'), bytes(readyPlace))],
  [
    'places',
    'a job that is in two places',
    ({ client, key }) =>
      client.zadd(
        key('delayed'),
        0,
        bytes(PLAIN + numberBytes(START) + idBytes(JOBS.ready).toString('latin1')),
      ),
  ],
  ['places', 'a place without a record', ({ client, key }) => client.hdel(key('jobs'), keyBytes(JOBS.ready))],
  [
    'places',
    'a lease without a record',
    ({ client, key }) => client.hdel(key('jobs'), keyBytes(JOBS.running)),
  ],
  [
    'places',
    'a job that stands too far behind',
    async ({ client, key }) => {
      await client.zrem(key('ready'), bytes(readyPlace))
      const later = `${PLAIN}\0${numberBytes(START + 1)}${idBytes(JOBS.ready).toString('latin1')}`
      return client.zadd(key('ready'), 0, bytes(later))
    },
  ],
  [
    'finished',
    'a finished job that never goes',
    ({ client, key }) => client.zremrangebyrank(key('expiry'), 0, 0),
  ],
  [
    'finished',
    'a finished job that no list shows',
    ({ client, key }) => client.zremrangebyrank(key('ended'), 0, 0),
  ],
  [
    'finished',
    'the end of a job that is not there',
    ({ client, key }) => client.hdel(key('archive'), keyBytes(JOBS.done)),
  ],
  [
    'counts',
    'a count that drifted',
    ({ client, key }) => client.hincrby(key('counts'), bytes(`${PLAIN}2`), 1),
  ],
  [
    'uniques',
    'a key that nobody let go',
    ({ client, key }) => client.hset(key('uniques'), bytes(`${PLAIN}left`), idBytes(99)),
  ],
  [
    'uniques',
    'a key that somebody else let go',
    ({ client, key }) => client.hdel(key('uniques'), bytes(`${PLAIN}active`)),
  ],
  ['uniques', 'a window without an end', ({ client, key }) => client.del(key('windows'))],
  [
    'uniques',
    'a window without a key',
    ({ client, key }) => client.hdel(key('uniques'), bytes(`${PLAIN}window`)),
  ],
  [
    'leases',
    'a claim that counts too many',
    ({ client, key }) => client.hincrby(key('live'), bytes(`${tokenOf(1)}\0${PLAIN}`), 1),
  ],
  [
    'leases',
    'a lease whose claim is gone',
    ({ client, key }) => client.hdel(key('claims'), bytes(`${tokenOf(1)}\0${PLAIN}`)),
  ],
  ['leases', 'a claim that nobody finds when it is over', ({ client, key }) => client.del(key('leases'))],
  ['leases', 'a claim that no list shows', ({ client, key }) => client.del(key('started'))],
  ['leases', 'a claim that is not of its worker', ({ client, key }) => client.del(key('tasks'))],
  [
    'leases',
    'a lease that ends before its bound',
    async ({ client, key }) => {
      const lease = (await client.hgetBuffer(key('held'), keyBytes(JOBS.running))) as Buffer
      const shorter = Buffer.concat([bytes(numberBytes(START + 1)), lease.subarray(8)])
      return client.hset(key('held'), keyBytes(JOBS.running), shorter)
    },
  ],
  [
    'gone',
    'one that left and is not found',
    ({ client, key }) => client.zremrangebyrank(key('gone:index'), 0, 0),
  ],
  ['gone', 'one that left and is forgotten by half', ({ client, key }) => client.del(key('gone'))],
  ['lines', 'a queue whose room leaks', ({ client, key }) => patch(client, key('lines'), '1', 8, 2)],
  ['lanes', 'a lane whose room leaks', ({ client, key }) => patch(client, key('lanes'), `${LANED}a`, 8, 2)],
  ['lanes', 'a lane that nobody serves', ({ client, key }) => client.del(key('turns'))],
  ['lanes', 'a lane that no range has', ({ client, key }) => client.del(key('slices'))],
  ['lanes', 'a lane that no list shows', ({ client, key }) => client.del(key('busy'))],
  ['lanes', 'a lane that is not there', ({ client, key }) => client.hdel(key('lanes'), bytes(`${LANED}b`))],
  [
    'holds',
    'a lane that does not know that it is held',
    ({ client, key }) => client.hdel(key('lanes'), bytes(`${LANED}c`)),
  ],
  [
    'groups',
    'a group that counts a member twice',
    ({ client, key }) => patch(client, key('groups'), `n${groupOf(1)}`, 17, 2),
  ],
  ['groups', 'an outcome that is not there', ({ client, key }) => client.del(key('outcomes'))],
  ['groups', 'a member that is not known', ({ client, key }) => client.del(key('members'))],
  [
    'groups',
    'a member that is over',
    ({ client, key }) =>
      client.hset(key('members'), bytes(`${groupOf(1)}\0\0\0\0`), bytes('j0123456789abcdef')),
  ],
  [
    'groups',
    'an open group that nobody looks after',
    ({ client, key }) => client.zrem(key('runs:index'), `o${groupOf(1)}`),
  ],
  [
    'runs',
    'a run that is not found',
    ({ client, key }) => client.zrem(key('runs:index'), `x${SPACE}\0user:62\0${runOf(1)}`),
  ],
  [
    'runs',
    'a name that leads to no run',
    ({ client, key }) => client.hdel(key('runs'), bytes(`${SPACE}\0${runOf(1)}`)),
  ],
  ['notes', 'a line that is not there', ({ client, key }) => client.del(key('lines:log'))],
  ['notes', 'notes that stay for ever', ({ client, key }) => client.del(key('notes:end'))],
  [
    'records',
    'a record that no list shows',
    ({ client, key }) => client.zremrangebyrank(key('records:index'), 0, 0),
  ],
  ['records', 'a record that is listed and not there', ({ client, key }) => client.del(key('records'))],
  ['records', 'a record that never goes', ({ client, key }) => client.del(key('records:end'))],
  [
    'records',
    'the end of a record that was put off',
    ({ client, key }) => client.zadd(key('records:end'), 0, bytes(`${numberBytes(START)}${SPACE}\0token\0a`)),
  ],
  ['schedules', 'a schedule that never fires', ({ client, key }) => client.zremrangebyrank(key('due'), 0, 0)],
  ['schedules', 'a slot of no schedule', ({ client, key }) => client.del(key('schedules'))],
  ['names', 'a number without a name', ({ client, key }) => client.hdel(key('names'), bytes('\x002'))],
]

/** Writes another number into a value, at a place. */
async function patch(
  client: World['client'],
  key: string,
  field: string,
  at: number,
  value: number,
): Promise<unknown> {
  const stored = (await client.hgetBuffer(key, bytes(field))) as Buffer
  stored.writeDoubleBE(value, at)
  return client.hset(key, bytes(field), stored)
}

describe('The audit of the keys of Redis', () => {
  it('finds nothing wrong with what the store wrote', async () => {
    const all = await filled()

    expect(await faultsIn(all)).toEqual([])
    expect((await readContents(all.client, all.prefix)).hashes.get('jobs')?.size).toBe(10)
  })

  it.each(BREAKS)('says of %s: %s', async (rule, _what, damage) => {
    const all = await filled()

    await damage(all)

    expect((await faultsIn(all)).filter((fault) => fault.startsWith(`${rule}: `))).not.toEqual([])
  })

  it('notices what is left over, and nothing is once all jobs are gone', async () => {
    const all = await filled()
    const { store } = all
    const later = START + 30 * DAY

    expect((await faultsIn(all, true)).some((fault) => fault.startsWith('left over: jobs'))).toBe(true)
    const [held, laned] = [
      { space: SPACE, id: idOf(JOBS.running), token: tokenOf(1), verdict: verdict('done', { keepMs: null }) },
      {
        space: SPACE,
        id: idOf(JOBS.laneRunning),
        token: tokenOf(2),
        verdict: verdict('done', { keepMs: null }),
      },
    ]
    await store.settle({ settlements: [held, laned], now })
    await store.tell({ space: SPACE, group: groupOf(2), n: 0, result: null, now })
    await store.moveRuns({ moves: [move(1, 1, { status: 'done', keepMs: 0 })], now })
    for (const n of Object.values(JOBS)) await remove(n)
    // What the groups enqueued.
    await remove(1_000)
    const hold = { kind: 'pause', space: SPACE, queue: OTHER_QUEUE, lane: 'c' } as const
    await store.release({ holds: [hold], now })
    // Whoever asks for work finds that these lanes have none.
    const sources = [{ space: SPACE, queue: OTHER_QUEUE, limit: 1 }]
    await store.claim({ sources, limit: 1, workerId: 'worker-a', token: tokenOf(3), leaseMs: 1, now })
    for (let n = 0; n < 3; n++) await store.prune({ limit: 1_000, now: later })

    expect(await faultsIn(all, true)).toEqual([])

    async function remove(n: number): Promise<void> {
      const call = { action: 'remove', space: SPACE, failure: null, keepMs: 0, now } as const
      await store.change({ ...call, target: { ids: [idOf(n)] } })
    }
  })

  it('finds nothing wrong after jobs of several claims and queues have ended in one call', async () => {
    const all = await openWorld()
    world = all
    const { store } = all
    const jobs = [...samples(20), ...samples(20, { queue: OTHER_QUEUE }, 21)]
    await store.insert({ jobs, now })
    const sources = [QUEUE, OTHER_QUEUE].map((queue) => ({ space: SPACE, queue, limit: 7 }))
    const held: { readonly space: string; readonly id: string; readonly token: string }[] = []
    for (const token of [1, 2].map(tokenOf)) {
      const call = { sources, limit: 14, workerId: 'worker-a', token, leaseMs: DAY, now }
      held.push(...(await store.claim(call)).jobs)
    }

    const done = verdict('done', { keepMs: null })
    const settlements = held.slice(5).map(({ space, id, token }) => ({ space, id, token, verdict: done }))
    await store.settle({ settlements, now })

    expect(held).toHaveLength(28)
    expect(await faultsIn(all)).toEqual([])
  })

  it('finds nothing wrong after the store has lost the leases of a worker', async () => {
    const all = await filled()
    const { store } = all
    const sources = [QUEUE, OTHER_QUEUE].map((queue) => ({ space: SPACE, queue, limit: 10 }))

    const { leases } = await store.expired({ sources, workerIds: ['worker-a'], limit: 10, now })
    const lost = verdict('ready', { count: 'lost' })
    await store.settle({
      settlements: leases.map(({ space, id, token }) => ({ space, id, token, verdict: lost, rescue: true })),
      now,
    })

    expect(leases).toHaveLength(2)
    expect(await faultsIn(all)).toEqual([])
  })
})
