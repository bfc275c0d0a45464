import { describe, expect, it } from 'vitest'
import {
  codeOf,
  countOf,
  createCrew,
  createWorld,
  eventually,
  finish,
  newJob,
  newJobs,
  range,
  take,
} from './world.ts'

describe('a Redis that ends', () => {
  it('has after a restart all that it had acknowledged, and says nothing of a loss', async (t) => {
    const world = await createWorld(t)
    const losses: string[] = []
    const store = await world.open({ onLoss: (message) => losses.push(message) })
    await store.insert({ jobs: newJobs(50) })
    await finish(store, await take(store, 20))
    const running = await take(store, 10)

    await world.kill()
    expect(await codeOf(store.counts({ space: 'acme' }))).toBe('STORE_UNAVAILABLE')
    await world.restart()

    await eventually('the store to be back', async () => (await codeOf(countOf(store))) === 'ok')
    expect(await countOf(store)).toMatchObject({ ready: 20, running: 10, done: 20 })
    await finish(store, running)
    expect(await countOf(store)).toMatchObject({ ready: 20, running: 0, done: 30 })
    expect(losses).toEqual([])
  })

  it('loses no call that it answered when it is killed in the middle, and every other is told apart', async (t) => {
    const world = await createWorld(t)
    const store = await world.open()
    const calls: { readonly id: string; readonly code: Promise<string> }[] = []
    let isRefused = false
    let isAnswered = false
    // However long the kill takes: calls come before it, in the middle of it, and after it.
    const calling = (async () => {
      while (!isRefused) {
        const job = newJob()
        const code = codeOf(store.insert({ jobs: [job], fresh: true }))
        calls.push({ id: job.id, code })
        void code.then((said) => {
          isRefused ||= said === 'STORE_UNAVAILABLE'
          isAnswered ||= said === 'ok'
        })
        await later(1, async () => {})
      }
    })()

    await eventually('some calls', () => calls.length > 50 && isAnswered)
    await world.kill()
    await calling
    const codes = await Promise.all(calls.map(async ({ id, code }) => ({ id, code: await code })))
    await world.restart()

    await eventually('the store to be back', async () => (await codeOf(countOf(store))) === 'ok')
    const { jobs } = await store.get({ space: 'acme', ids: codes.map(({ id }) => id) })
    const fates = codes.map(({ code }, index) => `${code}: ${jobs[index] ? 'there' : 'not there'}`)
    expect(new Set(fates.filter((fate) => !fate.startsWith('STORE_UNKNOWN')))).toEqual(
      new Set(['ok: there', 'STORE_UNAVAILABLE: not there']),
    )
  })

  it('lets a client and a worker go on through two kills', async (t) => {
    const world = await createWorld(t)
    const crew = createCrew(await world.open())
    const enqueuing = crew.enqueue(range(0, 200))
    for (let kills = 0; kills < 2; kills++) {
      await eventually('some jobs to run', () => crew.handled.size > 40 * kills + 20)
      await world.kill()
      await world.restart()
    }

    const acknowledged = await enqueuing
    expect(acknowledged).toHaveLength(200)
    await crew.done(acknowledged)
  })

  it('is noticed when it comes back without its data', async (t) => {
    const world = await createWorld(t, { appendonly: 'no' })
    const losses: string[] = []
    const store = await world.open({ unsafe: { noAof: true }, onLoss: (message) => losses.push(message) })
    await store.insert({ jobs: newJobs(3) })

    await world.kill()
    await world.restart()

    await eventually('the store to be back', async () => (await codeOf(countOf(store))) === 'ok')
    expect(losses).toEqual([expect.stringContaining('Redis has lost everything of "skep"')])
    await store.insert({ jobs: newJobs(1) })
    expect(losses).toHaveLength(1)
  })

  it('is noticed when somebody flushes it', async (t) => {
    const world = await createWorld(t)
    const losses: string[] = []
    const store = await world.open({ onLoss: (message) => losses.push(message) })
    await store.insert({ jobs: newJobs(3) })

    await world.cli('FLUSHALL')
    await store.insert({ jobs: newJobs(1) })

    expect(losses).toEqual([expect.stringContaining('lost everything')])
    expect(await countOf(store)).toMatchObject({ ready: 1 })
  })

  it('is noticed to have lost the last changes even if others have written since', async (t) => {
    const world = await createWorld(t)
    const losses: string[] = []
    const [store, other] = [
      await world.open({ onLoss: (message) => losses.push(message) }),
      await world.open({ onLoss: () => expect.unreachable('It has seen nothing of what was lost.') }),
    ]
    await store.insert({ jobs: newJobs(1) })
    // What a replica that is behind, or a log that was cut, would have.
    const before = await world.cli('HGET', '{skep}:meta', 'writes')
    await store.insert({ jobs: newJobs(1) })
    await store.insert({ jobs: newJobs(1) })
    await world.cli('HSET', '{skep}:meta', 'writes', before)

    await world.kill()
    await world.restart()
    await eventually('the other to be back', async () => (await codeOf(countOf(other))) === 'ok')
    for (let writes = 0; writes < 5; writes++) await other.insert({ jobs: newJobs(1) })

    await eventually('the store to be back', async () => (await codeOf(countOf(store))) === 'ok')
    expect(losses).toEqual([expect.stringContaining('lost the last 2 changes')])
  })
})

async function later<T>(turns: number, call: () => Promise<T>): Promise<T> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
  return call()
}
