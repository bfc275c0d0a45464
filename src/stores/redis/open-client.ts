import { messageOf, SkepError } from '../../core/errors.ts'
import type { Reply } from './bytes.ts'
import { type Argument, NotSent, type RedisClient } from './client.ts'
import { ioRedisEar, nodeRedisEar } from './ear.ts'
import type { RedisConnection } from './options.ts'

/** The part of an ioredis client, or cluster, that the store uses. */
export interface IoRedisLike {
  callBuffer(command: string, ...args: (string | Buffer | number)[]): Promise<unknown>
  duplicate(...args: never[]): IoRedisLike
  disconnect(): void
  on(event: 'error' | 'ready' | 'close', listener: (error?: unknown) => void): unknown
  readonly status: string
  readonly isCluster?: boolean
  /** Of a cluster alone. */
  nodes?(role: 'master'): readonly IoRedisLike[]
}

/** The part of a node-redis client that the store uses. */
export interface NodeRedisLike {
  duplicate(options?: object): NodeRedisLike
  connect(): Promise<unknown>
  withTypeMapping(mapping: object): { sendCommand(args: readonly Argument[]): Promise<unknown> }
  subscribe(channels: string[], listener: (message: string, channel: string) => void): Promise<unknown>
  destroy(): void
  on(event: 'error' | 'connect', listener: (error?: unknown) => void): unknown
  readonly isReady: boolean
}

export type AnyRedisClient = IoRedisLike | NodeRedisLike

/**
 * ioredis sends again what was not answered before a connection broke. A call of the store must not be made twice
 * without its knowing, so that is turned off, and nothing waits in line for a connection either.
 */
const ONCE = {
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  lazyConnect: false,
  // A replica that was promoted, or one that no longer is: find out who the master is.
  reconnectOnError: (error: Error): boolean => error.message.startsWith('READONLY'),
  retryStrategy: (times: number): number => Math.min(50 * times, 1_000),
} as const

/** The connection for what the user gave us. */
export async function openClient({ url, client }: RedisConnection): Promise<RedisClient> {
  if (url !== undefined) {
    const { Redis } = await load()
    return ioRedisClient(new Redis(url, { ...ONCE, connectionName: 'skep' }))
  }
  const given = client as AnyRedisClient
  if ('callBuffer' in given) return ioRedisClient(copyOf(given))
  return nodeRedisClient(given)
}

function copyOf(client: IoRedisLike): IoRedisLike {
  // A cluster takes its nodes first, and the options of its connections inside of its own.
  const duplicate = client.duplicate.bind(client) as (...args: unknown[]) => IoRedisLike
  return client.isCluster
    ? duplicate([], { enableOfflineQueue: false, lazyConnect: false, redisOptions: { ...ONCE } })
    : duplicate({ ...ONCE, connectionName: 'skep' })
}

/** What ioredis says when a command was not written. */
const UNWRITTEN = /isn't writeable|Cluster isn't ready|Failed to refresh slots cache|None of startup nodes/

async function ioRedisClient(client: IoRedisLike): Promise<RedisClient> {
  // It reconnects by itself, and calls tell what is wrong.
  let problem: unknown
  client.on('error', (error) => {
    problem = error
  })
  client.on('ready', () => {
    problem = undefined
  })
  await firstTry(client)
  return {
    async send(command, args) {
      try {
        return (await client.callBuffer(command, ...args)) as Reply
      } catch (error) {
        throw UNWRITTEN.test(messageOf(error)) ? new NotSent(problem ?? error) : error
      }
    },
    listen: (options) => ioRedisEar(client, options),
    async close() {
      client.disconnect()
    },
  }
}

/** Waits for the connection, or for the news that there is none yet. */
function firstTry(client: IoRedisLike): Promise<void> {
  return new Promise((resolve) => {
    if (client.status === 'ready') resolve()
    client.on('ready', () => resolve())
    client.on('close', () => resolve())
  })
}

/** RESP's type of strings, which node-redis gives back as bytes if it is told to. */
const BLOB_STRING = 36

async function nodeRedisClient(given: NodeRedisLike): Promise<RedisClient> {
  const client = given.duplicate({ disableOfflineQueue: true })
  let problem: unknown
  client.on('error', (error) => {
    problem = error
  })
  const connecting = Promise.resolve(client.connect()).then(
    () => {},
    () => {},
  )
  // It tries for ever by itself; whoever calls meanwhile is told that there is no connection.
  await Promise.race([connecting, new Promise<void>((resolve) => client.on('error', () => resolve()))])
  const bytes = client.withTypeMapping({ [BLOB_STRING]: Buffer })
  return {
    async send(command, args) {
      if (!client.isReady) throw new NotSent(problem ?? new Error('There is no connection.'))
      return (await bytes.sendCommand([command, ...args])) as Reply
    },
    listen: (options) => nodeRedisEar(client, options),
    async close() {
      client.destroy()
    },
  }
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
    throw new SkepError(
      'CLIENT_MISSING',
      'The package "ioredis" is not installed. Run "npm install ioredis", or give the store a client of yours.',
      { cause, facts: { package: 'ioredis' } },
    )
  }
}
