import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it } from 'vitest'
import type { HoldTarget } from '../../src/core/lanes/holds.ts'
import { parseKeyRange } from '../../src/core/lanes/key-range.ts'
import type { LimitFields, LimitTarget } from '../../src/store/limits.ts'
import type { Store } from '../../src/store/store.ts'
import {
  claimCall,
  done,
  exitOf,
  freshFile,
  later,
  messageFrom,
  newJob,
  openStore,
  start,
} from './support.ts'

/** Reading all of a table that grows with lanes or jobs, by its name or the letter it has in a statement; or sorting. */
const SLOW = /^SCAN (skep_(lanes|lines|waiting|jobs|archive|limits)|a|w|j)\b|TEMP B-TREE FOR ORDER BY/

const MAIL: HoldTarget = { space: 'acme', queue: 'mail', lane: null }

describe('Several processes on one file', () => {
  it('keep a limit together', async () => {
    const file = freshFile()
    const store = openStore({ file })
    await limit(store, { concurrency: 17, laneConcurrency: 5 })
    await store.insert({ jobs: laned(400, 10) })

    const children = Array.from({ length: 3 }, () => start('drain', file))
    const claimed = (await Promise.all(children.map((child) => messageFrom<string[]>(child)))).flat()

    expect(new Set(claimed).size).toBe(17)
    expect(claimed).toHaveLength(17)
    const { lanes, queue } = await store.lanes({ space: 'acme', queue: 'mail', limit: 100 })
    expect(queue?.running).toBe(17)
    expect(Math.max(...lanes.map(({ running }) => running))).toBeLessThanOrEqual(5)
    await Promise.all(children.map(exitOf))
  }, 60_000)
})

describe('Two handles on one file', () => {
  it('see a hold of the other at their next claim, and its release', async () => {
    const file = freshFile()
    const [one, other] = [openStore({ file }), openStore({ file })]
    await one.insert({ jobs: laned(20, 2) })
    expect((await one.claim(claimCall(1))).jobs).toHaveLength(1)

    for (const target of [MAIL, { ...MAIL, queue: 'm*' }, { ...MAIL, space: null, queue: null }]) {
      await other.hold({ holds: [{ ...target, kind: 'pause', reason: null, by: null, forMs: null }] })
      expect((await one.claim(claimCall(1))).jobs).toEqual([])
      await other.release({ holds: [{ ...target, kind: 'pause' }] })
      expect((await one.claim(claimCall(1))).jobs).toHaveLength(1)
    }
  })

  it('see that a queue is limited since the other said so', async () => {
    const file = freshFile()
    const [one, other] = [openStore({ file }), openStore({ file })]
    await one.insert({ jobs: [newJob(), newJob(), newJob(), newJob()] })
    const { jobs: first } = await one.claim(claimCall(2))

    await limit(other, { concurrency: 3 })

    const { jobs: second } = await one.claim(claimCall(9))
    expect([first.length, second.length]).toEqual([2, 1])
    // These leases began before there was a limit, and their end counts all the same.
    const settlements = first.map(({ space, id, token }) => ({ space, id, token, verdict: done }))
    const { claimed } = await one.settle({ settlements, claim: claimCall(9) })
    expect(claimed?.jobs).toHaveLength(1)
    const { queue } = await other.lanes({ space: 'acme', queue: 'mail', limit: 1 })
    expect(queue?.running).toBe(2)
  })

  it('see a lane of the other that a rolled back transaction did not make', async () => {
    const file = freshFile()
    const store = openStore({ file })
    await store.ready()
    const client = new DatabaseSync(file)
    later(() => client.close())
    client.exec('begin immediate')
    await store.within?.(client).insert({ jobs: laned(3, 3) })
    client.exec('rollback')

    expect((await store.lanes({ space: 'acme', queue: 'mail', limit: 9 })).queue).toBeNull()
    await store.insert({ jobs: laned(4, 2) })
    expect((await store.claim(claimCall(9))).jobs.map(({ lane }) => lane)).toEqual(['0', '1', '0', '1'])
  })
})

describe('Statements about lanes', () => {
  it('search by an index, however many lanes and jobs there are', async () => {
    const client = new DatabaseSync(':memory:')
    later(() => client.close())
    const statements = new Set<string>()
    const recording = new Proxy(client, {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown
        if (typeof value !== 'function') return value
        return (...values: unknown[]) => {
          if (name === 'prepare') statements.add(values[0] as string)
          return value.apply(target, values) as unknown
        }
      },
    })
    const store = openStore({ client: recording })
    await limit(store, {
      laneConcurrency: 3,
      shared: 'api',
      laneRate: { limit: 100, perMs: 1_000, burst: 90 },
    })
    await limit(store, { weight: 2 }, { queue: 'mail', lane: '1' })
    statements.clear()

    await store.insert({ jobs: [...laned(100, 40), newJob({ lane: 'late', delayMs: 1 })] })
    const { jobs } = await store.claim(claimCall(50))
    const settlements = jobs.map(({ space, id, token }) => ({ space, id, token, verdict: done }))
    await store.settle({ settlements, claim: claimCall(50) })
    await store.claim({ ...claimCall(3), ids: jobs.map(({ id }) => id) })
    const ranged = claimCall(3)
    const keys = parseKeyRange('40-80')
    // The first one writes down the slices of all lanes, and the second finds them there.
    await store.claim({ ...ranged, sources: ranged.sources.map((source) => ({ ...source, keys })) })
    const once = [...statements].filter((sql) => /select key from skep_lanes|set slice =/.test(sql))
    for (const sql of once) statements.delete(sql)
    await store.claim({ ...claimCall(3), sources: ranged.sources.map((source) => ({ ...source, keys })) })

    const scans = [...statements].flatMap((sql) => {
      const steps = client.prepare(`explain query plan ${sql}`).all() as { detail: string }[]
      return steps.filter(({ detail }) => SLOW.test(detail)).map(({ detail }) => [detail, sql])
    })
    expect([...statements].filter((sql) => sql.includes('skep_lanes')).length).toBeGreaterThan(4)
    expect(scans).toEqual([])
    const ofSlice = [...statements].filter((sql) => sql.includes('slice = ?'))
    const steps = ofSlice.flatMap((sql) => client.prepare(`explain query plan ${sql}`).all())
    expect(JSON.stringify(steps)).toContain('skep_lanes_slices (q=? AND slice=?')
  })
})

function laned(count: number, lanes: number): ReturnType<typeof newJob>[] {
  return Array.from({ length: count }, (_, n) => newJob({ lane: String(n % lanes) }))
}

async function limit(
  store: Store,
  fields: LimitFields,
  target: LimitTarget = { queue: 'mail' },
): Promise<void> {
  await store.setLimits({ space: 'acme', limits: [{ target, by: 'hand', fields }] })
}
