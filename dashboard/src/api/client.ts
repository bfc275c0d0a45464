import type { ApiError, InputOf, OperationName, OutputOf } from '../../../src/operations/schema/wire-types.ts'
import { urlOf } from './base.ts'
import { credentialHeaders } from './credential.ts'
import { parseExact, stringifyExact } from './exact.ts'

/** An operation was refused, or could not be asked for. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure'
  /** Of the server's closed list; `UNREACHABLE` if there was no answer, `UNREADABLE` if it was none of ours. */
  readonly code: string
  /** Of HTTP; 0 if there was no answer. */
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
  /** @default the one that was chosen */
  readonly space?: string
}

/** Asks the server for one operation, by its name. Every one is reachable this way: `POST api/v1/call/<name>`. */
export async function call<Name extends OperationName>(
  name: Name,
  input: InputOf<Name>,
  options: CallOptions = {},
): Promise<OutputOf<Name>> {
  const response = await ask(name, input, options)
  const text = await response.text()
  const answer = readAnswer(response.status, text)
  if (response.ok) return answer as OutputOf<Name>
  throw new ApiFailure(response.status, refusalOf(response.status, answer))
}

async function ask(name: string, input: unknown, { signal, space }: CallOptions): Promise<Response> {
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
      message: 'The server does not answer. This page goes on by itself when it is back.',
    })
  }
}

function readAnswer(status: number, text: string): unknown {
  try {
    return text === '' ? {} : parseExact(text)
  } catch {
    throw new ApiFailure(status, {
      code: 'UNREADABLE',
      message: `The answer (${status}) is not of a Skep server. Is a proxy in between?`,
    })
  }
}

function refusalOf(status: number, answer: unknown): ApiError['error'] {
  const error = (answer as Partial<ApiError> | null)?.error
  if (error && typeof error.message === 'string') return error
  return { code: `HTTP_${status}`, message: `The server refused with ${status}.` }
}
