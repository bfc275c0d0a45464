import { type Skep, SkepError } from '../../index.ts'
import { notFound, sees } from '../../operations/authorize/authorize-output.ts'
import type { Remote } from '../../operations/authorize/guard.ts'
import { type Callable, callerIn, callOperation } from '../../operations/call.ts'
import type { Caller } from '../../operations/operation.ts'
import { LISTED, type ListedOperation } from '../../operations/table.ts'
import { stillGood } from '../access/access.ts'
import { BATCH_BOUNDS, JSON_BOUNDS, type JsonBounds } from '../access/read-json.ts'
import { readJson } from './body.ts'
import { errorResponse } from './errors.ts'
import type { Events } from './event-stream.ts'
import type { Files } from './files.ts'
import type { Health } from './health.ts'
import { inputFromBody, inputFromQuery } from './input.ts'
import type { RawRoute } from './route.ts'
import { type Route, routerOf } from './router.ts'
import { afterBody } from './unread.ts'

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
  readonly health: Health
  readonly events: Events
  /** Null: there is no dashboard here. */
  readonly files: Files | null
  readonly routes: readonly RawRoute[]
  /** Texts that are served as they are, by their path below the API. */
  readonly documents: Readonly<Record<string, Document>>
  /** Told of errors that are not ours. */
  report(error: unknown): void
}

export interface Document {
  readonly type: string
  text(): string | null
}

/** A caller who may stay for long. */
type Listening = Caller & Required<Pick<Caller, 'isStillGood'>>

export type Handle = (arrival: Arrival) => Promise<Response>

/** Answers every request below the mount. It never rejects. */
export function httpHandler(env: HttpEnv): Handle {
  const route = routerOf(LISTED, env.routes)

  return async (arrival) => {
    const { request, remote } = arrival
    let response: Response
    try {
      response = await answer(arrival)
    } catch (error) {
      // A client that hangs up breaks the reading of its body, which is nobody's error.
      if (!(error instanceof SkepError) && !request.signal.aborted) env.report(error)
      response = errorResponse(error, env.services.redactor)
    }
    const full = withHeaders(response, env.guard.headers?.(request, remote) ?? {})
    return afterBody(request, full, env.services.runtime)
  }

  async function answer(arrival: Arrival): Promise<Response> {
    const { request, remote, mount } = arrival
    const url = new URL(request.url)
    const path = below(url.pathname, mount)
    if (path === null) throw nothingHere(request, url.pathname)
    // Whether it lives may be asked by anybody: whoever asks knows the address already.
    if (path === '/healthz') return env.health.alive()
    if (path === '/readyz') return env.health.ready()
    const caller = await env.guard.identify(request, remote)
    if (caller instanceof Response) return caller
    const isStillGood = stillGood(env.guard, { request, remote }, caller)
    const acting = { ...callerIn(caller, spaceOf(request, url)), isStillGood }
    if (path.startsWith(`${API}/`)) return api(arrival, acting, url, path.slice(API.length))
    if (path === '/events') return events(arrival, acting, url)
    if (path === '/metrics') return metrics(acting)
    if (request.method !== 'GET' && request.method !== 'HEAD') throw nothingHere(request, path)
    const file = await env.files?.answer(request, path, mount)
    if (!file) throw nothingHere(request, path)
    return file
  }

  async function api(arrival: Arrival, caller: Listening, url: URL, path: string): Promise<Response> {
    const { request } = arrival
    const isGet = request.method === 'GET' || request.method === 'HEAD'
    if (isGet && path === '/events') return events(arrival, caller, url)
    const document = isGet && Object.hasOwn(env.documents, path) ? env.documents[path] : undefined
    if (document) return documentResponse(document)
    const found = route(isGet ? 'GET' : request.method, path)
    if (found.kind === 'none') throw nothingHere(request, `${API}${path}`)
    if (found.kind === 'method') throw wrongMethod(request, found.allow)
    if (found.kind === 'raw') {
      const { name, scope } = { name: found.route.path, scope: found.route.scope }
      env.guard.authorize(caller, { name, scope, isChange: false, queues: [], target: '' })
      return found.route.handle(request, caller, found.params)
    }
    const input = await inputOf(request, url, found)
    const { signal } = request
    const output = await callOperation(env, found.operation, input, { caller, signal })
    return Response.json(output, { headers: { 'cache-control': 'no-store' } })
  }

  async function inputOf(
    request: Request,
    url: URL,
    { operation, params }: Extract<Route, { kind: 'operation' }>,
  ): Promise<unknown> {
    const hasBody = request.method === 'POST' || request.method === 'PUT'
    return hasBody
      ? inputFromBody(operation.input, params, await readJson(request, env.bodyBytes, boundsOf(operation)))
      : inputFromQuery(operation.input, params, url.searchParams)
  }

  /** Listening needs what looking needs. */
  async function events(arrival: Arrival, caller: Listening, url: URL): Promise<Response> {
    const { request } = arrival
    if (request.method !== 'GET') throw wrongMethod(request, ['GET'])
    env.guard.authorize(caller, { name: 'events', scope: 'read', isChange: false, queues: [], target: '' })
    const job = url.searchParams.get('job')
    if (job !== null) await assertVisible(env.skepFor(caller.space), caller, job)
    return env.events.open(caller, { job, signal: request.signal, isAllowed: caller.isStillGood })
  }

  async function metrics(caller: Caller): Promise<Response> {
    env.guard.authorize(caller, {
      name: 'metrics',
      scope: 'read',
      isChange: false,
      queues: ['*'],
      target: '',
    })
    const text = await env.skepFor(caller.space).metrics.prometheus()
    return new Response(text, {
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' },
    })
  }
}

async function assertVisible(skep: Skep, caller: Caller, id: string): Promise<void> {
  const job = await skep.jobs.get(id)
  if (job === null || !sees(caller, job.queue)) throw notFound(`job "${id.slice(0, 64)}"`)
}

/** The path below the mount; null if it is not below. */
function below(path: string, mount: string): string | null {
  if (path === mount) return '/'
  return path.startsWith(`${mount}/`) ? path.slice(mount.length) : null
}

/** The space that a request names, in a header, or in its query where a page cannot send one. */
function spaceOf(request: Request, url: URL): string | null {
  return request.headers.get('skep-space') ?? url.searchParams.get('space')
}

function documentResponse({ type, text }: Document): Response {
  const body = text()
  if (body === null) throw new SkepError('NOT_FOUND', 'This file is not here: a bundler has left it out.')
  return new Response(body, { headers: { 'content-type': type, 'cache-control': 'no-cache' } })
}

function nothingHere(request: Request, path: string): SkepError {
  const at = `${request.method} ${path}`.slice(0, 200)
  return new SkepError('NOT_FOUND', `There is nothing at ${at}. The API is described at ${API}/openapi.json.`)
}

function wrongMethod(request: Request, methods: readonly string[]): SkepError {
  const allow = methods.join(', ')
  return new SkepError('REQUEST_INVALID', `${request.method} does nothing here. Use ${allow}.`, {
    facts: { status: 405, allow },
  })
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
