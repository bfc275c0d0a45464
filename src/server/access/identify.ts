/**
 * Who asks. Nothing of a server is given to anybody before this has answered, files included. In this order:
 *
 *   1. whether it came encrypted, or from this machine
 *   2. a token in `authorization: Bearer`: whoever brings one is judged by it alone
 *   3. the host that is asked for
 *   4. a login or a logout
 *   5. the session of a cookie, then the user's own `auth`, then whether the server is open
 *   6. the page that asks, for 4 and 5: no browser can be made to ask for another site's page
 *
 * A token in the header needs neither 3 nor 6: a page that does not know it cannot send it, and one that knows it needs no browser of yours.
 */
import { hostname } from 'node:os'
import { assertName, EVERY_SPACE, type Logger, type Runtime, SkepError } from '../../index.ts'
import { callerOf } from '../../operations/authorize/authorize.ts'
import type { Credential } from '../../operations/authorize/credential.ts'
import type { Remote } from '../../operations/authorize/guard.ts'
import type { Caller } from '../../operations/operation.ts'
import { SCOPES } from '../../operations/schema/wire-types.ts'
import { assertGrant } from '../option-keys.ts'
import { Rates } from '../quotas/rates.ts'
import { findGiven, isOver, type ResolvedGiven } from '../tokens/static-tokens.ts'
import { resolveFields } from '../tokens/token-fields.ts'
import { credentialOf, type Tokens } from '../tokens/tokens.ts'
import {
  formToken,
  isLoginForm,
  isVisit,
  jsonToken,
  loginPage,
  readCookie,
  type Sessions,
  type SessionToken,
  writeCookie,
} from './login.ts'
import type { Grant, ResolvedAccess } from './options.ts'
import { clientOf, isForwarded, isLoopback, networkOf, refuseForeign, refuseHost } from './request-checks.ts'

export interface IdentifyParts {
  readonly options: ResolvedAccess
  readonly tokens: Tokens
  readonly sessions: Sessions
  readonly given: readonly ResolvedGiven[]
  readonly runtime: Runtime
  readonly logger: Logger
  /** The space of the server's Skep. */
  readonly space: string
  /** What the server listens on; null: it is mounted in another one. */
  listens(): string | null
  /** Whether who asks from this machine without a credential may do everything. */
  isOpen(): Promise<boolean>
}

/** A token that was shown, and what it lets its holder do. */
interface Shown {
  readonly session: SessionToken
  readonly credential: Credential
  readonly expiresAt: number | null
}

export class Identifier {
  readonly #parts: IdentifyParts
  readonly #failures: Rates
  #complainedAt = -Infinity

  constructor(parts: IdentifyParts) {
    this.#parts = parts
    this.#failures = new Rates(parts.options.failures, parts.runtime)
  }

  async identify(request: Request, socket: Remote): Promise<Caller | Response> {
    const { options } = this.#parts
    const remote = clientOf(request, socket, options.proxies)
    this.#refusePlain(remote)
    const bearer = bearerOf(request)
    if (bearer !== null) {
      const shown = await this.#look(bearer, remote)
      if (shown) return callerOf(shown.credential, remote.address)
      // It may be meant for the user's own login, but never for a session or an open server.
      if (options.auth === null) throw this.#refused(remote)
    }
    this.#refuseOtherHosts(request)
    const path = new URL(request.url).pathname
    const isLogin = request.method === 'POST' && path.endsWith('/api/v1/login')
    const isLogout = request.method === 'POST' && path.endsWith('/api/v1/logout')
    if (isLogin || isLogout || isLoginForm(request)) {
      // Only our own form may be one: every other body must be of a type that no page of another site can send.
      refuseForeign(request, !isLogin && !isLogout)
      if (isLogout) return this.#logout(request, remote)
      return isLogin ? this.#login(request, remote) : this.#loginByForm(request, remote)
    }
    const credential = await this.#credential(request, remote, socket, bearer)
    if (credential instanceof Response) return credential
    if (credential !== null) {
      refuseForeign(request)
      return callerOf(credential, remote.address)
    }
    if (isVisit(request)) return loginPage(401, null)
    throw unauthenticated()
  }

  async #credential(
    request: Request,
    remote: Remote,
    socket: Remote,
    bearer: string | null,
  ): Promise<Credential | Response | null> {
    const { options, sessions, space } = this.#parts
    const cookie = bearer === null ? readCookie(request.headers.get('cookie'), remote.isEncrypted) : null
    const session = cookie === null ? null : await sessions.verify(cookie)
    const known = session && (await this.#bySession(session))
    if (known) return known
    const grant = options.auth ? await options.auth(request) : null
    if (grant instanceof Response) return grant
    if (grant !== null) return this.#granted(grant, space)
    if (bearer !== null) throw this.#refused(remote)
    if (options.insecure) return { ...EVERYTHING, name: 'anyone', space }
    // Who was sent on by a proxy on this machine comes from its address, and may be anybody.
    if (!isLoopback(socket.address) || isForwarded(request) || !(await this.#parts.isOpen())) return null
    this.#refuseHost(request)
    return { ...EVERYTHING, name: 'local', space }
  }

  #granted(grant: Grant, space: string): Credential {
    try {
      return credentialOfGrant(grant, space)
    } catch (cause) {
      const { runtime, logger } = this.#parts
      // Every request of a wrong login comes here: one line in ten seconds says as much.
      if (runtime.mono() - this.#complainedAt >= COMPLAINT_MS) {
        this.#complainedAt = runtime.mono()
        logger.error(
          'The auth of this server returned a grant that cannot be used; the request was refused',
          {
            error: cause,
          },
        )
      }
      throw new SkepError(
        'CONFIG_INVALID',
        'The auth of this server returned a grant that cannot be used. The log of the server says why.',
        { cause },
      )
    }
  }

  #refusePlain({ address, isEncrypted }: Remote): void {
    const { options, listens } = this.#parts
    // What comes through another program's port, or without any, is for that program to judge.
    if (isEncrypted || address === null || isLoopback(address) || listens() === null) return
    if (options.plainHttp || options.insecure) return
    throw new SkepError(
      'FORBIDDEN',
      'This request came over plain http. Ask by https; a proxy has to say so with "x-forwarded-proto: https". Whoever runs ' +
        'the server can allow plain http (plainHttp; --plain-http).',
    )
  }

  #refuseOtherHosts(request: Request): void {
    const { options, listens } = this.#parts
    // The program that a server is mounted in knows its own names; for an open one they are looked at later.
    if (listens() !== null || options.hosts.length > 0) this.#refuseHost(request)
  }

  #refuseHost(request: Request): void {
    const { options, listens } = this.#parts
    const header = request.headers.get('host') ?? new URL(request.url).host
    refuseHost(header, { listens: listens(), hosts: options.hosts, machine: hostname() })
  }

  // ── tokens and sessions ────────────────────────────────────────────────────────────────────────

  /** The token behind a text. Somebody who has tried too many is not even looked up, unless that costs nothing. */
  async #look(text: string, remote: Remote): Promise<Shown | null> {
    const { tokens, given, runtime } = this.#parts
    const one = findGiven(given, text, runtime.now())
    if (one)
      return {
        session: { id: one.id, from: 'given' },
        credential: credentialOf(one),
        expiresAt: one.expiresAt,
      }
    const waitMs = this.#failures.wait(networkOf(remote.address))
    if (waitMs > 0 && !tokens.isRemembered(text)) throw tooMany(waitMs)
    const token = await tokens.verify(text)
    return (
      token && {
        session: { id: token.id, from: 'store' },
        credential: credentialOf(token),
        expiresAt: token.expiresAt,
      }
    )
  }

  async #bySession({ id, from }: SessionToken): Promise<Credential | null> {
    const { tokens, given, runtime } = this.#parts
    const token = from === 'store' ? await tokens.get(id) : given.find((one) => one.id === id)
    return token && !isOver(token, runtime.now()) ? credentialOf(token) : null
  }

  /** Counts a wrong credential, and says what to answer to it. */
  #refused({ address }: Remote): SkepError {
    const waitMs = this.#failures.take(networkOf(address))
    return waitMs > 0 ? tooMany(waitMs) : unauthenticated()
  }

  // ── logging in ─────────────────────────────────────────────────────────────────────────────────

  async #login(request: Request, remote: Remote): Promise<Response> {
    const shown = await this.#look(await jsonToken(request), remote)
    if (!shown) throw this.#refused(remote)
    return Response.json(
      {},
      { headers: { 'set-cookie': await this.#begin(shown, remote), 'cache-control': 'no-store' } },
    )
  }

  async #loginByForm(request: Request, remote: Remote): Promise<Response> {
    let problem: SkepError | null = null
    try {
      const shown = await this.#look(await formToken(request), remote)
      if (shown) {
        const { pathname, search } = new URL(request.url)
        // The path of this very request and nothing else, so that nobody can be sent elsewhere after a login.
        const location = pathname.replace(/^\/+/, '/') + search
        const headers = {
          location,
          'set-cookie': await this.#begin(shown, remote),
          'cache-control': 'no-store',
        }
        return new Response(null, { status: 303, headers })
      }
      problem = this.#refused(remote)
    } catch (error) {
      if (!(error instanceof SkepError) || error.code !== 'TOO_MANY_REQUESTS') throw error
      problem = error
    }
    if (problem.code !== 'TOO_MANY_REQUESTS')
      return loginPage(401, 'That is not a token of this server, or not any more.')
    const retryAfter = String(Math.ceil(Number(problem.facts['retryAfterMs']) / 1_000))
    return loginPage(429, 'Too many wrong tokens. Wait a little.', { 'retry-after': retryAfter })
  }

  async #begin({ session, expiresAt }: Shown, { isEncrypted }: Remote): Promise<string> {
    const { value, lastsMs } = await this.#parts.sessions.begin(session, expiresAt)
    return writeCookie(value, lastsMs, isEncrypted)
  }

  async #logout(request: Request, { isEncrypted }: Remote): Promise<Response> {
    const cookie = readCookie(request.headers.get('cookie'), isEncrypted)
    if (cookie !== null) await this.#parts.sessions.end(cookie)
    const headers = { 'set-cookie': writeCookie(null, 0, isEncrypted), 'cache-control': 'no-store' }
    return Response.json({}, { headers })
  }
}

/** How often an unusable grant is logged. */
const COMPLAINT_MS = 10_000

const EVERYTHING = { scopes: SCOPES, spaces: '*', queues: ['*'], payloads: true } as const

/** What your own `auth` said, checked as a token's fields are. A name may be anything that fits in a line. */
function credentialOfGrant(grant: Grant, space: string): Credential {
  assertGrant(grant)
  const fields = resolveFields({ ...grant, name: 'grant', space: grant.space ?? space })
  return {
    name: nameOf(grant.name),
    scopes: fields.scopes,
    space: fields.space === EVERY_SPACE ? space : fields.space,
    spaces: fields.space === EVERY_SPACE ? '*' : spacesOf(grant.spaces ?? null),
    queues: fields.queues,
    payloads: fields.payloads,
  }
}

/** A single name is refused: looked for in a text, "shop" would be found in "workshop". */
function spacesOf(spaces: Grant['spaces'] | null): readonly string[] | '*' | null {
  if (spaces === null || spaces === undefined || spaces === '*') return spaces ?? null
  if (!Array.isArray(spaces)) throw new SkepError('OPTION_INVALID', 'spaces takes a list of names, or "*".')
  for (const space of spaces) assertName('Space', space)
  return spaces
}

function nameOf(name: unknown): string {
  const clean = typeof name === 'string' ? name.replace(/[\p{C}\p{Z}]+/gu, ' ').trim() : ''
  if (clean === '') throw new SkepError('OPTION_INVALID', 'A grant needs a name.')
  return clean.slice(0, 100)
}

/** The token in the header; null: there is no such header. One that is no token is an empty text, which fits nothing. */
function bearerOf(request: Request): string | null {
  const header = request.headers.get('authorization')
  if (header === null) return null
  const [, token] = /^bearer +([^\s]{1,600})$/i.exec(header) ?? []
  return token ?? ''
}

function unauthenticated(): SkepError {
  return new SkepError(
    'UNAUTHENTICATED',
    'Say who you are: send "authorization: Bearer <token>", or log in. "skep tokens create" makes a token.',
  )
}

function tooMany(retryAfterMs: number): SkepError {
  return new SkepError(
    'TOO_MANY_REQUESTS',
    'Too many wrong credentials came from this address. Wait a little.',
    {
      facts: { retryAfterMs },
    },
  )
}
