import { messageOf, SkepError, StoreError } from '../../core/errors.ts'
import { NotSent } from './client.ts'

/** What the server says when it did nothing, and may do it later. */
const NOT_NOW = /^(LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|READONLY|NOREPLICAS|OOM|MISCONF|MOVED|ASK)\b/

/** What the server says when it did nothing, and never will. */
const REFUSED = /^(ERR|WRONGTYPE|NOAUTH|NOPERM|WRONGPASS|CROSSSLOT|NOSCRIPT|DENIED|EXECABORT)\b/

/** Turns whatever a client library threw into what the store contract promises. */
export function toStoreError(error: unknown): SkepError {
  if (error instanceof SkepError) return error
  if (error instanceof NotSent) {
    return new StoreError('STORE_UNAVAILABLE', `Redis cannot be reached: ${reason(error.cause)}.`, {
      cause: error.cause,
    })
  }
  const message = reason(error)
  if (NOT_NOW.test(message))
    return new StoreError('STORE_UNAVAILABLE', `Redis cannot do this now: ${message}.`, { cause: error })
  if (REFUSED.test(message))
    return new StoreError('STORE_REJECTED', `Redis refused the call: ${message}.`, { cause: error })
  return new StoreError(
    'STORE_UNKNOWN',
    `The connection to Redis was lost before it answered: ${message}. The call may have happened.`,
    { cause: error },
  )
}

function reason(error: unknown): string {
  return messageOf(error).replace(/\.$/, '')
}
