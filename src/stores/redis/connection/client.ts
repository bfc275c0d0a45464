import type { Runtime } from '../../../runtime/runtime.ts'
import type { Head } from '../jobs/wire.ts'
import type { Reply } from './bytes.ts'

/** What goes to Redis as an argument. */
export type Argument = string | Buffer

/** A connection as the store sees it, whatever library it is from. It connects again by itself. */
export interface RedisClient {
  /** Another number for each connection: what one has told need not hold on the next. Always 0 where nobody can tell. */
  readonly connection: number
  /** Which connection a command takes depends on its keys, so nothing is known about "the" connection. */
  readonly isCluster: boolean
  /**
   * Sends a command and answers with bytes. It is sent at most once: {@link NotSent} says that it was not sent at all, and
   * any other error that is not the server's own that nobody knows.
   */
  send(command: string, args: readonly Argument[]): Promise<Reply>
  /** The same for a command that begins as many do. */
  sendOn(head: Head, args: readonly Argument[]): Promise<Reply>
  /** Opens a connection beside this one that hears what is published. */
  listen(options: EarOptions): Ear
  /** Every server that may have the data, to be asked about itself. */
  servers(): readonly Pick<RedisClient, 'send'>[]
  /** Calls back whenever a connection is there again. */
  onConnect(listener: () => void): void
  /** Throws the connection away, because nothing comes through it, and makes another. */
  reset(): void
  close(): void
}

export interface EarOptions {
  readonly channels: readonly string[]
  /** From 0 to less than 1: chooses the node of a cluster. */
  readonly chance: number
  onMessage(channel: string, message: string): void
  /** It hears no more. */
  onEnd(error: Error): void
}

/** A connection that listens. It never comes back by itself: what was missed meanwhile would not be known. */
export interface Ear {
  /** Whatever is published from then on is heard. */
  readonly ready: Promise<void>
  close(): void
}

/** A command did not leave this process. */
export class NotSent extends Error {
  constructor(cause: unknown) {
    super('Not sent.', { cause })
  }
}

/** The outcome of `work`, unless it takes longer than `ms`. */
export function withDeadline<T>(runtime: Pick<Runtime, 'timer'>, ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = runtime.timer(ms, () => reject(new Error(`Redis did not answer within ${ms} ms.`)))
    work.then(resolve, reject).finally(stop)
  })
}
