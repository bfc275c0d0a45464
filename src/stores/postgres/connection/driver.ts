import type { Runtime } from '../../../runtime/runtime.ts'

/** A value on its way to the server. Everything goes as text and is cast there, so all clients send the same. */
export type Param = string | null

/** One row: its values in the order of the columns. */
export type Row = readonly unknown[]

export type Query = (text: string, params: readonly Param[]) => Promise<readonly Row[]>

/** What the store needs of a client library. One for `pg`, one for `postgres`. */
export interface Driver {
  /** One statement, which is its own transaction. Rejects with {@link NotSent} when the server never saw it. */
  query(text: string, params: readonly Param[], timeoutMs: number): Promise<readonly Row[]>
  /** Several statements on one connection, in one transaction. */
  transaction<T>(run: (query: Query) => Promise<T>, timeoutMs: number): Promise<T>
  /** A connection of its own, outside any pool: for LISTEN and for locks that last as long as it does. */
  connect(events: ConnectionEvents): Promise<Connection>
  close(): Promise<void>
}

export interface ConnectionEvents {
  onNotification(channel: string, payload: string): void
  /** It is over, whoever ended it. Comes once. */
  onEnd(): void
}

export interface Connection {
  query: Query
  /** The process of the server, as the login told; a pooler tells a number that is none. Null: the library does not say. */
  readonly loginPid: string | null
  /** Ends it now, without waiting for the server. */
  destroy(): void
}

/** The statement did not reach the server, so it certainly had no effect. */
export class NotSent extends Error {
  override readonly name = 'NotSent'

  constructor(cause: unknown) {
    super('The statement was not sent.', { cause })
  }
}

/** No answer within the time of a call. */
export class DeadlineOver extends Error {
  override readonly name = 'DeadlineOver'

  constructor(ms: number) {
    super(`PostgreSQL did not answer within ${ms} ms.`)
  }
}

/**
 * The outcome of `work`, unless it takes longer than `ms`. Whatever comes after that is handed to `late`, so that a
 * connection which was granted too late is given back.
 */
export function withDeadline<T>(
  runtime: Pick<Runtime, 'timer'>,
  ms: number,
  work: Promise<T>,
  late?: (value: T) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let over = false
    const stop = runtime.timer(ms, () => {
      over = true
      reject(new DeadlineOver(ms))
    })
    work.then(
      (value) => {
        if (over) return late?.(value)
        stop()
        resolve(value)
      },
      (error: unknown) => {
        if (over) return
        stop()
        reject(error as Error)
      },
    )
  })
}
