/**
 * Hides secrets in what leaves the server: payloads, results, headers, the facts of errors, lines of logs.
 *
 * What a key is called decides first, then what a text looks like. What is not hidden stays the very same object, so a large payload
 * without a secret costs a walk and no copy. It is a net and no wall: a secret under the name of `note` is not seen.
 */

export interface RedactOptions {
  /** More names of keys whose values are hidden, in any spelling (`bankAccount` also means `bank_account`), or patterns. */
  readonly keys?: readonly (string | RegExp)[]
  /** Names of keys that are shown after all, such as `cookie` in a shop for biscuits. */
  readonly show?: readonly string[]
  /** Your own judgement of a value, asked first: return another value to show that instead, or the same to let it pass on. */
  readonly value?: (value: unknown, key: string) => unknown
}

export interface Redactor {
  /** The same with every secret hidden. */
  value<T>(value: T): T
  /** A text for people, such as the message of an error or a line of a log. */
  text(text: string): string
}

/** What stands in the place of a secret. */
export const HIDDEN = '***'

// A value deeper or larger than anything that Skep stores is cut off, so that nobody can make this walk for long.
const DEPTH = 100
const NODES = 200_000
const TEXT = 65_536

/** Whatever ends in one of these, word by word, is secret: `dbPassword`, `X-Api-Key`, `access_token`. */
const ENDINGS: readonly string[] = [
  'password',
  'passwords',
  'passwd',
  'pwd',
  'passphrase',
  'pass phrase',
  'passcode',
  'secret',
  'secrets',
  'token',
  'jwt',
  'authorization',
  'auth header',
  'credential',
  'credentials',
  'cookie',
  'cookies',
  'session id',
  'sessionid',
  'api key',
  'apikey',
  'api keys',
  'secret key',
  'private key',
  'privatekey',
  'access key',
  'access key id',
  'account key',
  'signing key',
  'encryption key',
  'master key',
  'ssh key',
  'client key',
  'webhook key',
  'hmac',
  'otp',
  'totp',
  'pin',
  'pin code',
  'mfa code',
  'cvv',
  'cvc',
  'cvv2',
  'card number',
  'cardnumber',
  'credit card',
  'card',
  'pan',
  'iban',
  'ssn',
  'social security number',
  'connection string',
  'connectionstring',
  'dsn',
]
/** Whatever has one of these anywhere: `passwordHash`, `secretAccessKeyOld`. */
const WORDS: ReadonlySet<string> = new Set([
  'password',
  'passwd',
  'secret',
  'credential',
  'credentials',
  'authorization',
])

/** Makes what hides secrets, with the usual names and those of the options. */
export function redactor(options: RedactOptions = {}): Redactor {
  const endings = new Set(ENDINGS)
  const patterns: RegExp[] = []
  for (const key of options.keys ?? []) {
    if (typeof key === 'string') endings.add(wordsOf(key).join(' '))
    // A pattern with `g` or `y` remembers where it was, and would find only every second one.
    else patterns.push(new RegExp(key.source, key.flags.replace(/[gy]/g, '')))
  }
  const shown = new Set((options.show ?? []).map((key) => wordsOf(key).join(' ')))
  const known = new Map<string, boolean>()

  const isSecretKey = (key: string): boolean => {
    const before = known.get(key)
    if (before !== undefined) return before
    const words = wordsOf(key.slice(0, 200))
    const isSecret =
      !shown.has(words.join(' ')) &&
      (words.some((word) => WORDS.has(word)) ||
        [1, 2, 3].some((count) => endings.has(words.slice(-count).join(' '))) ||
        patterns.some((pattern) => pattern.test(key)))
    if (known.size < 5_000) known.set(key, isSecret)
    return isSecret
  }

  const text = (given: string): string => hideInText(given, isSecretKey)

  const walk = (given: unknown, key: string, depth: number, seen: { nodes: number }): unknown => {
    const value = options.value ? options.value(given, key) : given
    if (value !== given) return value
    if (typeof value === 'string') return text(value)
    if (typeof value !== 'object' || value === null || value instanceof Date) return value
    if (depth > DEPTH || seen.nodes > NODES) return HIDDEN
    return Array.isArray(value) ? walkArray(value, key, depth, seen) : walkObject(value, depth, seen)
  }

  const walkArray = (value: unknown[], key: string, depth: number, seen: { nodes: number }): unknown[] => {
    let copy: unknown[] | null = null
    seen.nodes += value.length
    for (let i = 0; i < value.length; i++) {
      const inner = walk(value[i], key, depth + 1, seen)
      if (inner === value[i]) continue
      copy ??= [...value]
      copy[i] = inner
    }
    return copy ?? value
  }

  const walkObject = (value: object, depth: number, seen: { nodes: number }): object => {
    const entries = Object.entries(value)
    seen.nodes += entries.length
    let isChanged = false
    for (const entry of entries) {
      const [key, inner] = entry
      entry[1] = isSecretKey(key) ? hidden(inner) : walk(inner, key, depth + 1, seen)
      isChanged ||= entry[1] !== inner
    }
    return isChanged ? Object.fromEntries(entries) : value
  }

  return {
    value: <T>(value: T): T => walk(value, '', 0, { nodes: 0 }) as T,
    text,
  }
}

/** There is no secret in nothing, nor in a yes or no: `hasPassword: true` may be seen. */
function hidden(value: unknown): unknown {
  return value === null || value === undefined || value === '' || typeof value === 'boolean' ? value : HIDDEN
}

/** `accessToken`, `access_token`, `Access-Token` and `ACCESS_TOKEN` are all `access token`. */
function wordsOf(key: string): string[] {
  return key
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
}

// ── texts ────────────────────────────────────────────────────────────────────────────────────────

// Each of them reads a text once from left to right: whoever writes the text cannot make them slow.
const ADDRESS_LOGIN = /\b([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s/?#"'`<>@:]{0,256}):([^\s/?#"'`<>]{0,1024})@/gi
const SCHEME = /\b(bearer|basic|digest)(\s+)[A-Za-z0-9._~+/=-]{8,}/gi
const OUR_TOKEN = /\bskep_[0-9a-f]{16}_[A-Za-z0-9_-]{43}/g
const JWT = /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?/g
const PEM = /-----BEGIN ([A-Z ]{0,30}PRIVATE KEY)-----[\s\S]{0,20000}?(?:-----END \1-----|$)/g
const ASSIGNED =
  /(["']?)\b([A-Za-z][A-Za-z0-9_-]{2,50})\1(\s{0,3}[:=]\s{0,3})("[^"\n]{1,2000}"|'[^'\n]{1,2000}'|[^\s,;&"'()[\]{}]{3,2000})/g
/** What none of them can do without. */
const SUSPECT = /[:=@]|skep_|eyJ|bearer|basic|digest|-----BEGIN/i

function hideInText(given: string, isSecretKey: (key: string) => boolean): string {
  if (given.length < 6 || !SUSPECT.test(given)) return given
  const cut = given.length > TEXT ? given.slice(0, TEXT) : given
  const shown = cut
    .replace(PEM, (_, kind: string) => `-----BEGIN ${kind}-----${HIDDEN}`)
    .replace(ADDRESS_LOGIN, (_, scheme: string, name: string) => `${scheme}${name}:${HIDDEN}@`)
    .replace(SCHEME, (_, scheme: string, blank: string) => scheme + blank + HIDDEN)
    .replace(OUR_TOKEN, (token) => token.slice(0, 22) + HIDDEN)
    .replace(JWT, HIDDEN)
    .replace(ASSIGNED, (all, quote: string, key: string, between: string, value: string) =>
      isSecretKey(key) && !/^(?:bearer|basic|digest)$/i.test(value)
        ? `${quote}${key}${quote}${between}${HIDDEN}`
        : all,
    )
  // The rest of a text that long was not looked at, so it may not be shown if anything was hidden in the part that was.
  if (cut === given) return shown
  return shown === cut ? given : `${shown}…`
}
