import { type ErrorCode, SkepError } from '../../index.ts'
import { redactor as makeRedactor, type Redactor } from '../../operations/redaction/redact.ts'
import type { ApiError } from '../../operations/schema/wire-types.ts'

/** What each code is in HTTP. What is not in this list is the caller's to mend: 400. */
const STATUS: Readonly<Partial<Record<ErrorCode, number>>> = {
  BATCH_TOO_LARGE: 413,
  CLIENT_MISSING: 500,
  CLOSED: 503,
  CONFIG_INVALID: 500,
  DRAIN_TIMEOUT: 504,
  FORBIDDEN: 403,
  GROUP_SEALED: 409,
  HOLD_UNCONFIRMED: 504,
  ID_TAKEN: 409,
  JOB_CANCELLED: 409,
  JOB_FAILED: 409,
  JOB_NOT_FOUND: 404,
  LEASE_LOST: 409,
  NOT_FOUND: 404,
  PAYLOAD_INVALID: 422,
  PAYLOAD_TOO_LARGE: 413,
  PAYLOAD_UNREADABLE: 409,
  QUEUE_DUPLICATE: 500,
  QUEUE_IN_USE: 409,
  RUN_NOT_WAITING: 409,
  QUOTA_EXCEEDED: 429,
  REQUEST_TOO_LARGE: 413,
  RESULT_DISCARDED: 410,
  RESULT_TIMEOUT: 504,
  SCHEDULE_CHANGED: 409,
  SCHEDULE_DECLARED: 409,
  SCHEDULE_NOT_FOUND: 404,
  SCHEDULE_UNDECLARED: 409,
  SCHEMA_MISSING: 503,
  SCHEMA_OUTDATED: 503,
  SCHEMA_TOO_NEW: 503,
  STORE_BUSY: 503,
  STORE_REJECTED: 500,
  STORE_UNAVAILABLE: 503,
  STORE_UNKNOWN: 503,
  STORE_UNSAFE: 503,
  THREAD_MODULE_INVALID: 500,
  TOO_MANY_REQUESTS: 429,
  TX_ROLLED_BACK: 500,
  TX_TIMEOUT: 500,
  TX_UNSUPPORTED: 500,
  UNAUTHENTICATED: 401,
}

const USUAL = makeRedactor()

export function statusOf(code: ErrorCode): number {
  return STATUS[code] ?? 400
}

/** What is told to whoever asked. Of an error that is not ours nothing is told: it may hold secrets. */
export function apiErrorOf(
  error: unknown,
  redactor: Redactor = USUAL,
): { readonly status: number; readonly body: ApiError } {
  if (!(error instanceof SkepError)) {
    return {
      status: 500,
      body: {
        error: { code: 'INTERNAL', message: 'Something went wrong in the server. Its log says what.' },
      },
    }
  }
  const facts = Object.keys(error.facts).length === 0 ? {} : { facts: redactor.value(error.facts) }
  const message = redactor.text(error.message)
  const status = typeof error.facts['status'] === 'number' ? error.facts['status'] : statusOf(error.code)
  return { status, body: { error: { code: error.code, message, ...facts } } }
}

/** In how many seconds it is worth another try; null where waiting does not help. */
export function retryAfterOf(error: unknown, status: number): number | null {
  if (!(error instanceof SkepError)) return null
  const { retryAfterMs } = error.facts
  if (typeof retryAfterMs === 'number') return Math.ceil(retryAfterMs / 1_000)
  return status === 503 ? 1 : null
}

/** An answer for an error. */
export function errorResponse(error: unknown, redactor: Redactor = USUAL): Response {
  const { status, body } = apiErrorOf(error, redactor)
  const headers: Record<string, string> = { 'cache-control': 'no-store' }
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="skep"'
  if (error instanceof SkepError) {
    const { allow } = error.facts
    const seconds = retryAfterOf(error, status)
    if (seconds !== null) headers['retry-after'] = String(seconds)
    if (typeof allow === 'string') headers['allow'] = allow
  }
  return Response.json(body, { status, headers })
}
