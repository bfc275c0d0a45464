import { freshDatabase, startNats, startRedis } from '../servers/index.ts'

/** The servers that a program talks to, and the variables in which it finds their addresses. */
export interface Servers {
  readonly env: Readonly<Record<string, string>>
  stop(): Promise<void>
}

/** A server of its own for each that a program needs: what one leaves behind must not change what another prints. */
export async function serversFor(needs: {
  postgres: boolean
  redis: boolean
  nats: boolean
}): Promise<Servers> {
  const database = needs.postgres ? await freshDatabase() : null
  const { redis, reason } = needs.redis ? await startRedis({ appendfsync: 'always' }) : {}
  if (needs.redis && !redis) throw new Error(reason)
  const { nats, reason: without } = needs.nats ? await startNats() : {}
  if (needs.nats && !nats) throw new Error(without)
  return {
    env: {
      ...(database ? { DATABASE_URL: database.url } : {}),
      ...(redis ? { REDIS_URL: redis.url } : {}),
      ...(nats ? { NATS_URL: nats.urls.join() } : {}),
    },
    async stop() {
      await Promise.all([database?.drop(), redis?.stop(), nats?.stop()])
    },
  }
}
