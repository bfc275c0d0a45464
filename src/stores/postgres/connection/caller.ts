import { SkepError } from '../../../core/errors.ts'
import { type Runtime, sleep } from '../../../runtime/runtime.ts'
import { isCollision, toStoreError } from '../errors.ts'
import type { Driver, Param, Query, Row } from './driver.ts'

const TRIES = 6

/** Sends the store's statements: each with a deadline, again after a collision, its errors in our terms. */
export interface Caller {
  call: Query
  transaction<T>(run: (query: Query) => Promise<T>, timeoutMs?: number): Promise<T>
}

export function createCaller(options: {
  readonly driver: () => Promise<Driver>
  readonly runtime: Runtime
  readonly schema: string
  readonly timeoutMs: number
  readonly isClosed: () => boolean
}): Caller {
  const { driver, runtime, schema, timeoutMs, isClosed } = options

  async function attempt<T>(send: (driver: Driver) => Promise<T>): Promise<T> {
    if (isClosed()) throw new SkepError('CLOSED', 'The store is closed.')
    try {
      const opened = await driver()
      for (let tries = 1; ; tries++) {
        try {
          return await send(opened)
        } catch (error) {
          if (tries === TRIES || !isCollision(error)) throw error
          await sleep(runtime, runtime.random() * 5 * 2 ** tries)
        }
      }
    } catch (error) {
      throw toStoreError(error, schema)
    }
  }

  return {
    call: (text: string, params: readonly Param[]): Promise<readonly Row[]> =>
      attempt((opened) => opened.query(text, params, timeoutMs)),
    transaction: (run, ms = timeoutMs) => attempt((opened) => opened.transaction(run, ms)),
  }
}
