import { expect, it } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { codeOf, countOf, ioredis, newJobs, openStore, sharedUrl, uuid } from './world.ts'

/** Data of its own on the shared server, and a way to say of which version it is. */
function createData(): {
  open(): Promise<Store>
  say(schema: number): Promise<unknown>
  said(): Promise<string | null>
} {
  const prefix = `schema-${uuid()}`
  const client = ioredis(sharedUrl)
  return {
    open: () => openStore({ url: sharedUrl, prefix, unsafe: { lateFsync: true } }),
    say: (schema) => client.hset(`{${prefix}}:meta`, 'schema', schema),
    said: () => client.hget(`{${prefix}}:meta`, 'schema'),
  }
}

it('writes down of which version its data is, and has nothing to migrate', async () => {
  const { open, said } = createData()
  const store = await open()

  expect(await store.migrate()).toEqual({ applied: [] })
  await store.insert({ jobs: newJobs(1) })

  expect(await said()).toBe('1')
  expect(await store.migrate()).toEqual({ applied: [] })
})

it('leaves data of a newer version alone, at the start and in the middle', async () => {
  const { open, say } = createData()
  const store = await open()
  await store.insert({ jobs: newJobs(1) })

  await say(2)

  expect(await codeOf(store.insert({ jobs: newJobs(1) }))).toBe('SCHEMA_TOO_NEW')
  expect(await codeOf(store.migrate())).toBe('SCHEMA_TOO_NEW')
  expect(await codeOf(open())).toBe('SCHEMA_TOO_NEW')
  await say(1)
  expect(await countOf(store)).toMatchObject({ ready: 1 })
})

it('refuses data of an older version until it is migrated', async () => {
  const { open, say } = createData()
  const store = await open()
  await store.insert({ jobs: newJobs(1) })

  await say(0)

  expect(await codeOf(store.insert({ jobs: newJobs(1) }))).toBe('SCHEMA_OUTDATED')
  expect(await codeOf(open())).toBe('SCHEMA_OUTDATED')
  // Two at once: one does it, and the other finds it done.
  const both = await Promise.all([store.migrate(), store.migrate()])
  expect(both).toEqual([{ applied: ['1'] }, { applied: [] }])
  expect(await codeOf(open())).toBe('ok')
  expect(await countOf(store)).toMatchObject({ ready: 1 })
})
