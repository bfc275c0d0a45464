import { describe, expect, it } from 'vitest'
import { sleep } from '../../src/runtime/runtime.ts'
import {
  exitOf,
  freshFile,
  messageFrom,
  newJob,
  newJobs,
  openHandle,
  openStore,
  readyCount,
  runtime,
  start,
} from './support.ts'

/** Enough to hit a commit now and then; `SKEP_ROUNDS=1000` is for long nights. */
const ROUNDS = Number(process.env['SKEP_ROUNDS'] ?? 8)

describe('Several processes on one file', () => {
  it('claim each job once', async () => {
    const file = freshFile()
    const store = openStore({ file })
    const jobs = newJobs(3_000)
    await store.insert({ jobs })

    const children = Array.from({ length: 4 }, () => start('drain', file))
    const claimed = (await Promise.all(children.map((child) => messageFrom<string[]>(child)))).flat()

    expect(claimed.toSorted()).toEqual(jobs.map(({ id }) => id).toSorted())
    await Promise.all(children.map(exitOf))
    expect(await readyCount(store)).toBe(0)
  }, 60_000)

  it(
    'leave everything that was acknowledged, and a sound file, when they are killed in the middle of a write',
    async () => {
      const file = freshFile()
      const store = openStore({ file, busyTimeoutMs: 30_000 })
      await store.ready()
      const acknowledged = new Set<string>()

      for (let round = 0; round < ROUNDS; round++) {
        const victims = [start('write', file), start('write', file)]
        for (const victim of victims) {
          victim.on('message', (ids: string[]) => {
            for (const id of ids) acknowledged.add(id)
          })
        }
        await Promise.all(victims.map((victim) => messageFrom(victim)))
        await sleep(runtime, runtime.random() * 100)
        const ends = victims.map(exitOf)
        for (const victim of victims) victim.kill('SIGKILL')
        await Promise.all(ends)
      }

      const handle = openHandle(file)
      expect(handle.prepare('PRAGMA integrity_check').get()).toMatchObject({ integrity_check: 'ok' })
      const ids = [...acknowledged]
      const { jobs } = await store.get({ space: 'acme', ids })
      expect(ids.filter((_, i) => jobs[i] === null)).toEqual([])
      const counted = handle.prepare(`select
      (select count(*) from skep_jobs) - (select count(*) from skep_leases) - (select sum(ready) from skep_queues) as ready,
      (select count(*) from skep_waiting) - (select sum(ready) from skep_queues) as waiting,
      (select count(*) from skep_leases) - (select sum(running) from skep_queues) as running,
      (select count(*) from skep_archive) - (select sum(done) from skep_queues) as done`)
      expect(counted.get()).toMatchObject({ ready: 0, waiting: 0, running: 0, done: 0 })
    },
    20_000 + ROUNDS * 12_000,
  )
})

describe('A writer in another process', () => {
  it('is waited for, while the event loop goes on', async () => {
    const file = freshFile()
    const store = openStore({ file })
    await store.ready()
    const writer = start('lock', file, '2000')
    await messageFrom(writer)

    const began = runtime.mono()
    let longest = 0
    let last = began
    const watch = setInterval(() => {
      longest = Math.max(longest, runtime.mono() - last)
      last = runtime.mono()
    }, 1)
    const insert = store.insert({ jobs: [newJob()] }).finally(() => clearInterval(watch))
    const whileLocked = await store.counts({ space: 'acme' })
    await insert

    expect(whileLocked.queues).toEqual([])
    expect(runtime.mono() - began).toBeGreaterThan(1_000)
    // Whoever waits inside of SQLite stands still for all of this time.
    expect(longest).toBeLessThan(1_000)
    expect(await readyCount(store)).toBe(1)
  })

  it('is not waited for longer than asked, and then nothing was written', async () => {
    const file = freshFile()
    const store = openStore({ file, busyTimeoutMs: 100 })
    await store.ready()
    const writer = start('lock', file, '2000')
    await messageFrom(writer)

    const insert = store.insert({ jobs: [newJob()] })

    await expect(insert).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      effect: 'none',
      transient: true,
      facts: { busyTimeoutMs: 100, trouble: 'busy' },
    })
    await messageFrom(writer)
    expect(await readyCount(store)).toBe(0)
    await store.insert({ jobs: [newJob()] })
  })
})
