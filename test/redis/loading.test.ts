import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterEach, expect, it } from 'vitest'
import type { SkepError } from '../../src/index.ts'
import { redisStore } from '../../src/redis.ts'
import { type MortalRedis, startMortalRedis } from '../crash/mortal-redis.ts'

let server: MortalRedis | null = null
afterEach(async () => {
  await server?.remove()
  server = null
})

/** It reads so many commands of its log, and waits so long after each. */
const COMMANDS = 20_000
const DELAY_US = 50

it('A server that is still reading its log is away for now, and not one without a log', async () => {
  server = await startMortalRedis({ 'key-load-delay': DELAY_US })
  const client = new Redis(server.url)
  const writing = client.pipeline()
  for (let n = 0; n < COMMANDS; n++) writing.rpush('other', n)
  await writing.exec()
  client.disconnect()
  await server.stop('crash')

  const starting = server.start()
  // A client that asks at once; others wait until the server has read its log.
  const asking = new Redis(server.url, { enableReadyCheck: false })
  asking.on('error', () => {})
  const store = redisStore({ client: asking })
  const said = new Set<string>()
  for (let isReady = false; !isReady; ) {
    isReady = await store.ready().then(
      () => true,
      (error: SkepError) => {
        said.add(`${error.code} ${error.message}`)
        return false
      },
    )
    await sleep(2)
  }
  await starting
  await store.close()
  asking.disconnect()

  const heard = [...said]
  expect(heard.filter((text) => !text.startsWith('STORE_UNAVAILABLE '))).toEqual([])
  expect(heard.some((text) => /LOADING|reading its log/.test(text))).toBe(true)
}, 60_000)
