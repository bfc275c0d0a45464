import { describe, expect, it, onTestFinished } from 'vitest'
import type { NewJob } from '../../../src/core/jobs/job.ts'
import { memoryStore } from '../../../src/memory.ts'
import { systemRuntime } from '../../../src/runtime/runtime.ts'
import { sqliteStore } from '../../../src/sqlite.ts'
import type { Store } from '../../../src/store/store.ts'

const { uuid } = systemRuntime()

function uniqueJob(space: string, queue: string, key: string): NewJob {
  return {
    id: uuid(),
    space,
    queue,
    payload: '{}',
    headers: null,
    priority: 0,
    delayMs: 0,
    runAt: null,
    unique: { key, scope: 'active', windowMs: 0, onConflict: 'ignore' },
    overrides: null,
    lane: null,
    strict: false,
    cost: 1,
    member: null,
  }
}

// Each reads the same as the first when its parts are put together in one way or another.
const ALIKE: readonly (readonly [space: string, queue: string, key: string])[] = [
  ['a', 'b', 'c.d'],
  ['a', 'b.c', 'd'],
  ['a.b', 'c', 'd'],
  ['a', 'bc', '.d'],
  ['ab', 'c', '.d'],
  ['a', 'b', 'c'],
  ['a', 'b', '"c"'],
  ['a', 'b', 'c","d'],
]

describe('a unique key', () => {
  const stores: Record<string, () => Store> = {
    memory: memoryStore,
    sqlite: () => sqliteStore({ file: ':memory:' }),
  }
  it.each(Object.entries(stores))('is its space, queue and key, each by itself (%s)', async (_name, open) => {
    const store = open()
    onTestFinished(() => store.close())
    await store.migrate()
    const { results } = await store.insert({ jobs: ALIKE.map((parts) => uniqueJob(...parts)) })
    expect(results.map(({ status }) => status)).toEqual(ALIKE.map(() => 'ok'))
  })
})
