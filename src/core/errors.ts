/**
 * Every error Skep throws has a code from this closed list, the facts in fields, and a message with a remedy.
 * `docs/errors.md` explains each code; a test fails when one is missing there.
 */
export const ERROR_CODES = [
  'BATCH_ITEM_INVALID',
  'BATCH_TOO_LARGE',
  'CLIENT_MISSING',
  'CLOSED',
  'CONFIG_INVALID',
  'DRAIN_TIMEOUT',
  'DURATION_INVALID',
  'FORBIDDEN',
  'GROUP_SEALED',
  'HEADERS_INVALID',
  'HOLD_UNCONFIRMED',
  'ID_TAKEN',
  'JOB_CANCELLED',
  'JOB_FAILED',
  'JOB_NOT_FOUND',
  'KEY_INVALID',
  'LEASE_LOST',
  'NAME_INVALID',
  'NOT_FOUND',
  'NUMBER_INEXACT',
  'OPTION_INVALID',
  'PAYLOAD_FORBIDDEN_KEY',
  'PAYLOAD_INVALID',
  'PAYLOAD_NOT_JSON',
  'PAYLOAD_TEXT_INVALID',
  'PAYLOAD_TOO_DEEP',
  'PAYLOAD_TOO_LARGE',
  'PAYLOAD_UNREADABLE',
  'QUERY_INVALID',
  'QUEUE_DUPLICATE',
  'QUEUE_IN_USE',
  'QUOTA_EXCEEDED',
  'RECORD_CHANGED',
  'REQUEST_INVALID',
  'REQUEST_TOO_LARGE',
  'RESULT_DISCARDED',
  'RESULT_TIMEOUT',
  'RUN_NOT_WAITING',
  'SCHEDULE_CHANGED',
  'SCHEDULE_DECLARED',
  'SCHEDULE_INVALID',
  'SCHEDULE_NOT_FOUND',
  'SCHEDULE_UNDECLARED',
  'SCHEMA_MISSING',
  'SCHEMA_OUTDATED',
  'SCHEMA_TOO_NEW',
  'SERVER_UNPROTECTED',
  'STORE_BUSY',
  'STORE_REJECTED',
  'STORE_UNAVAILABLE',
  'STORE_UNKNOWN',
  'STORE_UNSAFE',
  'THREAD_MODULE_INVALID',
  'TOO_MANY_REQUESTS',
  'TX_ROLLED_BACK',
  'TX_TIMEOUT',
  'TX_UNSUPPORTED',
  'UNAUTHENTICATED',
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]

// The package may be loaded twice, as ESM and as CommonJS. An error created by one copy must be an instance
// for the other, or a lost reply of its store would not be recognized.
const BRAND = Symbol.for('skep.error')

/** The base class of all errors of Skep. Branch on `code`, show `message` to users. */
export class SkepError extends Error {
  override readonly name: string = 'SkepError'
  /** The class, for `instanceof` across copies of the package. */
  static readonly brand: string = 'SkepError'
  readonly code: ErrorCode
  /** The facts of the message for programs: names, limits, ids. */
  readonly facts: Readonly<Record<string, unknown>>

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly facts?: Readonly<Record<string, unknown>>; readonly cause?: unknown } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.facts = options.facts ?? {}
    Object.defineProperty(this, BRAND, { value: new.target.brand })
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    const brand = (value as Readonly<Record<symbol, unknown>> | null | undefined)?.[BRAND]
    // biome-ignore lint/complexity/noThisInStatic: `this` is the class asked about, which may be a subclass.
    return typeof brand === 'string' && (this.brand === 'SkepError' || this.brand === brand)
  }
}

/**
 * A store call failed. `effect`:
 * `none`: nothing was written;
 * `unknown`: the reply was lost, so it may have been written. Every store call is safe to repeat.
 */
export class StoreError extends SkepError {
  override readonly name = 'StoreError'
  static override readonly brand: string = 'StoreError'
  readonly effect: 'none' | 'unknown'
  /** Whether the same call may succeed later without any change. */
  readonly transient: boolean

  constructor(
    code: 'STORE_BUSY' | 'STORE_UNAVAILABLE' | 'STORE_UNKNOWN' | 'STORE_REJECTED',
    message: string,
    options: { readonly facts?: Readonly<Record<string, unknown>>; readonly cause?: unknown } = {},
  ) {
    super(code, message, options)
    this.effect = code === 'STORE_UNKNOWN' ? 'unknown' : 'none'
    this.transient = code !== 'STORE_REJECTED'
  }
}

/** The lease has expired or another worker holds the job, so the outcome of this attempt was not saved. */
export class LeaseLostError extends SkepError {
  override readonly name = 'LeaseLostError'
  static override readonly brand: string = 'LeaseLostError'
  readonly jobId: string

  constructor(jobId: string, options: { readonly cause?: unknown } = {}) {
    super(
      'LEASE_LOST',
      `The lease on job "${jobId}" was lost, so its outcome was not saved: the job is attempted again elsewhere. ` +
        'If handlers block the event loop for long, raise leaseMs or move them to a thread.',
      { ...options, facts: { jobId } },
    )
    this.jobId = jobId
  }
}

/** The message of any thrown value, even of one that cannot be read. */
export function messageOf(thrown: unknown): string {
  try {
    const text = thrown instanceof Error ? (thrown.message as unknown) : thrown
    return typeof text === 'string' ? text : (jsonOf(text) ?? String(text))
  } catch {
    return `A thrown ${typeof thrown} that cannot be read`
  }
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

/**
 * The error for a client library that could not be imported. It is not installed only if the error names the
 * package itself; otherwise it, or one of its imports, is broken, and advice to install it would mislead.
 * @param advice What to do if it is not installed; ends the message.
 */
export function clientMissing(name: string, cause: unknown, advice: string): SkepError {
  const message = isNotFound(name, cause)
    ? advice
    : `The package "${name}" could not be loaded: ${briefly(cause)}. It is installed, so look at the cause and reinstall it.`
  return new SkepError('CLIENT_MISSING', message, { cause, facts: { package: name } })
}

function isNotFound(name: string, cause: unknown): boolean {
  const { code } = (cause ?? {}) as { code?: unknown }
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return false
  // Node: Cannot find package 'pg' imported from …; require: Cannot find module 'pg'. Others: "pg".
  return /Cannot find (?:package|module) ['"]([^'"]+)['"]/.exec(messageOf(cause))?.[1] === name
}

/** The first line: a failed require appends a list of files. */
function briefly(cause: unknown): string {
  return messageOf(cause).split('\n', 1)[0]!.replace(/\.$/, '')
}
