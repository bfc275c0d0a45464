import {
  harmlessLogger,
  type Logger,
  type RecordStore,
  type Runtime,
  SkepError,
  showValue,
} from '../../index.ts'
import { assertAllowed } from '../../operations/authorize/authorize.ts'
import type { AuditNote, Guard, Guarded, Remote } from '../../operations/authorize/guard.ts'
import type { Caller } from '../../operations/operation.ts'
import { type Redactor, redactor } from '../../operations/redaction/redact.ts'
import { QuotaKeeper } from '../quotas/quotas.ts'
import { Rates } from '../quotas/rates.ts'
import { resolveGiven, tokenOfEnvironment } from '../tokens/static-tokens.ts'
import { TokenList } from '../tokens/token-list.ts'
import { Tokens } from '../tokens/tokens.ts'
import { Audit } from './audit.ts'
import { Identifier } from './identify.ts'
import { isApi, Sessions } from './login.ts'
import { OpenDoor } from './open-door.ts'
import { type AccessOptions, type ResolvedAccess, resolveAccess } from './options.ts'
import { clientOf, isLoopbackHost } from './request-checks.ts'
import { securityHeaders } from './security-headers.ts'

/** Puts together all that decides about access to a server. */

export interface AccessParts {
  readonly records: RecordStore
  readonly runtime: Runtime
  readonly logger: Logger
  /** The space of the server's Skep. */
  readonly space: string
  /** @default the process's own */
  readonly env?: Readonly<Record<string, string | undefined>>
}

const NOTHING_HIDDEN: Redactor = { isOff: true, value: (value) => value, text: (text) => text }

export class Access implements Guard {
  readonly tokens: TokenList
  readonly audited: Audit
  readonly redactor: Redactor
  readonly quotas: QuotaKeeper
  readonly #options: ResolvedAccess
  readonly #parts: AccessParts
  readonly #logger: Logger
  readonly #stored: Tokens
  readonly #identifier: Identifier
  readonly #views: Rates | null
  readonly #programs: Rates | null
  readonly #hasGiven: boolean
  readonly #door: OpenDoor
  #listens: string | null = null
  /** Other machines can reach it, so it is open to nobody. */
  #isReachable = false

  constructor(parts: AccessParts, options: AccessOptions = {}) {
    const { records, runtime, space } = parts
    const env = parts.env ?? process.env
    const resolved = resolveAccess(options)
    const ofEnvironment = tokenOfEnvironment(env)
    const given = resolveGiven(
      [...(options.tokens ?? []), ...(ofEnvironment ? [ofEnvironment] : [])],
      runtime,
    )
    this.#parts = { ...parts, env }
    this.#options = resolved
    this.#logger = harmlessLogger(parts.logger)
    this.#hasGiven = given.length > 0
    this.#stored = new Tokens({ records, runtime, logger: parts.logger })
    this.#identifier = new Identifier({
      options: resolved,
      tokens: this.#stored,
      sessions: new Sessions({ records, runtime, lastsMs: resolved.sessionMs }),
      given,
      runtime,
      logger: this.#logger,
      space,
      listens: () => this.#listens,
      isOpen: () => this.#isOpen(),
    })
    this.#door = new OpenDoor(runtime, () => this.#isConfigured())
    this.#views = resolved.views && new Rates(resolved.views, runtime)
    this.#programs = resolved.programs && new Rates(resolved.programs, runtime)
    this.redactor = options.redact === false ? NOTHING_HIDDEN : redactor(options.redact)
    this.audited = new Audit({ ...parts, redactor: this.redactor }, options.audit)
    this.tokens = new TokenList(this.#stored, () => this.#door.linger())
    this.quotas = new QuotaKeeper(options.quotas, runtime)
  }

  /**
   * Says that the server is about to listen on this host, and whether it speaks https there. Throws `SERVER_UNPROTECTED` if other
   * machines could reach it and anybody could use it, or if they could reach it by plain http alone. Without this call the
   * server counts as mounted in another one.
   */
  async listen(host: string, isEncrypted = false): Promise<void> {
    const { auth, insecure, open, plainHttp, proxies } = this.#options
    this.#listens = host
    this.#isReachable = false
    if (isLoopbackHost(host)) {
      // A store that is away cannot tell yet. Then it is asked again when somebody comes, and until it answers nobody gets in.
      this.#isOpen().catch(() => {})
      return
    }
    this.#isReachable = true
    if (insecure) {
      this.#logger.warn('Everybody who can reach this server may do everything: it is insecure by option', {
        host,
      })
      return
    }
    if (open === true || !(auth !== null || (await this.#mayBeConfigured()))) {
      throw new SkepError(
        'SERVER_UNPROTECTED',
        `A server on ${showValue(host)} can be reached by other machines, and nothing says who may use it. Make a token with ` +
          '"skep tokens create --name admin --scopes admin", pass tokens or auth, or listen on 127.0.0.1.',
        { facts: { host } },
      )
    }
    if (isEncrypted) return
    if (plainHttp) {
      this.#logger.warn('Tokens may come over plain http, by option: whoever is on the way can read them', {
        host,
      })
      return
    }
    // A proxy of theirs says of every request whether it came encrypted, and is asked then.
    if (proxies > 0) return
    throw new SkepError(
      'SERVER_UNPROTECTED',
      `A server on ${showValue(host)} can be reached by other machines, and without https everybody on the way could read ` +
        'their tokens. Give it a certificate (tls; --tls-cert and --tls-key), put a proxy in front that speaks https (proxies; ' +
        '--proxies 1), listen on 127.0.0.1, or allow it where something else encrypts the way (plainHttp; --plain-http).',
      { facts: { host } },
    )
  }

  identify(request: Request, remote: Remote): Promise<Caller | Response> {
    return this.#identifier.identify(request, remote)
  }

  authorize(caller: Caller, call: Guarded): void {
    const isProgramsWork = call.scope === 'enqueue' || call.scope === 'work'
    const rates = isProgramsWork ? this.#programs : this.#views
    const waitMs = rates?.take(caller.name) ?? 0
    if (waitMs > 0) {
      throw new SkepError(
        'TOO_MANY_REQUESTS',
        `${showValue(caller.name)} asks too often. Wait ${waitMs} ms.`,
        {
          facts: { retryAfterMs: waitMs },
        },
      )
    }
    assertAllowed(caller, call)
    const changes = call.isChange || call.scope === 'work'
    if (!changes) return
    if (this.#options.readOnly) {
      throw new SkepError('FORBIDDEN', 'This server is read-only: nothing can be changed through it.')
    }
    if (this.audited.isAudited(caller, isProgramsWork, 'ok')) this.audited.assertWritable()
  }

  async audit(note: AuditNote): Promise<void> {
    const isProgramsWork = note.scope === 'enqueue' || note.scope === 'work'
    if (!this.audited.isAudited(note.caller, isProgramsWork, note.outcome)) return
    await this.audited.write(note)
  }

  headers(request: Request, remote: Remote = NO_REMOTE): Readonly<Record<string, string>> {
    const { isEncrypted } = clientOf(request, remote, this.#options.proxies)
    return securityHeaders(!isApi(request), isEncrypted, this.#options)
  }

  async close(): Promise<void> {
    this.audited.close()
  }

  async #isOpen(): Promise<boolean> {
    if (this.#isReachable) return false
    if (this.#options.open !== null) return this.#options.open
    // Mounted: open only while somebody develops. Both only as long as nothing else is said.
    const isForSelf = this.#listens !== null || this.#parts.env?.['NODE_ENV'] === 'development'
    return isForSelf && this.#door.isOpen()
  }

  /** A store that is away may have tokens. Nobody gets in without one in any case. */
  async #mayBeConfigured(): Promise<boolean> {
    try {
      return await this.#isConfigured()
    } catch (error) {
      const { code } = error as { readonly code?: unknown }
      if (code === 'STORE_UNAVAILABLE' || code === 'STORE_UNKNOWN') return true
      throw error
    }
  }

  async #isConfigured(): Promise<boolean> {
    return this.#options.auth !== null || this.#hasGiven || (await this.#stored.isAny())
  }
}

const NO_REMOTE: Remote = { address: null, isEncrypted: false }

/**
 * Asks again whether a request that is served for long would be let in now as it was then. A credential that has lost a scope, a
 * queue, its payloads or its space is another one: whoever holds it has to come again, and gets what it may have now.
 */
export function stillGood(
  guard: Guard,
  { request, remote }: { readonly request: Request; readonly remote: Remote },
  before: Caller,
): () => Promise<boolean> {
  const was = wordsOf(before)
  return async () => {
    try {
      const now = await guard.identify(request, remote)
      return !(now instanceof Response) && wordsOf(now) === was
    } catch {
      return false
    }
  }
}

function wordsOf({ name, scopes, space, spaces, queues, payloads }: Caller): string {
  return JSON.stringify([name, [...scopes].sort(), space, spaces, queues, payloads])
}
