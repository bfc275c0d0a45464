import { Code, ConnectError } from '@connectrpc/connect'
import type { Redactor } from '../../operations/redaction/redact.ts'
import { apiErrorOf, retryAfterOf } from '../http/errors.ts'

/** What a status of HTTP is called here. */
const CODES: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  405: Code.Unimplemented,
  409: Code.FailedPrecondition,
  410: Code.NotFound,
  413: Code.ResourceExhausted,
  422: Code.InvalidArgument,
  429: Code.ResourceExhausted,
  503: Code.Unavailable,
  504: Code.DeadlineExceeded,
}

/** The error as clients see it: our code in the header `skep-code`, when to come again in `retry-after`, no secrets, and nothing of errors that are not ours. */
export function connectError(error: unknown, redactor: Redactor): ConnectError {
  if (error instanceof ConnectError) return error
  const { status, body } = apiErrorOf(error, redactor)
  const seconds = retryAfterOf(error, status)
  return new ConnectError(body.error.message, CODES[status] ?? Code.Internal, {
    'skep-code': body.error.code,
    ...(seconds === null ? {} : { 'retry-after': String(seconds) }),
  })
}
