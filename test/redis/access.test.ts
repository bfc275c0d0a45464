import { readFileSync } from 'node:fs'
import { createClient } from 'redis'
import { describe, expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import type { NodeRedisLike } from '../../src/redis.ts'
import { BULK_INSERT } from '../../src/stores/redis/lua/jobs/bulk-insert.ts'
import { PLAIN_CLAIM } from '../../src/stores/redis/lua/jobs/plain-claim.ts'
import { PLAIN_INSERT } from '../../src/stores/redis/lua/jobs/plain-insert.ts'
import { SCRIPT } from '../../src/stores/redis/lua/script.ts'
import { codeOf, createCrew, createWorld, eventually, newJobs, range } from './world.ts'

/** The command that the docs give to whoever makes a user for the store, in words. */
const words = /^ACL SETUSER skep .*$/m
  .exec(readFileSync(new URL('../../docs/stores.md', import.meta.url), 'utf8'))?.[0]
  .split(' ') as string[]

describe('a user of Redis with no more rights than the docs say', () => {
  it('may use every command of the scripts', () => {
    const used = new Set(
      [
        ...(SCRIPT + PLAIN_INSERT + BULK_INSERT + PLAIN_CLAIM).matchAll(
          /'([HZ][A-Z]{3,}|TIME|GET|SET|DEL|EXISTS|UNLINK|PUBLISH)'/g,
        ),
      ].map(([, name]) => name),
    )

    const missing = [...used].filter((name) => !words.includes(`+${name?.toLowerCase()}`))

    expect(used.size).toBeGreaterThan(10)
    expect(missing).toEqual([])
  })

  it('runs jobs, with a lane, a priority and a limit, and sees who is there', async (t) => {
    const world = await createWorld(t)
    await world.cli(...words)
    const url = world.url.replace('redis://', 'redis://skep:password@')
    const store = await world.open({ url })
    const crew = createCrew(store)
    const limited = queue<number>('limited', { concurrency: 1 })
    let ran = 0
    crew.skep.worker([limited.handle(() => void ran++)])

    await crew.skep.enqueue(limited, 1, { lane: 'a', priority: 3 })
    await crew.done(await crew.enqueue(range(0, 5)))
    await eventually('the limited job', () => ran === 1)

    expect((await store.ready()).warnings).toEqual([])
    const { workers } = await store.workers({})
    expect(new Set(workers.map(({ life }) => life))).toEqual(new Set(['here']))
  })

  it('hears hints', async (t) => {
    const world = await createWorld(t)
    await world.cli(...words)
    const store = await world.open({ url: world.url.replace('redis://', 'redis://skep:password@') })
    const heard = new Set<string>()
    store.notifier?.().subscribe((hints) => hints.map(({ kind }) => heard.add(kind)))
    await eventually('the connection', () => store.notifier?.().health().status === 'up')

    await store.insert({ jobs: newJobs(1), letter: '["other",["settled","default","mail"]]' })

    await eventually('the hint', () => heard.has('settled'))
  })

  it('inserts jobs also where it may publish nothing', async (t) => {
    const world = await createWorld(t)
    await world.cli(...words.filter((word) => word !== '+publish'))
    const store = await world.open({ url: world.url.replace('redis://', 'redis://skep:password@') })

    for (const fresh of [false, true]) {
      expect(await codeOf(store.insert({ jobs: newJobs(1), fresh, letter: '[]' }))).toBe('ok')
    }
  })

  it('may touch no other keys', async (t) => {
    const world = await createWorld(t)
    await world.cli(...words)
    const url = world.url.replace('redis://', 'redis://skep:password@')

    await expect(world.open({ url, prefix: 'other' })).rejects.toMatchObject({
      code: 'STORE_REJECTED',
      message: expect.stringContaining('NOPERM'),
    })
  })

  it('is warned where it cannot see the settings, and goes on', async (t) => {
    const world = await createWorld(t)
    await world.cli(...words.filter((word) => word !== '+config|get'))
    const url = world.url.replace('redis://', 'redis://skep:password@')

    const store = await world.open({ url })

    const { level, warnings } = await store.ready()
    expect(level).toBe('process')
    expect(warnings).toEqual(['The server does not tell its appendfsync. Make sure that it is "always".'])

    await world.cli('ACL', 'SETUSER', 'skep', '-info')
    const blind = await world.open({ url })
    expect((await blind.ready()).warnings).toEqual([expect.stringContaining('lets nobody ask with INFO')])
    expect(await codeOf(blind.insert({ jobs: newJobs(1) }))).toBe('ok')
  })

  it('is told at once of a wrong password, or of none', async (t) => {
    const world = await createWorld(t)
    await world.cli(...words)
    await world.cli('ACL', 'SETUSER', 'default', 'resetpass', '>secret')

    await expect(
      world.open({ url: world.url.replace('redis://', 'redis://skep:wrong@') }),
    ).rejects.toMatchObject({ code: 'STORE_REJECTED', message: expect.stringContaining('WRONGPASS') })
    for (const options of [{}, { client: createClient({ url: world.url }) as unknown as NodeRedisLike }]) {
      await expect(world.open(options)).rejects.toMatchObject({
        code: 'STORE_REJECTED',
        message: expect.stringContaining('NOAUTH'),
      })
    }
  })
})
