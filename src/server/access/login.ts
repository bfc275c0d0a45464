import { createHash } from 'node:crypto'
import { EVERY_SPACE, type RecordStore, type Runtime, type StoredRecord } from '../../index.ts'
import { RecordCache } from '../tokens/record-cache.ts'
import { hashOf, isSecret, makeSecret, parseSecret, secretText } from '../tokens/secret.ts'

/**
 * What people see who have not logged in: one page without a script, a picture or another file, so that nothing else of the server
 * is given to them. Its form is sent to the address of the page itself, which therefore need not know where it is mounted.
 */

const STYLE = `
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; min-height: 100vh; display: grid; place-items: center;
  background: light-dark(#f6f5f2, #16171a); color: light-dark(#1d1d1f, #ececec) }
form { width: min(22rem, 88vw); display: grid; gap: .75rem }
h1 { font-size: 1.25rem; margin: 0 }
p { margin: 0; font-size: .875rem; opacity: .8 }
p[role=alert] { color: light-dark(#b00020, #ff8a8a); opacity: 1 }
input, button { font: inherit; padding: .6rem .75rem; border-radius: .5rem; border: 1px solid light-dark(#c9c7c0, #44464d) }
input { background: light-dark(#fff, #202226); color: inherit }
button { background: light-dark(#1d1d1f, #ececec); color: light-dark(#fff, #16171a); border: 0; cursor: pointer }
:focus-visible { outline: 3px solid #d99a1c; outline-offset: 2px }
`
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** The page, with what went wrong the last time. */
export function loginPage(
  status: 401 | 429,
  problem: string | null,
  headers: Record<string, string> = {},
): Response {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Log in to Skep</title>
<style>${STYLE}</style>
</head>
<body>
<form method="post">
<h1>Log in to Skep</h1>
<p>Enter an access token. An administrator creates one with <code>skep tokens create</code>.</p>
<input name="token" type="password" autocomplete="current-password" required autofocus aria-label="Access token" placeholder="skep_…">
${problem === null ? '' : `<p role="alert">${problem}</p>`}
<button>Log in</button>
</form>
</body>
</html>
`
  return new Response(html, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
      ...headers,
    },
  })
}

/** Whether a person in a browser would see what is answered. */
export function isVisit(request: Request): boolean {
  if (request.method !== 'GET' || isApi(request)) return false
  return (request.headers.get('accept') ?? '').includes('text/html')
}

/** Whether a request is for the API, wherever that is mounted. */
export function isApi(request: Request): boolean {
  return new URL(request.url).pathname.includes('/api/v1/')
}

/** Whether a request is the form of the login page. */
export function isLoginForm(request: Request): boolean {
  if (request.method !== 'POST' || isApi(request)) return false
  return request.headers.get('content-type')?.split(';')[0]?.trim() === 'application/x-www-form-urlencoded'
}

const FORM_BYTES = 4_096

/** The token of the form; an empty text if it has none. */
export async function formToken(request: Request): Promise<string> {
  return new URLSearchParams(await shortBody(request)).get('token')?.trim() ?? ''
}

/** The token of `{ "token": "…" }`; an empty text if it has none. */
export async function jsonToken(request: Request): Promise<string> {
  try {
    const body = JSON.parse(await shortBody(request)) as { readonly token?: unknown } | null
    return typeof body?.token === 'string' ? body.token.trim() : ''
  } catch {
    return ''
  }
}

async function shortBody({ body }: Request): Promise<string> {
  if (body === null) return ''
  const parts: Uint8Array[] = []
  let bytes = 0
  // What it leaves unread is discarded after the response.
  for await (const part of body.values({ preventCancel: true })) {
    bytes += part.byteLength
    if (bytes > FORM_BYTES) return ''
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/**
 * Sessions of people in a browser, who log in with a token. The cookie has a secret of its own and nothing of the token, and the store
 * has the hash of that. So a logout ends the session everywhere, a revoked token ends its sessions, every server of the same store
 * knows them, and no server needs a key.
 */

const PLACE = { scope: EVERY_SPACE, kind: 'session' } as const
const COOKIE = 'skep-session'

/** Which token somebody logged in with. */
export interface SessionToken {
  readonly id: string
  /** In the store, or given to the server when it started. */
  readonly from: 'store' | 'given'
}

interface Session {
  readonly hash: string
  readonly token: SessionToken
  readonly expiresAt: number | null
}

export interface SessionsOptions {
  readonly records: RecordStore
  readonly runtime: Runtime
  /** How long a login is good for. */
  readonly lastsMs: number
}

export class Sessions {
  readonly #options: SessionsOptions
  readonly #cache: RecordCache<Session>

  constructor(options: SessionsOptions) {
    this.#options = options
    const { records, runtime } = options
    this.#cache = new RecordCache({
      ...PLACE,
      records,
      runtime,
      read: readSession,
      freshMs: 5_000,
      staleMs: 60_000,
    })
  }

  /** Begins one, and returns the value of its cookie. It is never good for longer than its token. */
  async begin(
    token: SessionToken,
    tokenExpiresAt: number | null,
  ): Promise<{ value: string; lastsMs: number }> {
    const { records, runtime, lastsMs } = this.#options
    const now = runtime.now()
    const expiresAt = Math.min(now + lastsMs, tokenExpiresAt ?? Number.POSITIVE_INFINITY)
    const made = makeSecret(runtime)
    const body = JSON.stringify({ hash: hashOf(made.secret), token })
    await records.putRecords({
      ...PLACE,
      records: [{ id: made.id, body, revision: runtime.uuid(), expect: null, expiresAt }],
    })
    return { value: secretText(made), lastsMs: expiresAt - now }
  }

  /** The token of whoever brings this cookie; null if there is no such session, or it is over. */
  async verify(value: string): Promise<SessionToken | null> {
    const parsed = parseSecret(value)
    if (parsed === null) return null
    const session = await this.#cache.get(parsed.id)
    if (!isSecret(parsed.secret, session?.hash ?? null) || session === null) return null
    const isOver = session.expiresAt !== null && session.expiresAt <= this.#options.runtime.now()
    return isOver ? null : session.token
  }

  /** Ends the one of this cookie, if it is one. */
  async end(value: string): Promise<void> {
    if ((await this.verify(value)) === null) return
    const { id } = parseSecret(value) as { readonly id: string }
    await this.#options.records.removeRecords({ ...PLACE, ids: [id] })
    this.#cache.forget(id)
  }
}

function readSession({ body, expiresAt }: StoredRecord): Session | null {
  try {
    return { ...(JSON.parse(body) as Omit<Session, 'expiresAt'>), expiresAt }
  } catch {
    return null
  }
}

/** Over https the browser itself refuses to take such a cookie from anywhere but this very host. */
function cookieName(isEncrypted: boolean): string {
  return isEncrypted ? `__Host-${COOKIE}` : COOKIE
}

/** The session that a request brings; null: none. */
export function readCookie(header: string | null, isEncrypted: boolean): string | null {
  const name = cookieName(isEncrypted)
  for (const part of (header ?? '').split(';', 100)) {
    const at = part.indexOf('=')
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim()
  }
  return null
}

/** What `set-cookie` says: a session for so long, or none any more. */
export function writeCookie(value: string | null, lastsMs: number, isEncrypted: boolean): string {
  return [
    `${cookieName(isEncrypted)}=${value ?? ''}`,
    'Path=/',
    `Max-Age=${value === null ? 0 : Math.floor(lastsMs / 1_000)}`,
    'HttpOnly',
    'SameSite=Strict',
    ...(isEncrypted ? ['Secure'] : []),
  ].join('; ')
}
