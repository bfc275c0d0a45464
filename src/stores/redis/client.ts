import type { Reply } from './bytes.ts'

/** What goes to Redis as an argument. */
export type Argument = string | Buffer

/** A connection as the store sees it, whatever library it is from. */
export interface RedisClient {
  /**
   * Sends a command and answers with bytes. It is sent at most once: {@link NotSent} says that it was not sent at all, and
   * any other error that is not the server's own that nobody knows.
   */
  send(command: string, args: readonly Argument[]): Promise<Reply>
  close(): Promise<void>
}

/** A command did not leave this process. */
export class NotSent extends Error {
  constructor(cause: unknown) {
    super('Not sent.', { cause })
  }
}
