import { messageOf, SkepError, StoreError } from '../../core/errors.ts'
import { idTakenError, runTakenError } from '../../core/jobs/taken-ids.ts'
import { DeadlineOver, NotSent, type Query } from './connection/driver.ts'
import { TAKEN } from './sql/jobs/insert.ts'

/** The SQLSTATE of an error that the server reported, wherever a library put it. */
export function sqlState(error: unknown): string | undefined {
  for (let e = error, depth = 0; typeof e === 'object' && e !== null && depth < 5; depth++) {
    const { code, cause, original, driverError } = e as Record<string, unknown>
    if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return code
    e = cause ?? original ?? driverError
  }
  return undefined
}

/** Worth trying again at once: two transactions got in each other's way and this one was undone. */
export function isCollision(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40001' || state === '40P01'
}

// Classes and codes after which the same call may succeed later: broken-off transactions, resources, operator
// intervention, "not now", and a server that is, for the moment, read-only.
const TRANSIENT = /^(40...|53...|57...|55P03|25006|58030)$/
const LOST = /^08...$/
// A wrong user or password, and a database that does not exist or may not be used.
const LOGIN = /^(28...|3D000|42501)$/
// The server asks for a password, and the client has none: pg gives up by itself, without a code.
const NO_PASSWORD = /^SASL: .*client password must be/
const MISSING = /^(42P01|42883|3F000)$/

/** Turns whatever a client library threw into what the store contract promises. */
export function toStoreError(error: unknown, schema: string): SkepError {
  if (error instanceof SkepError) return error
  if (error instanceof NotSent) {
    const refusal = sqlState(error.cause)
    if (refusal !== undefined ? LOGIN.test(refusal) : NO_PASSWORD.test(messageOf(error.cause))) {
      return new StoreError(
        'STORE_REJECTED',
        `PostgreSQL refused the login: ${reason(error.cause)}. Check the user, the password and the database of the URL.`,
        { cause: error.cause, ...(refusal === undefined ? {} : { facts: { sqlState: refusal } }) },
      )
    }
    if (refusal === '08P01' && messageOf(error.cause).includes('unsupported startup parameter')) {
      return new StoreError(
        'STORE_REJECTED',
        `A pooler refused the login: ${reason(error.cause)}. ${startupFix(messageOf(error.cause))}`,
        { cause: error.cause, facts: { sqlState: refusal } },
      )
    }
    return new StoreError('STORE_UNAVAILABLE', `PostgreSQL cannot be reached: ${reason(error.cause)}.`, {
      cause: error.cause,
    })
  }
  if (error instanceof DeadlineOver) {
    return new StoreError('STORE_UNKNOWN', `${error.message} The call may have happened.`, { cause: error })
  }
  const state = sqlState(error)
  const facts = state === undefined ? {} : { sqlState: state }
  if (state === undefined || LOST.test(state)) {
    return new StoreError(
      'STORE_UNKNOWN',
      `The connection to PostgreSQL was lost before it answered: ${reason(error)}. The call may have happened.`,
      { cause: error, facts },
    )
  }
  if (state === TAKEN) return refusalOf(reason(error))
  if (MISSING.test(state)) return schemaMissing(schema, error)
  if (TRANSIENT.test(state)) {
    return new StoreError('STORE_UNAVAILABLE', `PostgreSQL cannot do this now: ${reason(error)}.`, {
      cause: error,
      facts,
    })
  }
  return new StoreError('STORE_REJECTED', `PostgreSQL refused the call: ${reason(error)}.`, {
    cause: error,
    facts,
  })
}

/** PgBouncer takes no settings at the login but those it is told to ignore. The store sends one unless it shall not listen. */
function startupFix(said: string): string {
  return said.includes('statement_timeout')
    ? 'Pass listen: false to postgresStore, or use the address of the server itself. If the pooler keeps sessions ' +
        '(pool_mode = session), add statement_timeout to its ignore_startup_parameters instead.'
    : 'Take the setting out of the URL, or add it to ignore_startup_parameters of the pooler.'
}

/** A query in a transaction of the user's, whose errors stay as they are but for the one that is ours. */
export function refusing(query: Query): Query {
  return async (text, params) => {
    try {
      return await query(text, params)
    } catch (error) {
      const said = messageOf(error)
      throw IS_TAKEN.test(said) ? refusalOf(said) : error
    }
  }
}

/** Libraries put words of their own around what the server said. */
function refusalOf(said: string): SkepError {
  const rows = JSON.parse(said.slice(said.indexOf('[['), said.lastIndexOf(']]') + 2)) as [string, string][]
  return said.includes('skep: taken runs')
    ? runTakenError(rows.map(([id, flow]) => ({ id, flow })))
    : idTakenError(rows.map(([id, queue]) => ({ id, queue })))
}

const IS_TAKEN = /skep: taken (?:runs )?\[\[/

export function schemaMissing(schema: string, cause?: unknown): SkepError {
  return new SkepError(
    'SCHEMA_MISSING',
    `The tables of Skep are not in schema "${schema}". Run "npx skep migrate", or pass migrate: true to postgresStore.`,
    { facts: { schema }, ...(cause === undefined ? {} : { cause }) },
  )
}

function reason(error: unknown): string {
  // Several addresses of one host fail together, and the collective error says nothing itself.
  const inner = error instanceof AggregateError ? error.errors[0] : error
  return messageOf(inner).replace(/\.$/, '')
}
