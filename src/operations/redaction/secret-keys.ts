/** Which names of fields mean a secret. */

/** A name that ends in one of these, word by word, is secret: `dbPassword`, `X-Api-Key`, `access_token`. */
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
  'jwt',
  'authorization',
  'auth header',
  'credential',
  'credentials',
  'cookie',
  'cookies',
  'session id',
  'sessionid',
  'jsessionid',
  'phpsessid',
  'connect sid',
  'api key',
  'apikey',
  'api keys',
  'apikeys',
  'secret key',
  'private key',
  'privatekey',
  'private keys',
  'access key',
  'accesskey',
  'access key id',
  'account key',
  'accountkey',
  'signing key',
  'encryption key',
  'master key',
  'ssh key',
  'client key',
  'server key',
  'shared key',
  'subscription key',
  'webhook key',
  'hmac',
  'totp',
  'pin code',
  'mfa code',
  'auth code',
  'verification code',
  'security code',
  'recovery code',
  'recovery codes',
  'backup codes',
  'mnemonic',
  'seed phrase',
  'cvv',
  'cvc',
  'cvv2',
  'card number',
  'cardnumber',
  'credit card',
  'iban',
  'ssn',
  'social security number',
  'connection string',
  'connectionstring',
  'dsn',
]
/** The same, but in a text they may be part of a sentence: "token: expired". */
const WEAK_ENDINGS: readonly string[] = [
  'token',
  'tokens',
  'auth',
  'bearer',
  'pass',
  'pw',
  'signature',
  'sig',
  'otp',
  'pin',
  'card',
  'pan',
]
/** The same, but not as the end of a longer name: `lastSession` is a date, and `messageSid` an id. */
const WHOLE: ReadonlySet<string> = new Set(['sid', 'sess', 'session'])
/** Names that also mean a count: a number under them is shown. */
const COUNTS: ReadonlySet<string> = new Set(['tokens', 'pass', ...WHOLE])
/** A name whose last word ends in one of these is secret: `PGPASSWORD`, `clientsecret`. */
const SUFFIX = /(?:password|passwd|passphrase|secret)$/
/** A name that has one of these anywhere is secret: `passwordHash`, `secretAccessKeyOld`. */
const WORDS: ReadonlySet<string> = new Set([
  'password',
  'passwd',
  'passphrase',
  'secret',
  'credential',
  'credentials',
  'authorization',
])

/** The same for several words in a row: `privateKeyPem`. */
const PHRASES: readonly string[] = ['private key', 'secret key', 'api key']

/** How sure it is that a name means a secret. `weak` and `count` names are common words. */
export type Secrecy = 'none' | 'strong' | 'weak' | 'count'

export interface KeyOptions {
  readonly keys?: readonly (string | RegExp)[]
  readonly show?: readonly string[]
}

/** Of a longer name the first and the last characters are judged: callers that store values choose their keys, too. */
const NAME = 96
/** What patterns of the options get of it. */
const PATTERN_NAME = 200
const REMEMBERED = 5_000

/** Judges names, and remembers what it found. */
export function secretKeys({ keys = [], show = [] }: KeyOptions): (key: string) => Secrecy {
  const endings = new Set(ENDINGS)
  const weak = new Set(WEAK_ENDINGS)
  const patterns: RegExp[] = []
  for (const key of keys) {
    if (typeof key === 'string') endings.add(wordsOf(key).join(' '))
    // A pattern with `g` or `y` remembers where it was, and would find only every second one.
    else patterns.push(new RegExp(key.source, key.flags.replace(/[gy]/g, '')))
  }
  const shown = new Set(show.map((key) => wordsOf(key).join(' ')))
  const known = new Map<string, Secrecy>()

  // Most names have nothing of a secret in them. To find that out must cost little: whoever sends texts chooses the names in them.
  const hints = new Set(
    [...endings, ...weak, ...WORDS, ...WHOLE].map((ending) => ending.split(' ').at(-1) as string),
  )
  const hint = new RegExp([...hints].join('|'), 'i')

  const judge = (given: string): Secrecy => {
    const key = given.length > NAME ? `${given.slice(0, NAME / 2)} ${given.slice(-NAME / 2)}` : given
    if (patterns.length === 0 && !hint.test(key)) return 'none'
    const words = wordsOf(key)
    if (shown.has(words.join(' '))) return 'none'
    const all = ` ${words.join(' ')} `
    if (words.some((word) => WORDS.has(word)) || PHRASES.some((phrase) => all.includes(` ${phrase} `))) {
      return 'strong'
    }
    const last = [1, 2, 3].map((count) => words.slice(-count).join(' '))
    if (
      last.some((ending) => endings.has(ending)) ||
      patterns.some((pattern) => pattern.test(given.slice(0, PATTERN_NAME)))
    ) {
      return 'strong'
    }
    const ending = last[0] as string
    if (SUFFIX.test(ending)) return 'strong'
    if (!weak.has(ending) && !(words.length === 1 && WHOLE.has(ending))) return 'none'
    return COUNTS.has(ending) ? 'count' : 'weak'
  }

  return (key) => {
    if (key.length > NAME) return judge(key)
    const before = known.get(key)
    if (before !== undefined) return before
    const secrecy = judge(key)
    // Names that others made up must not keep out those that come every day.
    if (known.size >= REMEMBERED) known.clear()
    // A copy: a part of a text would keep the whole text in memory.
    known.set(Buffer.from(key, 'utf16le').toString('utf16le'), secrecy)
    return secrecy
  }
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
