import { Redis } from 'ioredis'
import { auditRedis } from '../redis/audit.ts'
import { startRedis } from '../servers/index.ts'
import type { Address } from './program.ts'

export interface RedisPlace {
  readonly address: Address
  /** Throws if something is wrong with the keys. Nobody may work meanwhile. */
  audit(): Promise<void>
  remove(): Promise<void>
}

/** A store on a Redis of its own that syncs before it answers. */
export async function freshRedis(): Promise<RedisPlace> {
  const { redis, reason } = await startRedis({ appendfsync: 'always' })
  if (!redis) throw new Error(`There is no Redis: ${reason}`)
  const prefix = 'skep'
  return {
    address: { redis: redis.url, prefix },
    async audit() {
      const client = new Redis(redis.url)
      try {
        await auditRedis(client, prefix)
      } finally {
        client.disconnect()
      }
    },
    remove: () => redis.stop(),
  }
}
