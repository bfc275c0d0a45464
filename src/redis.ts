/** `skep/redis`: jobs in Redis or Valkey, for many processes on many machines. */
import type { Store } from './store.ts'
import type { RedisStoreOptions } from './stores/redis/options.ts'
import { createRedisStore } from './stores/redis/store.ts'

export type { UnsafeOptions } from './stores/redis/durability.ts'
export type { IoRedisLike } from './stores/redis/ioredis-client.ts'
export type { NodeRedisLike } from './stores/redis/node-redis-client.ts'
export type { AnyRedisClient } from './stores/redis/open-client.ts'
export type { RedisConnection, RedisStoreOptions } from './stores/redis/options.ts'

/** Jobs in Redis (6.2 or newer) or Valkey: a single server, behind sentinels, or a cluster. */
export function redisStore(options: RedisStoreOptions): Store {
  return createRedisStore(options)
}
