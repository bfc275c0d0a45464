import { messageOf, SkepError, StoreError } from '../../core/errors.ts'
import { NotSent } from './connection/client.ts'
import { SCHEMA } from './lua/script.ts'

/** What the server says when it did nothing, and may do it later. */
const NOT_NOW =
  /^(LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|READONLY|NOREPLICAS|NOSCRIPT|OOM|MISCONF|MOVED|ASK)\b|Script killed by user|max number of clients reached/

/** What the server says when it did nothing, and never will. */
const REFUSED = /^(ERR|WRONGTYPE|NOAUTH|NOPERM|WRONGPASS|CROSSSLOT|DENIED|EXECABORT)\b/

/** Before Redis 7 an error inside of a script comes wrapped in words; a cluster that gave up quotes the last one. */
const WRAPPED =
  /(?:@user_script: ?\d+: -|Too many Cluster redirections\. Last error: ReplyError: )([A-Z]+ .*)$/s

/** Turns whatever a client library threw into what the store contract promises. */
export function toStoreError(error: unknown): SkepError {
  if (error instanceof SkepError) return error
  if (error instanceof NotSent) {
    return new StoreError('STORE_UNAVAILABLE', `Redis cannot be reached: ${reason(error.cause)}.`, {
      cause: error.cause,
    })
  }
  if (/^(MOVED|ASK) /.test(messageOf(error))) {
    return new StoreError(
      'STORE_REJECTED',
      'The server is a node of a cluster, and another node has the keys. Give the store a Cluster of ioredis as its client.',
      { cause: error },
    )
  }
  const message = reason(error)
  const schema = /^SKEPSCHEMA (\d+)/.exec(message)
  if (schema) return wrongSchema(Number(schema[1]))
  if (isOutOfMemory(error)) {
    return new StoreError(
      'STORE_UNAVAILABLE',
      'The memory of Redis is full (maxmemory), so it takes no more jobs. Those that are there go on. Give it more memory, or wait.',
      { cause: error },
    )
  }
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

/** The server's memory is full, and nothing was done. */
export function isOutOfMemory(error: unknown): boolean {
  return reason(error).startsWith('OOM ')
}

function wrongSchema(found: number): SkepError {
  return found > SCHEMA
    ? new SkepError(
        'SCHEMA_TOO_NEW',
        `The data has been migrated by a newer version of Skep (${found}). Update this program.`,
        { facts: { found, known: SCHEMA } },
      )
    : new SkepError(
        'SCHEMA_OUTDATED',
        `The data is of an older version of Skep (${found} instead of ${SCHEMA}). Run "npx skep migrate".`,
        { facts: { found, known: SCHEMA } },
      )
}

function reason(error: unknown): string {
  // Several addresses of one host fail together, and the collective error says nothing itself.
  const inner = error instanceof AggregateError ? error.errors[0] : error
  const message = messageOf(inner)
  return (WRAPPED.exec(message)?.[1] ?? message).replace(/\.$/, '')
}
