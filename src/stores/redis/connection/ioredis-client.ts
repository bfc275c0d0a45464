import { messageOf } from '../../../core/errors.ts'
import type { Reply } from './bytes.ts'
import { NotSent, type RedisClient } from './client.ts'
import { sendWritten } from './ioredis-command.ts'
import { ioRedisEar } from './subscriber.ts'

/** The part of an ioredis client, or cluster, that the store uses. */
export interface IoRedisLike {
  callBuffer(command: string, ...args: (string | Buffer | number)[]): Promise<unknown>
  duplicate(...args: never[]): IoRedisLike
  disconnect(reconnect?: boolean): void
  on(event: 'error' | 'ready' | 'close', listener: (error?: unknown) => void): unknown
  readonly status: string
  readonly isCluster?: boolean
  /** Of a cluster alone. */
  nodes?(role: 'master'): readonly IoRedisLike[]
}

/** It tries for ever, and ever more slowly up to a second. */
function again(times: number): number {
  return Math.min(50 * times, 1_000)
}

/** A replica that was promoted, or one that no longer is: find out who the master is. */
function isReadOnly(error: Error): boolean {
  return error.message.includes('READONLY')
}

/** What changes keys, replies or servers behind our back is as if nobody had asked for it. */
const PLAIN = {
  connectionName: 'skep',
  keyPrefix: '',
  replyMapping: 'legacy',
  stringNumbers: false,
  readOnly: false,
  role: 'master',
  commandTimeout: undefined,
  reconnectOnError: isReadOnly,
} as const

/**
 * ioredis sends again what was not answered before a connection broke. A call of the store must not be made twice
 * without its knowing, so that is turned off, and nothing waits in line for a connection either.
 */
export const ONCE: object = {
  ...PLAIN,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  lazyConnect: false,
  retryStrategy: again,
  sentinelRetryStrategy: again,
}

/**
 * What a cluster has beside the options of its connections, which never connect again: it makes new ones. It would send
 * again what a closed connection left open.
 */
const ONCE_IN_CLUSTER = {
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  lazyConnect: false,
  scaleReads: 'master',
  keyPrefix: '',
  retryDelayOnFailover: 0,
  clusterRetryStrategy: again,
} as const

/** A connection like the one that was given. */
export function ioRedisCopy(client: IoRedisLike): IoRedisLike {
  // A cluster takes its nodes first, and the options of its connections inside of its own.
  const duplicate = client.duplicate.bind(client) as (...args: unknown[]) => IoRedisLike
  return client.isCluster
    ? duplicate([], { ...ONCE_IN_CLUSTER, redisOptions: { ...PLAIN } })
    : duplicate({ ...ONCE })
}

/** What ioredis says when a command was not written. */
const UNWRITTEN =
  /isn't writeable|Cluster isn't ready|Cluster is ended|Failed to refresh slots cache|None of startup nodes/

/** What it says when a connection ended before the answer came; it speaks of its own options there. */
const BROKEN = /max retries per request|Connection is closed|due to connection close/

export function ioRedisClient(client: IoRedisLike): RedisClient {
  const isCluster = client.isCluster === true
  // Counted when one closes, because commands can be sent a moment before "ready" is told.
  let connection = 0
  let problem: unknown
  client.on('close', () => {
    if (!isCluster) connection++
  })
  client.on('ready', () => {
    problem = undefined
  })
  // It reconnects by itself, and calls tell what is wrong.
  client.on('error', (error) => {
    problem = error
  })
  const sending = async (send: () => Promise<unknown>): Promise<Reply> => {
    if (client.status === 'end') throw new NotSent(problem ?? new Error('The connection is closed.'))
    try {
      return (await send()) as Reply
    } catch (error) {
      const message = messageOf(error)
      if (UNWRITTEN.test(message)) throw new NotSent(problem ?? error)
      throw BROKEN.test(message) ? new Error('the connection closed', { cause: error }) : error
    }
  }
  const made: RedisClient = {
    get connection() {
      return connection
    },
    isCluster,
    send: (command, args) => sending(() => client.callBuffer(command, ...args)),
    sendOn: (head, args) =>
      sending(() => {
        // A cluster has to see the keys.
        const sent = isCluster ? null : sendWritten(client, head, args)
        return sent ?? client.callBuffer(...(head.args as [string, ...string[]]), ...args)
      }),
    servers() {
      if (!isCluster || !client.nodes) return [made]
      return client.nodes('master').map((node) => ({
        send: async (command, args) => (await node.callBuffer(command, ...args)) as Reply,
      }))
    },
    listen: (options) => ioRedisEar(client, options),
    onConnect(listener) {
      client.on('ready', () => listener())
    },
    reset() {
      client.disconnect(true)
    },
    close() {
      client.disconnect()
    },
  }
  return made
}

/** Waits for the connection, or for the news that there is none yet. A cluster may need more than one try to find its nodes. */
export function firstTryOfIoRedis(client: IoRedisLike): Promise<void> {
  let tries = client.isCluster ? 3 : 1
  return new Promise((resolve) => {
    if (client.status === 'ready') resolve()
    client.on('ready', () => resolve())
    client.on('close', () => {
      if (--tries === 0) resolve()
    })
  })
}
