/**
 * Sessions of people in a browser, who log in with a token. The cookie has a secret of its own and nothing of the token, and the store
 * has the hash of that. So a logout ends the session everywhere, a revoked token ends its sessions, every server of the same store
 * knows them, and no server needs a key.
 */
import { EVERY_SPACE, type RecordStore, type Runtime, type StoredRecord } from '../../index.ts'
import { RecordCache } from './record-cache.ts'
import { hashOf, isSecret, makeSecret, parseSecret, secretText } from './secret.ts'

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
