import { describe, expect, it } from 'vitest'
import type { SqliteClient } from '../../src/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import {
  claimCall,
  done,
  freshFile,
  newJob,
  newJobs,
  openHandle,
  openStore,
  readyCount,
  runtime,
} from './support.ts'

/** A store whose commits are counted and can be made to fail. */
function watched(): { store: Store; commits: () => number; fail: (error: Error | null) => void } {
  const handle = openHandle(freshFile())
  let commits = 0
  let failure: Error | null = null
  const client: SqliteClient = {
    prepare: (sql: string) => handle.prepare(sql),
    exec(sql: string) {
      if (sql !== 'COMMIT') return handle.exec(sql)
      commits++
      if (failure !== null) throw failure
      handle.exec(sql)
    },
    close: () => handle.close(),
    get isTransaction() {
      return handle.isTransaction
    },
  }
  return {
    store: openStore({ client }),
    commits: () => commits,
    fail: (error) => {
      failure = error
    },
  }
}

const unbindable = (): ReturnType<typeof newJob> =>
  newJob({ payload: Symbol('cannot be bound') as unknown as string })

describe('Calls that come together', () => {
  it('share one commit', async () => {
    const { store, commits } = watched()
    await store.ready()
    const before = commits()

    await Promise.all([
      ...Array.from({ length: 50 }, () => store.insert({ jobs: [newJob()] })),
      store.claim(claimCall(20)),
      store.insert({ jobs: newJobs(3) }),
    ])

    expect(commits() - before).toBe(1)
    expect(await readyCount(store)).toBe(33)
  })

  it('see each other in the order of the calls', async () => {
    const { store } = watched()
    const [first, second] = [newJob(), newJob()]

    const [, early, , late] = await Promise.all([
      store.insert({ jobs: [first] }),
      store.claim(claimCall(10)),
      store.insert({ jobs: [second, first] }),
      store.claim(claimCall(10)),
    ])

    expect(early.jobs.map(({ id }) => id)).toEqual([first.id])
    expect(late.jobs.map(({ id }) => id)).toEqual([second.id])
  })

  it('are split when they are about very many jobs', async () => {
    const { store, commits } = watched()
    await store.ready()
    const before = commits()

    await Promise.all(Array.from({ length: 6 }, () => store.insert({ jobs: newJobs(1_000) })))

    expect(commits() - before).toBe(3)
  })

  it('find the one that fails among hundreds without a commit for each', async () => {
    const { store, commits } = watched()
    await store.ready()
    const before = commits()
    const calls = Array.from({ length: 300 }, (_, n) =>
      store.insert({ jobs: [n === 123 ? unbindable() : newJob()] }),
    )

    const results = await Promise.allSettled(calls)

    expect(results.flatMap(({ status }, n) => (status === 'rejected' ? [n] : []))).toEqual([123])
    expect(await readyCount(store)).toBe(299)
    expect(commits() - before).toBeLessThan(20)
  })

  it.each(['insert', 'settle'] as const)('are not harmed by one of them that fails: %s', async (kind) => {
    const { store } = watched()
    await store.insert({ jobs: newJobs(2) })
    const { jobs } = await store.claim(claimCall(1))
    const { space, id, token } = jobs[0] as (typeof jobs)[number]

    const results = await Promise.allSettled([
      store.insert({ jobs: newJobs(2) }),
      kind === 'insert'
        ? store.insert({ jobs: [newJob(), unbindable()] })
        : store.settle({
            settlements: [{ space, id, token, verdict: done, enqueue: [newJob(), unbindable()] }],
          }),
      store.insert({ jobs: newJobs(3) }),
      store.claim(claimCall(1)),
    ])

    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    expect(results[1]).toMatchObject({ reason: { code: 'STORE_REJECTED', effect: 'none' } })
    const [counts] = (await store.counts({ space: 'acme' })).queues
    expect(counts?.states).toMatchObject({ ready: 5, running: 2 })
  })
})

describe('A commit that fails', () => {
  it('because of a reader is tried again', async () => {
    const { store, fail } = watched()
    await store.ready()
    fail(Object.assign(new Error('database is locked'), { errcode: 5 }))

    const insert = store.insert({ jobs: [newJob()] })
    runtime.timer(50, () => fail(null))

    await insert
    expect(await readyCount(store)).toBe(1)
  })

  it('for want of room leaves nothing, and the store goes on', async () => {
    const { store, fail } = watched()
    await store.ready()
    fail(Object.assign(new Error('database or disk is full'), { errcode: 13 }))

    const calls = [store.insert({ jobs: [newJob()] }), store.insert({ jobs: [newJob()] })]

    for (const call of calls) {
      await expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', effect: 'none' })
    }
    fail(null)
    await store.insert({ jobs: [newJob()] })
    expect(await readyCount(store)).toBe(1)
  })

  it('because of the disk is of unknown effect, and nothing more is written', async () => {
    const { store, fail } = watched()
    await store.ready()
    fail(Object.assign(new Error('disk I/O error'), { errcode: 1034 }))

    await expect(store.insert({ jobs: [newJob()] })).rejects.toMatchObject({
      code: 'STORE_UNKNOWN',
      effect: 'unknown',
    })

    fail(null)
    await expect(store.insert({ jobs: [newJob()] })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await readyCount(store)).toBe(0)
  })
})
