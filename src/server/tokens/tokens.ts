/**
 * Access tokens in the store: `skep_<id>_<secret>`. The store has the SHA-256 of the secret, so whoever reads the store, or a copy of
 * it, can log in with nothing that is there. A token is shown once, when it is made.
 */
import {
  assertOptions,
  EVERY_SPACE,
  harmlessLogger,
  type Logger,
  optionKeys,
  type RecordStore,
  type Runtime,
  type Skep,
  SkepError,
  type StoredRecord,
  showValue,
  silentLogger,
  systemRuntime,
} from '../../index.ts'
import type { Credential } from '../../operations/authorize/credential.ts'
import type { Scope, TokenView } from '../../operations/schema/wire-types.ts'
import { RecordCache } from './record-cache.ts'
import { hashOf, isSecret, makeSecret, parseSecret, secretText } from './secret.ts'
import { resolveFields, type TokenFields } from './token-fields.ts'

export const TOKEN_PREFIX = 'skep_'
const PLACE = { scope: EVERY_SPACE, kind: 'token' } as const
const KEYS = optionKeys<TokenFields>('accessTokens().create()', {
  name: true,
  scopes: true,
  space: true,
  queues: true,
  payloads: true,
  expires: true,
})
const FRESH_MS = 5_000
const STALE_MS = 60_000
const USE_MS = 60_000
const PAGE = 200

/** What is stored of a token. */
export interface Token {
  readonly id: string
  readonly name: string
  readonly hash: string
  readonly scopes: readonly Scope[]
  readonly space: string
  readonly queues: readonly string[]
  readonly payloads: boolean
  readonly createdAt: number
  readonly createdBy: string
  readonly expiresAt: number | null
  readonly lastUsedAt: number | null
}

export interface TokensOptions {
  readonly records: RecordStore
  readonly runtime: Runtime
  readonly logger: Logger
}

interface Known {
  readonly token: Token
  readonly revision: string
}

/** Access tokens: made, listed, revoked and recognised. */
export class Tokens {
  readonly #records: RecordStore
  readonly #runtime: Runtime
  readonly #logger: Logger
  readonly #cache: RecordCache<Known>
  /** When this process last wrote down that a token was used. */
  readonly #usedAt = new Map<string, number>()

  constructor({ records, runtime, logger }: TokensOptions) {
    this.#records = records
    this.#runtime = runtime
    this.#logger = harmlessLogger(logger)
    this.#cache = new RecordCache({
      ...PLACE,
      records,
      runtime,
      read: (record) => {
        const token = readToken(record)
        return token && { token, revision: record.revision }
      },
      freshMs: FRESH_MS,
      staleMs: STALE_MS,
    })
  }

  /** Makes a token. This is the only time that its text is known. Names are taken once, so that the audit is clear. */
  async create(
    fields: TokenFields,
    by: string,
  ): Promise<{ readonly token: string; readonly view: TokenView }> {
    assertOptions(KEYS, fields ?? null)
    const { expiresMs, ...resolved } = resolveFields(fields)
    const same = (await this.all()).find(({ name }) => name === resolved.name)
    if (same) {
      throw new SkepError(
        'OPTION_INVALID',
        `There is a token ${showValue(resolved.name)} already (${same.id}). Revoke it, or take another name.`,
        { facts: { id: same.id } },
      )
    }
    const made = makeSecret(this.#runtime)
    const now = this.#runtime.now()
    const token: Token = {
      ...resolved,
      id: made.id,
      hash: hashOf(made.secret),
      createdAt: now,
      createdBy: by,
      expiresAt: expiresMs === null ? null : now + expiresMs,
      lastUsedAt: null,
    }
    await this.#put(token, null)
    return { token: TOKEN_PREFIX + secretText(made), view: viewOf(token) }
  }

  /** All tokens that are good now, oldest first, as they may be shown. */
  async list(): Promise<readonly TokenView[]> {
    return (await this.all()).map(viewOf)
  }

  /** All tokens that are good now, oldest first. */
  async all(): Promise<readonly Token[]> {
    const tokens: Token[] = []
    for (let from = ''; ; ) {
      const page = await this.#records.listRecords({ ...PLACE, from, limit: PAGE })
      tokens.push(...page.records.map(readToken).filter((token) => token !== null))
      const last = page.records.at(-1)
      if (!page.more || !last) break
      // Ids are equally long, so nothing is between this and the next.
      from = `${last.id}!`
    }
    return tokens.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
  }

  /** Whether there is any: then a server is not open to everybody on its machine. */
  async isAny(): Promise<boolean> {
    return (await this.#records.listRecords({ ...PLACE, limit: 1 })).records.length > 0
  }

  /**
   * Ends a token: at once in this process, and within five seconds in every other that can reach the store. Returns whether there was
   * one.
   */
  async revoke(id: string): Promise<boolean> {
    const { removed } = await this.#records.removeRecords({ ...PLACE, ids: [id] })
    this.#cache.forget(id)
    this.#usedAt.delete(id)
    return removed.length > 0
  }

  /** The token behind a text; null if it is unknown, wrong, revoked or over. Each of these takes equally long. */
  async verify(text: string): Promise<Token | null> {
    const parsed = text.startsWith(TOKEN_PREFIX) ? parseSecret(text.slice(TOKEN_PREFIX.length)) : null
    if (parsed === null) return null
    const known = await this.#cache.get(parsed.id)
    if (!isSecret(parsed.secret, known?.token.hash ?? null) || known === null) return null
    return this.#use(known)
  }

  /** Whether a text names a token that was read lately, right or not: then looking it up costs the store nothing. */
  isRemembered(text: string): boolean {
    const parsed = text.startsWith(TOKEN_PREFIX) ? parseSecret(text.slice(TOKEN_PREFIX.length)) : null
    return parsed !== null && this.#cache.has(parsed.id)
  }

  /** A token by its id, for somebody who has proved to hold it. */
  async get(id: string): Promise<Token | null> {
    const known = await this.#cache.get(id)
    return known && this.#use(known)
  }

  #use({ token, revision }: Known): Token | null {
    const now = this.#runtime.now()
    if (token.expiresAt !== null && token.expiresAt <= now) return null
    const usedAt = Math.max(this.#usedAt.get(token.id) ?? 0, token.lastUsedAt ?? 0)
    if (now - usedAt >= USE_MS) {
      this.#usedAt.set(token.id, now)
      // Only over what was read: a token that somebody revokes meanwhile must not come back.
      this.#put({ ...token, lastUsedAt: now }, revision).catch((error: unknown) => {
        this.#logger.debug('The last use of a token could not be written down', { token: token.id, error })
      })
    }
    return token
  }

  async #put(token: Token, expect: string | null): Promise<void> {
    const { id, expiresAt, ...rest } = token
    const record = { id, body: JSON.stringify(rest), revision: this.#runtime.uuid(), expect, expiresAt }
    await this.#records.putRecords({ ...PLACE, records: [record] })
  }
}

/** The tokens of a Skep's store, without any server: for programs and commands that give access. */
export function accessTokens(skep: Skep): Tokens {
  return new Tokens({ records: skep.records, runtime: systemRuntime(), logger: silentLogger })
}

/** What a token lets its holder do. */
export function credentialOf(
  token: Omit<Token, 'hash' | 'createdAt' | 'createdBy' | 'lastUsedAt'>,
): Credential {
  const { name, scopes, space, queues, payloads } = token
  return space === EVERY_SPACE
    ? { name, scopes, space: 'default', spaces: '*', queues, payloads }
    : { name, scopes, space, spaces: null, queues, payloads }
}

/** A token as it may be shown: without its hash. */
export function viewOf(token: Token): TokenView {
  const { id, name, scopes, space, queues, payloads, createdBy } = token
  const when = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())
  return {
    id,
    name,
    scopes,
    space,
    queues,
    payloads,
    createdAt: new Date(token.createdAt).toISOString(),
    createdBy,
    expiresAt: when(token.expiresAt),
    lastUsedAt: when(token.lastUsedAt),
  }
}

function readToken({ id, body, expiresAt }: StoredRecord): Token | null {
  try {
    return { ...(JSON.parse(body) as Omit<Token, 'id' | 'expiresAt'>), id, expiresAt }
  } catch {
    return null
  }
}
