import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, describe, it } from 'vitest'
import type { Notifier } from '../../src/notifier/notifier.ts'
import { type AnyRedisClient, redisNotifier } from '../../src/redis.ts'
import { describeNotifier } from '../../src/testing.ts'
import { redisUrlVariable } from '../servers/index.ts'

const url = process.env[redisUrlVariable] as string
// Neither has to be connected: the notifier opens connections like theirs.
const ioredis = new Redis(url, { lazyConnect: true })
const clients: Readonly<Record<string, AnyRedisClient>> = { ioredis, 'node-redis': createClient({ url }) }

afterAll(() => ioredis.disconnect())

const prefixes = new WeakMap<Notifier, string>()
let opened = 0

for (const [name, client] of Object.entries(clients)) {
  const openIn = (prefix: string): Notifier => {
    const notifier = redisNotifier({ client, prefix })
    prefixes.set(notifier, prefix)
    return notifier
  }

  describeNotifier(
    `redis with ${name}`,
    () => openIn(`hints-${process.pid}-${++opened}`),
    { describe, it },
    { reopen: async (notifier) => openIn(prefixes.get(notifier) as string) },
  )
}
