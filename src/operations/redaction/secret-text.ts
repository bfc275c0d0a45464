/**
 * Finds secrets in texts: by their shape, and by the name in front of them.
 *
 * Texts come from strangers, so every step reads a text once from left to right. A pattern begins with fixed characters and is bounded
 * in length, or it consumes what it has looked at; whatever needs to look further is a loop here and no pattern.
 */
import type { Secrecy } from './secret-keys.ts'

/** What stands in the place of a secret. */
export const HIDDEN = '***'

/** The text with its secrets hidden; the very same if it has none. */
export function hideInText(given: string, secrecyOf: (key: string) => Secrecy): string {
  if (given.length < 6 || WORD.test(given)) return given
  const shown = hideNamed(hideKeys(given), secrecyOf)
    .replace(LOGIN, (_, scheme: string, name: string) => `${scheme}${name}:${HIDDEN}@`)
    .replace(SCHEME, (all, scheme: string, value: string) => (isCode(value) ? scheme + HIDDEN : all))
    .replace(OUR_TOKEN, (token) => token.slice(0, 22) + HIDDEN)
    .replace(JWT, HIDDEN)
    .replace(HASH, HIDDEN)
    .replace(SHAPES, HIDDEN)
    .replace(WEBHOOK, (_, host: string) => host + HIDDEN)
    .replace(PAN, (digits) => (isCardNumber(digits) ? HIDDEN : digits))
    .replace(SQL, (_, before: string, quote: string) => before + quote + HIDDEN + quote)
  return hideAssigned(shown, secrecyOf)
}

/** A single word, which most texts of a payload are. */
const WORD = /^[A-Za-z]{0,15}$/

// ── by shape ─────────────────────────────────────────────────────────────────────────────────────

const LOGIN =
  /(?<![a-z0-9+.-])([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s/?#"'`<>@:]{0,256}):([^\s/?#"'`<>]{0,1024})@/gi
const SCHEME = /(?<![A-Za-z0-9])((?:bearer|basic|digest|negotiate)[ \t]{1,4})([A-Za-z0-9._~+/=-]{8,})/gi
const OUR_TOKEN = /(?<![A-Za-z0-9])skep_[0-9a-f]{16}_[A-Za-z0-9_-]{43}/g
/** Prefixes that vendors give to their secrets. */
const SHAPES = new RegExp(
  `(?<![A-Za-z0-9])(?:${[
    '[sr]k_(?:live|test)_[A-Za-z0-9]{8,255}',
    'whsec_[A-Za-z0-9+/=]{16,255}',
    'gh[opusr]_[A-Za-z0-9]{20,255}',
    'github_pat_[A-Za-z0-9_]{20,255}',
    'gl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_.-]{16,255}',
    '(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}',
    'xox[a-z]-[A-Za-z0-9-]{10,255}',
    'xapp-[A-Za-z0-9-]{10,255}',
    'npm_[A-Za-z0-9]{30,255}',
    'pypi-[A-Za-z0-9_-]{30,255}',
    'AIza[A-Za-z0-9_-]{30,255}',
    'ya29\\.[A-Za-z0-9_-]{20,2048}',
    'GOCSPX-[A-Za-z0-9_-]{20,255}',
    'SG\\.[A-Za-z0-9_-]{16,64}\\.[A-Za-z0-9_-]{16,255}',
    'sk-[A-Za-z0-9_-]{20,255}',
    'hf_[A-Za-z0-9]{20,255}',
    'do[opr]_v1_[a-f0-9]{32,255}',
    'shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{20,255}',
    'sq0[a-z]{3}-[A-Za-z0-9_-]{20,255}',
    'hv[sbr]\\.[A-Za-z0-9_-]{20,2048}',
    'dckr_pat_[A-Za-z0-9_-]{20,255}',
    'lin_api_[A-Za-z0-9]{20,255}',
    'glsa_[A-Za-z0-9_]{20,255}',
    'sntry[su]_[A-Za-z0-9_=+/-]{20,1024}',
    'xkeysib-[A-Za-z0-9-]{20,255}',
    'key-[0-9a-f]{32}',
    'SK[0-9a-f]{32}',
    'PMAK-[A-Za-z0-9-]{20,255}',
    'AGE-SECRET-KEY-1[A-Z0-9]{20,255}',
    '\\d{8,10}:AA[A-Za-z0-9_-]{30,64}',
  ].join('|')})`,
  'g',
)
const WEBHOOK =
  /((?:hooks\.slack\.com\/(?:services|workflows|triggers)|discord(?:app)?\.com\/api\/webhooks)\/)[A-Za-z0-9/_-]{10,255}/g
/** Only where such letters begin: otherwise each of many `eyJ` in a row would be read to their end. */
const JWT = /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?/g
/** Hashes of passwords: those of bcrypt, argon2 and crypt. */
const HASH =
  /\$(?:2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}|argon2(?:id|i|d)\$[\w=,$+/.-]{20,512}|[156]\$[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{22,86})/g
/** A card number in groups: one without them is more often an id. */
const PAN = /(?<!\d)\d{4}([ -])\d{4}\1\d{4}\1\d{1,7}(?!\d)/g
const SQL = /(?<![A-Za-z])((?:password|identified by)\s{1,4})(['"])[^'"\n]{1,256}\2/gi

/** Whether it looks made by a machine rather than like a word of a sentence. */
function isCode(value: string): boolean {
  return value.length >= 24 || /\d|=$|[a-z][A-Z]|[A-Z]{2}[a-z]/.test(value)
}

function isCardNumber(text: string): boolean {
  const digits = text.replace(/\D/g, '')
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i])
    const doubled = i % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return digits.length >= 13 && sum % 10 === 0
}

const BEGIN = /-----BEGIN ((?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?)-----/g

/** Private keys in PEM, from their first line to their last, or to the end of the text. */
function hideKeys(text: string): string {
  if (!text.includes('PRIVATE KEY')) return text
  let shown = ''
  let from = 0
  BEGIN.lastIndex = 0
  for (let match = BEGIN.exec(text); match !== null; match = BEGIN.exec(text)) {
    shown += text.slice(from, match.index) + match[0] + HIDDEN
    const end = text.indexOf('-----END ', BEGIN.lastIndex)
    if (end === -1) return shown
    const close = text.indexOf('-----', end + 9)
    from = close === -1 ? text.length : close + 5
    BEGIN.lastIndex = from
  }
  return shown + text.slice(from)
}

// ── by name ──────────────────────────────────────────────────────────────────────────────────────

type SecrecyOf = (key: string) => Secrecy

/** Values whose names do not stand right before a colon or an equals sign. */
function hideNamed(given: string, secrecyOf: SecrecyOf): string {
  let text = given
  if (text.includes(')=(')) text = hideColumns(text, secrecyOf)
  if (text.includes('</')) text = hideElements(text, secrecyOf)
  if (text.includes('curl')) text = text.replace(CURL_USER, hideCurlUser)
  return hideListed(text, secrecyOf)
}

/** What Postgres says of a key that is there already: `Key (token)=(…) already exists.` */
const COLUMNS = /Key \(((?:[^()\n]|\([^()\n]{0,64}\)){1,256})\)=\(/g
const COLUMNS_END = /\)(?= (?:already|is|conflicts|with) |\n|$)|$/g

function hideColumns(text: string, secrecyOf: SecrecyOf): string {
  let shown = ''
  let from = 0
  COLUMNS.lastIndex = 0
  for (let match = COLUMNS.exec(text); match !== null; match = COLUMNS.exec(text)) {
    const columns = (match[1] as string).split(/[\s,()"]+/)
    if (columns.every((column) => secrecyOf(column) === 'none')) continue
    shown += text.slice(from, COLUMNS.lastIndex) + HIDDEN
    COLUMNS_END.lastIndex = COLUMNS.lastIndex
    from = COLUMNS_END.exec(text)?.index ?? text.length
    COLUMNS.lastIndex = from
  }
  return shown + text.slice(from)
}

/** The content of an element of XML: `<password>…</password>`. */
const ELEMENT = /<([A-Za-z][\w.:-]{0,63})(?:\s[^<>]{0,256})?>(<!\[CDATA\[)?([^<]+)(?=<\/\1>|\]\]><\/\1>)/g

function hideElements(text: string, secrecyOf: SecrecyOf): string {
  return text.replace(ELEMENT, (all: string, name: string, _data: string | undefined, value: string) => {
    const secrecy = secrecyOf(name)
    if (secrecy === 'none' || value.trim() === '') return all
    if (secrecy !== 'strong' && !isGenerated(value.trim())) return all
    return all.slice(0, all.length - value.length) + HIDDEN
  })
}

/** The password of `curl -u ada:…`. */
const CURL_USER = /((?<=\s)(?:-u|--user|--proxy-user)[ =]{0,4}["']?[^\s:"']{1,128}:)[^\s"']+/g

/** `-u` is something else for other programs, such as `docker run -u 1000:1000`. */
function hideCurlUser(all: string, before: string, at: number, text: string): string {
  return text.slice(Math.max(0, at - 1_024), at).includes('curl') ? before + HIDDEN : all
}

/** A name and a value that stand beside each other: `'X-Api-Key', '…'`, `"--password", "…"`, `name="password" value="…"`. */
const LISTED =
  /(\\{0,3}["'`])(-{0,2}[A-Za-z][\w.-]{0,63})\1(?:([\s,;]{1,4})(?:\1)?[Vv]al(?:ue)?(?:\1)?\s{0,2}[:=]\s{0,2}\1|\s{0,4},\s{0,4}\1)/g
const FARTHEST = 2_048

function hideListed(text: string, secrecyOf: SecrecyOf): string {
  let shown = ''
  let from = 0
  LISTED.lastIndex = 0
  for (let match = LISTED.exec(text); match !== null; match = LISTED.exec(text)) {
    const [, quote = '', name = '', isValue] = match
    const at = LISTED.lastIndex
    // The value may be the name of what comes next.
    LISTED.lastIndex = at - quote.length
    const isFlag = name.startsWith('-')
    if (!isFlag && secrecyOf(name) === 'none') continue
    const length = text.slice(at, at + FARTHEST).indexOf(quote)
    const value = length === -1 ? text.slice(at) : text.slice(at, at + length)
    const isSecret = isFlag
      ? isSecretOfFlag(name, value, secrecyOf)
      : isValue !== undefined || isGenerated(value)
    if (value === '' || !isSecret) continue
    shown += text.slice(from, at) + HIDDEN
    from = at + value.length
    LISTED.lastIndex = from
  }
  return from === 0 ? text : shown + text.slice(from)
}

/** Whether it is a key or a token rather than a word or a name: lists of names are common. */
export function isGenerated(value: string): boolean {
  if (/^[A-Za-z]{1,63}(?:[-_ .][A-Za-z]{1,63}){0,8}$/.test(value.slice(0, 600))) return value.length > 40
  return value.length >= 24 || (value.length >= 6 && /\d/.test(value.slice(0, 24)))
}

/** Whether what follows a flag is a secret: `--password`, or the user of curl with a password. */
export function isSecretOfFlag(flag: string, value: string, secrecyOf: SecrecyOf): boolean {
  if (value.startsWith('-')) return false
  if (flag === '-u' || flag === '--user') return /^[^\s:]{1,128}:(?!\d{1,9}$)/.test(value)
  return secrecyOf(flag.replace(/^-+/, '')) !== 'none'
}

/** What stands between a name and its value; `%3D` in an address inside of an address. A flag may have a blank there. */
const SEPARATOR = /[:=]|%3[AaDd]|--?(?=[a-z])/g
const NAME = 64
const BETWEEN = 24

function hideAssigned(text: string, secrecyOf: (key: string) => Secrecy): string {
  let shown = ''
  let from = 0
  SEPARATOR.lastIndex = 0
  for (let match = SEPARATOR.exec(text); match !== null; match = SEPARATOR.exec(text)) {
    const at = match.index
    const after = SEPARATOR.lastIndex
    const name = match[0].startsWith('-') ? flagAt(text, at, after) : nameBefore(text, at, from)
    if (name === null) continue
    const secrecy = secrecyOf(name.key)
    if (secrecy === 'none') continue
    const value = valueAt(text, name, { secrecy, separator: match[0] })
    if (value === null) continue
    shown += text.slice(from, value.from) + HIDDEN
    from = value.to
    SEPARATOR.lastIndex = value.to
  }
  return from === 0 ? text : shown + text.slice(from)
}

interface Named {
  readonly key: string
  readonly isQuoted: boolean
  readonly valueAt: number
}

/** The name that ends before `at`, behind closing quotes and brackets: `password`, `"password"`, `\"password\"`, `user[password]`. */
function nameBefore(text: string, at: number, from: number): Named | null {
  const least = Math.max(from, at - BETWEEN)
  let end = at
  let isQuoted = false
  while (end > least && /[\s"'`\\\]]/.test(text[end - 1] as string)) {
    isQuoted ||= /["'`]/.test(text[end - 1] as string)
    end--
  }
  const first = Math.max(from, end - NAME)
  let start = end
  while (start > first && isNameCode(text.charCodeAt(start - 1))) start--
  // Behind `%3F` or `%26` its two digits look like the beginning of the name.
  if (text[start - 1] === '%' && end - start > 2) start += 2
  if (start === end) return null
  const past = text.startsWith('%', at)
    ? at + 3
    : at + (text.startsWith('=>', at) || text.startsWith('==', at) ? 2 : 1)
  return { key: text.slice(start, end), isQuoted, valueAt: past }
}

/** The name of a flag whose value comes after a blank: `--password geheim`. */
function flagAt(text: string, at: number, after: number): Named | null {
  if (at > 0 && !/[\s"'`]/.test(text[at - 1] as string)) return null
  let end = after
  while (end < after + NAME && end < text.length && isNameCode(text.charCodeAt(end))) end++
  if (text[end] !== ' ' || end - after < 2) return null
  return { key: text.slice(after, end), isQuoted: true, valueAt: end + 1 }
}

/** Letters, digits, `_`, `-` and `.`. */
function isNameCode(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 95 ||
    code === 45 ||
    code === 46
  )
}

interface Span {
  readonly from: number
  readonly to: number
}

interface Assignment {
  readonly secrecy: Secrecy
  readonly separator: string
}

const BLANKS = /[ \t\u00a0]{0,4}/y
/** The end of a line behind which the value stands, in YAML with a sign for that. */
const NEXT_LINE = /(?:[|>][+-]?)?[ \t]{0,4}\r?\n[ \t]{0,32}/y
const QUOTE = /(\\{0,31})(["'`])/y
const PLAIN = /[^\s,;&"'`()[\]{}<>\\|]+/y
const LINE = /[^\r\n"'`\\]+/y
const NOTHING =
  /^(?:null|undefined|none|nil|true|false|yes|no|n\/a|-+|\*+|x{3,}|\.{3}|…|required|optional|string)$/i
const FILE = /\.[a-z]{1,4}$/
const PLACE = /^\d{1,7}(?::\d{1,7})?$/
/** Headers whose value is the rest of the line. */
const HEADER = /(?:(?:^|-)(?:authorization|cookie)|-signature)$/i
/** The name of a variable, or the number of a parameter. */
const VARIABLE = /\$(?:[{(A-Za-z_]|\d{1,5}(?![\w$]))/y
const AUTH_SCHEME = /(?:bearer|basic|digest|negotiate|token|apikey|aws4-hmac-sha256)[ \t]{1,4}/iy

/** What of a value is hidden; null: nothing of it. */
function valueAt(
  text: string,
  { key, isQuoted, valueAt: after }: Named,
  assignment: Assignment,
): Span | null {
  const start = endOf(BLANKS, text, after)
  QUOTE.lastIndex = start
  const quote = QUOTE.exec(text)
  if (quote !== null) return quotedAt(text, start, quote)
  const opening = text[start]
  if (opening === '{' || opening === '[') {
    return isQuoted || opening === '[' ? { from: start, to: closingOf(text, start) } : null
  }
  if (HEADER.test(key) && assignment.separator !== '=') {
    const from = endOf(AUTH_SCHEME, text, start)
    const to = endOf(LINE, text, from)
    return isNothing(text, from, to) ? null : { from, to }
  }
  if (endOf(VARIABLE, text, start) !== start) return null
  const below = endOf(NEXT_LINE, text, start)
  if (below !== start) return lineAt(text, below, isQuoted, assignment)
  let to = endOf(PLAIN, text, start)
  while (to > start && '.:!?'.includes(text[to - 1] as string)) to--
  if (to - start < 3 || isNothing(text, start, to)) return null
  // A line of a stack: password.ts:12:34.
  if (FILE.test(key) && PLACE.test(text.slice(start, Math.min(to, start + 16)))) return null
  return isHidden(text.slice(start, to), isQuoted, assignment) ? { from: start, to } : null
}

/** A value in a line of its own below its name, indented or in quotes. */
function lineAt(text: string, start: number, isQuoted: boolean, assignment: Assignment): Span | null {
  QUOTE.lastIndex = start
  const quote = QUOTE.exec(text)
  if (quote !== null) return quotedAt(text, start, quote)
  if (text[start - 1] === '\n') return null
  const to = endOf(PLAIN, text, start)
  const isWhole = to === text.length || text[to] === '\n' || text[to] === '\r'
  if (!isWhole || to - start < 3 || isNothing(text, start, to)) return null
  // Another name with its value, such as `min: 8` or `port=587`.
  if (/^[\w.-]{1,64}[:=]/.test(text.slice(start, Math.min(to, start + 66)))) return null
  return isHidden(text.slice(start, to), isQuoted, assignment) ? { from: start, to } : null
}

/** Whether there is no secret in what is said. Only short values are looked at: this may be asked again for what is inside. */
function isNothing(text: string, from: number, to: number): boolean {
  return to <= from || (to - from <= 16 && NOTHING.test(text.slice(from, to)))
}

function isHidden(value: string, isQuoted: boolean, { secrecy, separator }: Assignment): boolean {
  if (secrecy === 'strong') return true
  if (secrecy === 'count' && /^[\d.]{1,9}%?$/.test(value)) return false
  if (separator !== ':' || isQuoted) return true
  // After a colon a word like this may begin a sentence: "token: expired".
  return /\d/.test(value) || value.length >= 16
}

/** What is between quotes, which may be those of JSON inside of JSON and have backslashes in front. */
function quotedAt(text: string, start: number, quote: RegExpExecArray): Span | null {
  const [opening, slashes = '', mark = ''] = quote
  const from = start + opening.length
  let before = 0
  for (let at = from; at < text.length; at++) {
    const char = text[at]
    if (char === '\\') before++
    else {
      if (char === mark && before === slashes.length) {
        const to = at - slashes.length
        return isNothing(text, from, to) ? null : { from, to }
      }
      before = 0
    }
  }
  return { from, to: text.length }
}

/** Behind the bracket that closes the one at `start`, or the end of the text. */
function closingOf(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x7b || code === 0x5b) depth++
    else if ((code === 0x7d || code === 0x5d) && --depth === 0) return at + 1
  }
  return text.length
}

function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}
