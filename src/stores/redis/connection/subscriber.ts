import type { Ear, EarOptions } from './client.ts'
import type { IoRedisLike } from './ioredis-client.ts'
import type { NodeRedisLike } from './node-redis-client.ts'

/** The part of an ioredis client that listens. */
interface IoRedisEar {
  connect(): Promise<unknown>
  subscribe(...channels: string[]): Promise<unknown>
  disconnect(): void
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'close', listener: () => void): unknown
  on(event: 'message', listener: (channel: string, message: string) => void): unknown
}

/**
 * Nothing comes back by itself, not even the subscription: what was missed meanwhile has to be told, and a connection
 * that comes back unasked tells nobody.
 */
const ONE_LIFE = {
  lazyConnect: true,
  retryStrategy: null,
  sentinelRetryStrategy: null,
  reconnectOnError: null,
  autoResubscribe: false,
  connectionName: 'skep-hints',
} as const

/** Listens with a client like this one. */
export function ioRedisEar(client: IoRedisLike, options: EarOptions): Ear {
  const like = client.nodes ? nodeOf(client.nodes('master'), options.chance) : client
  const duplicate = like.duplicate.bind(like) as (options: object) => unknown
  const own = duplicate(ONE_LIFE) as IoRedisEar
  let problem = new Error('The connection ended.')
  own.on('error', (error) => {
    problem = error
  })
  own.on('message', options.onMessage)
  own.on('close', () => options.onEnd(problem))
  const listen = async (): Promise<void> => {
    // Why it could not connect is told by an event; the call only says that the connection is closed.
    await own.connect().catch(() => Promise.reject(problem))
    await own.subscribe(...options.channels)
  }
  return { ready: listen(), close: () => own.disconnect() }
}

/**
 * Any node of a cluster hears what is published on any other. A connection to one of them is better than the cluster's
 * own subscriber, which moves to another node without a word.
 */
function nodeOf(nodes: readonly IoRedisLike[], chance: number): IoRedisLike {
  const node = nodes[Math.floor(chance * nodes.length)]
  if (!node) throw new Error('No node of the cluster is known yet.')
  return node
}

/** Listens with a client like this one. */
export function nodeRedisEar(client: NodeRedisLike, options: EarOptions): Ear {
  const own = client.duplicate({ disableOfflineQueue: true })
  let isConnected = false
  let isOver = false
  let fail: (error: Error) => void = () => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  const destroy = (): void => {
    try {
      // It would connect and subscribe again by itself: see ONE_LIFE.
      own.destroy()
    } catch {
      // It is closed already.
    }
  }
  own.on('connect', () => {
    isConnected = true
    if (isOver) destroy()
  })
  own.on('error', (error) => {
    destroy()
    fail(error as Error)
    if (isOver) return
    isOver = true
    options.onEnd(error as Error)
  })
  const listen = async (): Promise<void> => {
    await own.connect()
    await own.subscribe([...options.channels], (message, channel) => options.onMessage(channel, message))
  }
  return {
    ready: Promise.race([listen(), failed]),
    close() {
      isOver = true
      // Destroyed before it has its socket it would still connect, and nobody could close it then.
      if (isConnected) destroy()
    },
  }
}
