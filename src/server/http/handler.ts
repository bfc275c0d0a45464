import { SkepError } from '../../index.ts'
import type { Remote } from '../access/guard-contract.ts'
import { BATCH_BOUNDS, JSON_BOUNDS, type JsonBounds } from '../access/read-json.ts'
import type { Redactor } from '../access/redact.ts'
import { type Callable, callerIn, callOperation } from '../call.ts'
import { LISTED, type ListedOperation } from '../operations/table.ts'
import { readJson } from './body.ts'
import { errorResponse } from './errors.ts'
import { inputFromBody, inputFromQuery } from './input.ts'
import { routerOf } from './router.ts'

/** Where the API is, below the path that the server is mounted at. */
export const API = '/api/v1'

/** A request, and what only whoever took it knows. */
export interface Arrival {
  readonly request: Request
  readonly remote: Remote
  /** The path that the server is mounted at: empty, or with a slash in front and none at its end. */
  readonly mount: string
}

export interface HttpEnv extends Callable {
  readonly bodyBytes: number
  /** What hides secrets in errors. */
  readonly redactor: Redactor
  /** Told of errors that are not ours. */
  report(error: unknown): void
}

export type Handle = (arrival: Arrival) => Promise<Response>

/** Answers every request below the mount. It never rejects. */
export function httpHandler(env: HttpEnv): Handle {
  const route = routerOf(LISTED)

  const api = async ({ request, remote }: Arrival, url: URL, path: string): Promise<Response> => {
    const caller = await env.guard.identify(request, remote)
    if (caller instanceof Response) return caller
    const found = route(request.method === 'HEAD' ? 'GET' : request.method, path)
    if (found.kind === 'none') {
      throw new SkepError(
        'NOT_FOUND',
        `There is nothing at ${request.method} ${API}${path}. See ${API}/openapi.json.`,
      )
    }
    if (found.kind === 'method') {
      const allow = found.allow.join(', ')
      throw new SkepError('REQUEST_INVALID', `${request.method} does nothing here. Use ${allow}.`, {
        facts: { status: 405, allow },
      })
    }
    const { operation, params } = found
    const hasBody = request.method === 'POST' || request.method === 'PUT'
    const input = hasBody
      ? inputFromBody(operation.input, params, await readJson(request, env.bodyBytes, boundsOf(operation)))
      : inputFromQuery(operation.input, params, url.searchParams)
    const acting = callerIn(caller, spaceOf(request, url))
    const output = await callOperation(env, operation, input, { caller: acting, signal: request.signal })
    return Response.json(output, { headers: { 'cache-control': 'no-store' } })
  }

  const answer = async (arrival: Arrival): Promise<Response> => {
    const { request, mount } = arrival
    try {
      const url = new URL(request.url)
      const path = url.pathname.startsWith(`${mount}/`)
        ? url.pathname.slice(mount.length)
        : url.pathname === mount
          ? '/'
          : null
      if (path === null) throw new SkepError('NOT_FOUND', 'There is nothing at this address.')
      if (path.startsWith(`${API}/`)) return await api(arrival, url, path.slice(API.length))
      const caller = await env.guard.identify(request, arrival.remote)
      if (caller instanceof Response) return caller
      throw new SkepError('NOT_FOUND', 'There is nothing at this address.')
    } catch (error) {
      if (!(error instanceof SkepError)) env.report(error)
      return errorResponse(error, env.redactor)
    }
  }

  return async (arrival) => {
    const { request, remote } = arrival
    return withHeaders(await answer(arrival), env.guard.headers?.(request, remote) ?? {})
  }
}

/** What its JSON may have. */
function boundsOf({ name }: ListedOperation): JsonBounds {
  return name === 'jobs.enqueueMany' ? BATCH_BOUNDS : JSON_BOUNDS
}

/** The answer with the headers that every one has. What it says itself counts. */
function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  const all = new Headers(headers)
  for (const [name, value] of response.headers) if (name !== 'set-cookie') all.set(name, value)
  for (const cookie of response.headers.getSetCookie()) all.append('set-cookie', cookie)
  return new Response(response.body, { status: response.status, headers: all })
}

/** The space that a request names, in a header, or in its query where a page cannot send one. */
function spaceOf(request: Request, url: URL): string | null {
  return request.headers.get('skep-space') ?? url.searchParams.get('space')
}
