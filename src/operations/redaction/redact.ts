/**
 * Hides secrets in what leaves the server: payloads, results, headers, the facts of errors, lines of logs.
 *
 * What a key is called decides first, then what a text looks like. What is not hidden stays the very same object, so a large payload
 * without a secret costs a walk and no copy. It is a net and no wall: a secret under the name of `note` is not seen.
 */
import { type Secrecy, secretKeys } from './secret-keys.ts'
import { HIDDEN, hideInText } from './secret-text.ts'

export { HIDDEN } from './secret-text.ts'

export interface RedactOptions {
  /** More names of keys whose values are hidden, in any spelling (`bankAccount` also means `bank_account`), or patterns. */
  readonly keys?: readonly (string | RegExp)[]
  /** Names of keys that are shown after all, such as `cookie` in a shop for biscuits. */
  readonly show?: readonly string[]
  /** Your own judgement of a value, asked first: return another value to show that instead, or the same to let it pass on. */
  readonly value?: (value: unknown, key: string) => unknown
}

export interface Redactor {
  /** Nothing is hidden: what is stored is what is shown. */
  readonly isOff?: boolean
  /** The same with every secret hidden. */
  value<T>(value: T): T
  /** A text for people, such as the message of an error or a line of a log. */
  text(text: string): string
  /** The same for one response, which may look for secrets for a limited time. When that is used up, long texts are hidden unread. */
  limited?(mono: () => number): Redactor
}

// A value deeper or larger than anything that Skep stores is cut off, so that nobody can make this walk for long.
const DEPTH = 100
const NODES = 200_000
/** How long one response may look for secrets. */
const BUDGET_MS = 400
/** Shorter texts are read even then: names and states are among them. */
const SHORT = 40

/** Makes what hides secrets, with the usual names and those of the options. */
export function redactor(options: RedactOptions = {}): Redactor {
  const secrecyOf = secretKeys(options)
  const text = (given: string): string => hideInText(given, secrecyOf)
  return {
    ...over(text, secrecyOf, options),
    limited(mono) {
      let leftMs = BUDGET_MS
      const limitedText = (given: string): string => {
        if (given.length <= SHORT) return text(given)
        if (leftMs <= 0) return HIDDEN
        const from = mono()
        const shown = text(given)
        leftMs -= mono() - from
        return shown
      }
      return over(limitedText, secrecyOf, options)
    },
  }
}

/** Redacts values, with something that redacts texts. */
function over(
  text: (given: string) => string,
  secrecyOf: (key: string) => Secrecy,
  options: RedactOptions,
): Redactor {
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
    const isSecretPair = namesSecret(value as Readonly<Record<string, unknown>>, secrecyOf)
    let isChanged = false
    for (const entry of entries) {
      const [key, inner] = entry
      const secrecy = isSecretPair && key === 'value' ? 'strong' : secrecyOf(key)
      entry[1] = isSecret(inner, secrecy) ? hidden(inner) : walk(inner, key, depth + 1, seen)
      isChanged ||= entry[1] !== inner
    }
    return isChanged ? Object.fromEntries(entries) : value
  }

  return {
    value: <T>(value: T): T => walk(value, '', 0, { nodes: 0 }) as T,
    text,
  }
}

/** `{ name: 'authorization', value: … }`, as lists of headers and forms are written. */
function namesSecret(
  { name, key, value }: Readonly<Record<string, unknown>>,
  secrecyOf: (key: string) => Secrecy,
): boolean {
  const said = name ?? key
  return value !== undefined && typeof said === 'string' && secrecyOf(said) !== 'none'
}

/** Under `tokens` a text or a list is a secret; a number is how many there were, and an object says what of. */
function isSecret(value: unknown, secrecy: Secrecy): boolean {
  if (secrecy !== 'count') return secrecy !== 'none'
  return typeof value === 'string' || Array.isArray(value)
}

/** There is no secret in nothing, nor in a yes or no: `hasPassword: true` may be seen. */
function hidden(value: unknown): unknown {
  return value === null || value === undefined || value === '' || typeof value === 'boolean' ? value : HIDDEN
}
