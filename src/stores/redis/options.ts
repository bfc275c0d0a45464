import { SkepError } from '../../core/errors.ts'
import { assertKey } from '../../core/names.ts'
import { assertFlags, assertOptions, optionKeys } from '../../core/options.ts'
import { type Runtime, systemRuntime } from '../../runtime/runtime.ts'
import { type AnyRedisClient, assertClient } from './connection/open-client.ts'
import type { UnsafeOptions } from './durability.ts'

/** How to reach the server: one of the two. */
export interface RedisConnection {
  /** `redis://user:password@host:port/db`, or `rediss://` for TLS. Opens a connection of its own, with the package `ioredis`. */
  readonly url?: string
  /**
   * A client of yours: of ioredis (also a cluster, or behind sentinels) or of node-redis. The store opens a connection
   * like it, because it must know about each command whether it was sent; yours stays as it is.
   */
  readonly client?: AnyRedisClient
}

export interface RedisStoreOptions extends RedisConnection {
  /** What all keys begin with, as a hash tag: everything of one store is in one slot of a cluster. @default 'skep' */
  readonly prefix?: string
  /**
   * Say ok only when so many replicas have it too, so that a failover to one of them loses nothing. A call that they do not
   * confirm in time fails as one whose answer was lost. @default none
   */
  readonly wait?: { readonly replicas: number; readonly timeoutMs?: number }
  /** Accept a server that loses acknowledged jobs. */
  readonly unsafe?: UnsafeOptions
  /**
   * Tell by the connection of a store whether its process lives. Turn it off behind a proxy that shares connections between
   * clients: there a connection says nothing about a process. @default true, and false on a cluster
   */
  readonly liveness?: boolean
  /** The longest a call may take. @default 15000 */
  readonly callTimeoutMs?: number
  /** Hears that the server has lost data that it had acknowledged. @default a warning of the process */
  readonly onLoss?: (message: string) => void
  /** Hears that the server was made unsafe while the store is in use, for example its eviction policy. @default a warning of the process */
  readonly onUnsafe?: (message: string) => void
  readonly runtime?: Runtime
}

const KEYS = optionKeys<RedisStoreOptions>('redisStore()', {
  url: true,
  client: true,
  prefix: true,
  wait: true,
  unsafe: true,
  liveness: true,
  callTimeoutMs: true,
  onLoss: true,
  onUnsafe: true,
  runtime: true,
})
const UNSAFE_KEYS = optionKeys<UnsafeOptions>('unsafe', { noAof: true, lateFsync: true, eviction: true })
const WAIT_KEYS = optionKeys<NonNullable<RedisStoreOptions['wait']>>('wait', {
  replicas: true,
  timeoutMs: true,
})

export interface ResolvedOptions {
  readonly connection: RedisConnection
  readonly prefix: string
  readonly wait: { readonly replicas: number; readonly timeoutMs: number } | null
  readonly unsafe: UnsafeOptions
  readonly liveness: boolean
  readonly isCluster: boolean
  readonly callTimeoutMs: number
  readonly onLoss: (message: string) => void
  readonly onUnsafe: (message: string) => void
  readonly runtime: Runtime
}

export function resolveOptions(options: RedisStoreOptions): ResolvedOptions {
  assertOptions(KEYS, options ?? null)
  assertOptions(UNSAFE_KEYS, options.unsafe)
  assertOptions(WAIT_KEYS, options.wait)
  const {
    prefix = 'skep',
    wait,
    unsafe = {},
    callTimeoutMs = 15_000,
    onLoss = warn('SKEP_DATA_LOST'),
  } = options
  const { onUnsafe = warn('SKEP_STORE_UNSAFE') } = options
  assertFlags('redisStore()', { liveness: options.liveness, ...unsafe })
  if ((options.url === undefined) === (options.client === undefined)) {
    throw new SkepError('OPTION_INVALID', 'Redis needs either url or client.')
  }
  if (options.client !== undefined) assertClient(options.client)
  assertKey('prefix', prefix)
  if (/[{}]/.test(prefix)) {
    throw new SkepError('OPTION_INVALID', 'The prefix cannot have braces: it is the hash tag of all keys.')
  }
  if (!(Number.isInteger(callTimeoutMs) && callTimeoutMs >= 100)) {
    throw new SkepError('OPTION_INVALID', `callTimeoutMs is ${callTimeoutMs}; use 100 or more.`)
  }
  if (wait && !(Number.isInteger(wait.replicas) && wait.replicas >= 1)) {
    throw new SkepError('OPTION_INVALID', `wait.replicas is ${wait.replicas}; use 1 or more.`)
  }
  const isCluster = options.client !== undefined && 'isCluster' in options.client && options.client.isCluster
  if (wait && isCluster) {
    const cure = 'Set min-replicas-to-write on its nodes instead.'
    throw new SkepError('OPTION_INVALID', `A cluster cannot be asked what its replicas have (wait). ${cure}`)
  }
  return Object.freeze({
    connection: options,
    prefix,
    wait: wait ? { replicas: wait.replicas, timeoutMs: wait.timeoutMs ?? 1_000 } : null,
    unsafe,
    // Which connection is whose is known to one server, not to a cluster.
    liveness: options.liveness !== false && !isCluster,
    isCluster,
    callTimeoutMs,
    onLoss,
    onUnsafe,
    runtime: options.runtime ?? systemRuntime(),
  })
}

function warn(code: string): (message: string) => void {
  return (message) => process.emitWarning(message, { code })
}
