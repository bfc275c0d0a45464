import { messageOf } from '../../../core/errors.ts'
import type { Reply } from './bytes.ts'
import { type Argument, NotSent, type RedisClient } from './client.ts'
import { nodeRedisEar } from './subscriber.ts'

/** The part of a node-redis client that the store uses. */
export interface NodeRedisLike {
  duplicate(options?: object): NodeRedisLike
  connect(): Promise<unknown>
  withCommandOptions(options: object): { sendCommand(args: readonly Argument[]): Promise<unknown> }
  destroy(): void
  subscribe(channels: string[], listener: (message: string, channel: string) => void): Promise<unknown>
  on(event: 'error' | 'ready' | 'connect' | 'reconnecting', listener: (error?: unknown) => void): unknown
  readonly isReady: boolean
  readonly options?: { readonly socket?: object } | undefined
}

/** Types of RESP that shall come as bytes, or as a list, whatever the version of the protocol. */
const AS_BYTES = { 36: Buffer, 61: Buffer, 37: Array } as const

/** What node-redis says when a command was not written. */
const UNWRITTEN = /^The (queue is full|client is (offline|closed))/

const again = (times: number): number => Math.min(50 * (times + 1), 1_000)

/** A connection, and how it ends. */
interface Opened {
  readonly client: NodeRedisLike
  readonly bytes: ReturnType<NodeRedisLike['withCommandOptions']>
  end(): void
}

function destroy(client: NodeRedisLike): void {
  try {
    client.destroy()
  } catch {
    // It is closed already.
  }
}

/** A connection like the one that was given, as it is first tried. */
export function nodeRedisClient(given: NodeRedisLike): { client: RedisClient; firstTry: Promise<void> } {
  let connection = 0
  let problem: unknown
  let isClosed = false
  const listeners: (() => void)[] = []

  const open = (tried: () => void): Opened => {
    let isConnected = false
    let isOver = false
    const client = given.duplicate({
      // Nothing waits in line for a connection, and nothing is sent twice.
      disableOfflineQueue: true,
      name: 'skep',
      readonly: false,
      socket: {
        ...given.options?.socket,
        reconnectStrategy: (times: number) => (isOver ? false : again(times)),
      },
    })
    client.on('connect', () => {
      isConnected = true
      if (isOver) destroy(client)
    })
    client.on('reconnecting', () => {
      isConnected = false
    })
    client.on('error', (error) => {
      problem = error
      tried()
    })
    client.on('ready', () => {
      connection++
      problem = undefined
      tried()
      for (const listener of listeners) listener()
    })
    // It tries for ever by itself; whoever calls meanwhile is told that there is no connection.
    Promise.resolve(client.connect()).catch(() => {})
    // How long a call may take is decided above.
    return {
      client,
      bytes: client.withCommandOptions({ typeMapping: AS_BYTES, timeout: 0 }),
      end() {
        isOver = true
        // Destroyed before it has its socket it would still connect, and nobody could close it then.
        if (isConnected) destroy(client)
      },
    }
  }
  let current: Opened
  const firstTry = new Promise<void>((resolve) => {
    current = open(resolve)
  })

  const sendAll = async (words: readonly Argument[]): Promise<Reply> => {
    if (!current.client.isReady)
      throw new NotSent(problem ?? new Error('There is no connection to the server.'))
    try {
      return (await current.bytes.sendCommand(words)) as Reply
    } catch (error) {
      throw UNWRITTEN.test(messageOf(error)) ? new NotSent(problem ?? error) : error
    }
  }

  const client: RedisClient = {
    get connection() {
      return connection
    },
    isCluster: false,
    send: (command, args) => sendAll([command, ...args]),
    sendOn: (head, args) => sendAll([...head.args, ...args]),
    servers: () => [client],
    listen: (options) => nodeRedisEar(given, options),
    onConnect(listener) {
      listeners.push(listener)
    },
    reset() {
      if (isClosed) return
      // A connection that ends itself would wait for what does not come.
      current.end()
      connection++
      current = open(() => {})
    },
    close() {
      if (isClosed) return
      isClosed = true
      current.end()
    },
  }
  return { client, firstTry }
}
