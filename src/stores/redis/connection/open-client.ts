import { clientMissing, SkepError } from '../../../core/errors.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { RedisConnection } from '../options.ts'
import type { RedisClient } from './client.ts'
import { firstTryOfIoRedis, type IoRedisLike, ioRedisClient, ioRedisCopy, ONCE } from './ioredis-client.ts'
import { type NodeRedisLike, nodeRedisClient } from './node-redis-client.ts'

export type AnyRedisClient = IoRedisLike | NodeRedisLike

/** The longest to wait for the first connection. Whoever calls after that is told that there is none. */
const FIRST_TRY_MS = 5_000

/** The connection for what the user gave us, as soon as it is there, or is known not to be there yet. */
export async function openClient(
  { url, client }: RedisConnection,
  options: { readonly runtime: Runtime; readonly callTimeoutMs: number },
): Promise<RedisClient> {
  const { made, firstTry } = await make({ url, client } as RedisConnection)
  const { runtime, callTimeoutMs } = options
  // A server that stands still takes connections and says nothing.
  await new Promise<void>((resolve) => {
    const stop = runtime.timer(Math.min(FIRST_TRY_MS, callTimeoutMs), resolve)
    void firstTry.then(resolve).finally(stop)
  })
  return made
}

async function make({
  url,
  client,
}: RedisConnection): Promise<{ made: RedisClient; firstTry: Promise<void> }> {
  if (client !== undefined && !('callBuffer' in client)) {
    const { client: made, firstTry } = nodeRedisClient(client)
    return { made, firstTry }
  }
  const own = client ? ioRedisCopy(client) : new (await load()).Redis(url as string, { ...ONCE })
  return { made: ioRedisClient(own), firstTry: firstTryOfIoRedis(own) }
}

const REASONS = {
  createCluster: 'its way to send commands is another one, and it is not supported',
  createSentinel: 'it sends a command again, without telling, when a connection breaks',
} as const

/** Refuses what looks like a client and cannot be used as one. */
export function assertClient(client: unknown): void {
  const given = client as Partial<Record<string, unknown>>
  if (typeof given['callBuffer'] === 'function' && typeof given['duplicate'] === 'function') return
  const several =
    typeof given['getSlotRandomNode'] === 'function'
      ? 'createCluster'
      : typeof given['getSentinelNode'] === 'function' || typeof given['acquire'] === 'function'
        ? 'createSentinel'
        : null
  if (several) {
    throw new SkepError(
      'OPTION_INVALID',
      `The store cannot use ${several} of node-redis: ${REASONS[several]}. Instead give it a client of ioredis.`,
    )
  }
  if (typeof given['withCommandOptions'] === 'function' && typeof given['duplicate'] === 'function') return
  throw new SkepError(
    'OPTION_INVALID',
    'The client is none that the store knows. Give it one of ioredis or of node-redis (5 or newer).',
  )
}

interface IoRedisModule {
  readonly Redis: new (url: string, options: object) => IoRedisLike
}

async function load(): Promise<IoRedisModule> {
  try {
    const module = (await import('ioredis')) as unknown as Partial<IoRedisModule> & {
      default?: IoRedisModule
    }
    return (module.Redis ? module : module.default) as IoRedisModule
  } catch (cause) {
    throw clientMissing(
      'ioredis',
      cause,
      'The package "ioredis" is not installed. Run "npm install ioredis", or give the store a client of yours.',
    )
  }
}
