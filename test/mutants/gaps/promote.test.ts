import { describe, expect, it, onTestFinished } from 'vitest'
import { memoryStore } from '../../../src/memory.ts'
import { sqliteStore } from '../../../src/sqlite.ts'
import type { Store } from '../../../src/store/store.ts'
import { createWorld, newJob, uuid } from '../../postgres/world.ts'

const START = 1_800_000_000_000

const STORES: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => memoryStore(),
  sqlite: async () => {
    const store = sqliteStore({ file: ':memory:' })
    onTestFinished(() => store.close())
    return store
  },
  postgres: async () => (await createWorld()).open({ migrate: true }),
}

describe('a delayed job', () => {
  it.each(Object.entries(STORES))('stays where it is when one before it is due (%s)', async (_name, open) => {
    const store = await open()
    const [soon, later] = [newJob({ delayMs: 1_000 }), newJob({ delayMs: 1_001 })]
    await store.insert({ jobs: [soon, later], now: START })

    const { jobs, nextDueAt } = await store.claim({
      sources: [{ space: 'acme', queue: 'mail', limit: 10 }],
      limit: 10,
      workerId: 'w',
      token: uuid(),
      leaseMs: 30_000,
      now: START + 1_000,
    })

    expect(jobs.map(({ id }) => id)).toEqual([soon.id])
    expect(nextDueAt).toBe(START + 1_001)
    const { jobs: left } = await store.get({ space: 'acme', ids: [later.id] })
    expect(left[0]?.state).toBe('delayed')
  })
})
