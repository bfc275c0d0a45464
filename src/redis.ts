/** `skep/redis`: jobs in Redis or Valkey, for many processes on many machines. */
import type { Notifier } from './notifier/notifier.ts'
import type { Store } from './store/store.ts'
import { type ChannelOptions, createRedisNotifier, openChannel } from './stores/redis/notify.ts'
import type { RedisStoreOptions } from './stores/redis/options.ts'
import { createRedisStore } from './stores/redis/store.ts'

export type { IoRedisLike } from './stores/redis/connection/ioredis-client.ts'
export type { NodeRedisLike } from './stores/redis/connection/node-redis-client.ts'
export type { AnyRedisClient } from './stores/redis/connection/open-client.ts'
export type { UnsafeOptions } from './stores/redis/durability.ts'
export type { RedisConnection, RedisStoreOptions } from './stores/redis/options.ts'

/**
 * Jobs in Redis (6.2 or newer) or Valkey: a single server, behind sentinels, or a cluster. Its notifier uses PUBLISH and
 * SUBSCRIBE.
 */
export function redisStore(options: RedisStoreOptions): Store {
  return createRedisStore(options, (channel) => createRedisNotifier(channel, channel.runtime))
}

export type RedisNotifierOptions = ChannelOptions

/**
 * Hints over PUBLISH and SUBSCRIBE alone, for jobs that are in another store. Processes with the same `prefix` hear each
 * other; nothing is kept, so any Redis will do. The Redis store brings its own.
 */
export function redisNotifier(options: RedisNotifierOptions): Notifier {
  const channel = openChannel(options)
  const notifier = createRedisNotifier(channel, channel.runtime)
  return {
    ...notifier,
    async close() {
      await notifier.close()
      await channel.close()
    },
  }
}
