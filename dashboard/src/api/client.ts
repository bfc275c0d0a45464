import type { ApiError, InputOf, OperationName, OutputOf } from '../../../src/operations/schema/wire-types.ts'
import { urlOf } from './base.ts'
import { credentialHeaders } from './credential.ts'
import { parseExact, stringifyExact } from './exact.ts'

/** A call that was refused or got no valid response. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure'
  /** A server error code; `UNREACHABLE` without a response, `UNREADABLE` if the response is not Skep's. */
  readonly code: string
  /** HTTP status; 0 without a response. */
  readonly status: number
  readonly facts: Readonly<Record<string, unknown>>

  constructor(status: number, { code, message, facts = {} }: ApiError['error']) {
    super(message)
    this.status = status
    this.code = code
    this.facts = facts
  }
}

export interface CallOptions {
  readonly signal?: AbortSignal
  /** @default the selected space */
  readonly space?: string
}

/** Calls one server operation by name: `POST api/v1/call/<name>`. */
export async function call<Name extends OperationName>(
  name: Name,
  input: InputOf<Name>,
  options: CallOptions = {},
): Promise<OutputOf<Name>> {
  const response = await send(name, input, options)
  const text = await response.text()
  const body = parseBody(response.status, text)
  if (response.ok) return body as OutputOf<Name>
  throw new ApiFailure(response.status, errorOf(response.status, body))
}

async function send(name: string, input: unknown, { signal, space }: CallOptions): Promise<Response> {
  try {
    return await fetch(urlOf(`api/v1/call/${name}`), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...credentialHeaders(),
        ...(space === undefined ? {} : { 'skep-space': space }),
      },
      body: stringifyExact(input),
      credentials: 'same-origin',
      cache: 'no-store',
      ...(signal ? { signal } : {}),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ApiFailure(0, {
      code: 'UNREACHABLE',
      message: 'The server cannot be reached. This page reconnects automatically.',
    })
  }
}

function parseBody(status: number, text: string): unknown {
  try {
    return text === '' ? {} : parseExact(text)
  } catch {
    throw new ApiFailure(status, {
      code: 'UNREADABLE',
      message: `The response (${status}) is not from a Skep server. Check for a proxy in between.`,
    })
  }
}

function errorOf(status: number, body: unknown): ApiError['error'] {
  const error = (body as Partial<ApiError> | null)?.error
  if (error && typeof error.message === 'string') return error
  return { code: `HTTP_${status}`, message: `The server returned status ${status}.` }
}
