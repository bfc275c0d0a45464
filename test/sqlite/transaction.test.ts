import { describe, expect, it } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { claimCall, done, freshFile, newJob, newJobs, openHandle, openStore, readyCount } from './support.ts'

type Handle = ReturnType<typeof openHandle>

const ways: readonly (readonly [string, (file: string) => { store: Store; handle: Handle }])[] = [
  [
    "on the store's own handle",
    (file) => {
      const handle = openHandle(file)
      return { handle, store: openStore({ client: handle }) }
    },
  ],
  ['on another connection', (file) => ({ store: openStore({ file }), handle: openHandle(file) })],
]

describe.each(ways)("A user's transaction %s", (_name, open) => {
  it('brings jobs when it commits', async () => {
    const { store, handle } = open(freshFile())
    await store.ready()
    const jobs = newJobs(3)

    handle.exec('BEGIN IMMEDIATE')
    const reply = await store.within?.(handle).insert({ jobs })
    handle.exec('COMMIT')

    expect(reply?.results.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok'])
    expect(await readyCount(store)).toBe(3)
    expect((await store.claim(claimCall(10))).jobs.map(({ id }) => id)).toEqual(jobs.map(({ id }) => id))
  })

  it('leaves nothing when it is rolled back, not even a queue', async () => {
    const { store, handle } = open(freshFile())
    await store.ready()

    handle.exec('BEGIN IMMEDIATE')
    await store.within?.(handle).insert({ jobs: newJobs(2) })
    handle.exec('ROLLBACK')

    expect((await store.counts({ space: 'acme' })).queues).toEqual([])
    await store.insert({ jobs: [newJob()] })
    expect(await readyCount(store)).toBe(1)
  })

  it('settles with the rest of its work, or not at all', async () => {
    const { store, handle } = open(freshFile())
    await store.insert({ jobs: newJobs(2) })
    const { jobs } = await store.claim(claimCall(2))
    const settlements = jobs.map(({ space, id, token }) => ({ space, id, token, verdict: done }))

    handle.exec('BEGIN IMMEDIATE')
    await store.within?.(handle).settle({ settlements })
    handle.exec('ROLLBACK')
    const [before] = (await store.counts({ space: 'acme' })).queues
    handle.exec('BEGIN IMMEDIATE')
    const reply = await store.within?.(handle).settle({ settlements })
    handle.exec('COMMIT')
    const [after] = (await store.counts({ space: 'acme' })).queues

    expect(before?.states).toMatchObject({ running: 2 })
    expect(reply?.results.map(({ status }) => status)).toEqual(['ok', 'ok'])
    expect(after?.states).toMatchObject({ running: 0, ready: 0 })
  })

  it('goes on after a call that failed, without any of it', async () => {
    const { store, handle } = open(freshFile())
    await store.ready()
    const bad = newJob({ payload: Symbol('cannot be bound') as unknown as string })

    handle.exec('BEGIN IMMEDIATE')
    const inside = store.within?.(handle)
    await expect(inside?.insert({ jobs: [newJob(), bad] })).rejects.toMatchObject({ code: 'STORE_REJECTED' })
    await inside?.insert({ jobs: [newJob()] })
    handle.exec('COMMIT')

    expect(await readyCount(store)).toBe(1)
  })

  it('can be one that does not wait for promises', async () => {
    const { store, handle } = open(freshFile())
    await store.ready()

    handle.exec('BEGIN IMMEDIATE')
    const insert = store.within?.(handle).insert({ jobs: newJobs(2) })
    handle.exec('COMMIT')

    await insert
    expect(await readyCount(store)).toBe(2)
  })

  it('is refused when there is none', async () => {
    const { store, handle } = open(freshFile())

    const call = store.within?.(handle).insert({ jobs: [newJob()] })

    await expect(call).rejects.toMatchObject({ code: 'TX_UNSUPPORTED' })
    await expect(call).rejects.toThrow('BEGIN')
  })
})

describe('What is no transaction of this store', () => {
  it.each([undefined, null, 7, 'tx', {}, { query: () => {} }, { session: {} }])('is refused: %j', (tx) => {
    const store = openStore({ file: ':memory:' })

    expect(() => store.within?.(tx)).toThrow(expect.objectContaining({ code: 'TX_UNSUPPORTED' }))
  })

  it('is refused on another database', async () => {
    const store = openStore({ file: freshFile() })
    const other = openHandle(freshFile())
    other.exec('BEGIN')

    await expect(store.within?.(other).insert({ jobs: [newJob()] })).rejects.toMatchObject({
      code: 'TX_UNSUPPORTED',
    })
  })
})

describe('A handle shared with the user', () => {
  it("makes the store's own calls wait for the user's transaction", async () => {
    const handle = openHandle(freshFile())
    const store = openStore({ client: handle })
    await store.ready()
    handle.exec('create table notes (text); BEGIN')
    handle.exec("insert into notes values ('mine')")

    let isDone = false
    const insert = store.insert({ jobs: [newJob()] }).then(() => {
      isDone = true
    })
    await new Promise((resolve) => setTimeout(resolve, 60))
    const wasDone = isDone
    handle.exec('ROLLBACK')
    await insert

    expect(wasDone).toBe(false)
    expect(await readyCount(store)).toBe(1)
    expect(handle.prepare('select count(*) as notes from notes').get()).toMatchObject({ notes: 0 })
  })

  it('fails them, and says why, when that stays open too long', async () => {
    const handle = openHandle(freshFile())
    const store = openStore({ client: handle, busyTimeoutMs: 50 })
    await store.ready()
    handle.exec('BEGIN')

    const results = await Promise.allSettled([
      store.insert({ jobs: [newJob()] }),
      store.get({ space: 'acme', ids: [] }),
    ])

    const message = expect.stringContaining('pass it as tx')
    const reason = { code: 'STORE_UNAVAILABLE', effect: 'none', message }
    expect(results).toMatchObject([{ reason }, { reason }])
    handle.exec('COMMIT')
    await store.insert({ jobs: [newJob()] })
  })

  it("takes Drizzle's transaction, which has the handle inside", async () => {
    const handle = openHandle(freshFile())
    const store = openStore({ client: handle })
    await store.ready()

    handle.exec('BEGIN')
    await store.within?.({ session: { client: handle } }).insert({ jobs: [newJob()] })
    handle.exec('COMMIT')

    expect(await readyCount(store)).toBe(1)
  })
})
