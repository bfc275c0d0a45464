import { Redis } from 'ioredis'
import { afterAll, describe, it } from 'vitest'
import { redisStore } from '../../src/redis.ts'
import type { Store } from '../../src/store/store.ts'
import { describeStore } from '../../src/testing.ts'
import { auditRedis } from '../redis/audit.ts'
import { redisUrlVariable } from '../servers/index.ts'
import { describeOracle } from './describe-oracle.ts'

const client = new Redis(process.env[redisUrlVariable] as string, { lazyConnect: true })
let opened = 0

afterAll(() => client.disconnect())

/** Every store has a prefix of its own, which is as good as a server of its own. */
async function open(prefix = `conformance-${process.pid}-${++opened}`): Promise<Store> {
  const store = redisStore({ client, prefix, unsafe: { lateFsync: true } })
  await store.ready()
  return store
}

describeStore('redis', open, { describe, it }, { reopen: () => open(`conformance-${process.pid}-${opened}`) })
describeOracle('redis', open, {
  seeds: 10,
  reopen: () => open(`conformance-${process.pid}-${opened}`),
  audit: (_store, now) => auditRedis(client, `conformance-${process.pid}-${opened}`, { now }),
  shrinkRuns: 100,
})
