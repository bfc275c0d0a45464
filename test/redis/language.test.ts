import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/memory.ts'
import { redisStore } from '../../src/redis.ts'
import type { Store } from '../../src/store/store.ts'
import { runOracle } from '../../src/testing.ts'
import { installPackage } from '../servers/apt.ts'
import { type RedisServer, reasonToSkip, startRedis } from '../servers/index.ts'
import { serverFolder, serverIdentity } from '../servers/server.ts'
import { take, verdict } from '../support/claims.ts'
import { newJob } from '../support/new-job.ts'
import { auditRedis } from './audit.ts'

const SOURCE = '/usr/share/i18n/locales/en_US'
const missing = existsSync(SOURCE) ? undefined : installPackage('locales')
const reason = missing === undefined ? undefined : reasonToSkip(missing)

/** All over the range of bytes, and the same in each run. */
const IDS = Array.from({ length: 200 }, (_, n) => {
  const hex = createHash('sha1').update(String(n)).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
})

/** What a store says to jobs that were done and removed, and come again. */
async function wordsOf(store: Store): Promise<readonly string[]> {
  await store.ready()
  // In an order that no language knows.
  const jobs = IDS.map((id) => newJob({ id }))
  await store.insert({ jobs })
  const taken = await take(store, jobs.length)
  const settlements = taken.map(({ space, id, token }) => ({
    space,
    id,
    token,
    verdict: verdict({ keepMs: null }),
  }))
  for (let at = 0; at < settlements.length; at += 5) {
    await store.settle({ settlements: settlements.slice(at, at + 5) })
  }
  const settled = await store.settle({ settlements })
  const inserted = await store.insert({ jobs: [...jobs, newJob()], again: true })
  return [...settled.results, ...inserted.results].map(
    (result) => `${result.status} ${'state' in result && result.state}`,
  )
}

/** Services of many machines have a language. A script of Redis then compares texts as people do, and sorted sets do not. */
describe.skipIf(reason !== undefined)('on a server with a language', () => {
  let redis: RedisServer
  let client: Redis
  let locales: string

  beforeAll(async () => {
    locales = serverFolder('locales', serverIdentity())
    execFileSync('localedef', ['-i', 'en_US', '-f', 'UTF-8', join(locales, 'en_US.UTF-8')])
    const started = await startRedis({
      appendfsync: 'everysec',
      env: { LOCPATH: locales, LC_ALL: 'en_US.UTF-8' },
    })
    if (!started.redis) throw new Error(`There is no Redis for the tests: ${started.reason}`)
    redis = started.redis
    client = new Redis(redis.url)
  }, 120_000)
  afterAll(async () => {
    client?.disconnect()
    await redis?.stop()
    rmSync(locales, { recursive: true, force: true })
  })

  it('texts are compared otherwise than members of a set', async () => {
    expect(await client.eval("return tostring('a' < 'B')", 0)).toBe('true')
  })

  it('remembers jobs that left, whatever their ids', async () => {
    const [redisWords, memoryWords] = await Promise.all(
      [redisStore({ client, prefix: 'left', unsafe: { lateFsync: true } }), memoryStore()].map(wordsOf),
    )

    expect(redisWords).toEqual(memoryWords)
  })

  it('everything is as on any other', async () => {
    let opened = 0
    const open = async (prefix = `language-${++opened}`) => {
      const store = redisStore({ client, prefix, unsafe: { lateFsync: true } })
      await store.ready()
      return store
    }
    for (let seed = 1; seed <= 6; seed++) {
      await runOracle({
        open,
        seed,
        commands: 60,
        replay: `npx vitest run test/redis/language.test.ts (seed ${seed})`,
        reopen: () => open(`language-${opened}`),
        audit: (_store, now) => auditRedis(client, `language-${opened}`, { now }),
        shrinkRuns: 20,
      })
    }
  }, 120_000)
})
