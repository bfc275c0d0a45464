/**
 * Hides secrets in what leaves the server: payloads, results, headers, the facts of errors, lines of logs.
 *
 * What a key is called decides first, then what a text looks like. What is not hidden stays the very same object, so a large payload
 * without a secret costs a walk and no copy. It is a net and no wall: a secret under the name of `note` is not seen.
 */
import { Budget, type SharedBudget } from './budget.ts'
import { type Secrecy, secretKeys } from './secret-keys.ts'
import { HIDDEN, hideInText, isGenerated, isSecretOfFlag } from './secret-text.ts'

export { HIDDEN } from './secret-text.ts'

// A value deeper than anything that Skep stores is cut off.
const DEPTH = 100

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
  /**
   * The same for one response, which may look for secrets for a limited time, of its own and of what all responses share. When either is
   * used up, only the first short fields of each value are still read, and everything else is hidden unread.
   */
  limited?(mono: () => number, shared?: SharedBudget): Redactor
}

/** Makes what hides secrets, with the usual names and those of the options. */
export function redactor(options: RedactOptions = {}): Redactor {
  const secrecyOf = secretKeys(options)
  return {
    value: (value) => over(secrecyOf, options, new Budget()).value(value),
    text: (given) => hideInText(given, secrecyOf),
    limited: (mono, shared) => over(secrecyOf, options, new Budget(mono, shared)),
  }
}

/** Redacts values and texts, as far as the budget goes. */
function over(
  secrecyOf: (key: string) => Secrecy,
  options: RedactOptions,
  budget: Budget,
): Pick<Redactor, 'value' | 'text'> {
  const text = (given: string): string => {
    return given === '' || budget.admits(given.length) ? hideInText(given, secrecyOf) : HIDDEN
  }

  const walk = (given: unknown, key: string, depth: number): unknown => {
    if (options.value) {
      if (!budget.admits(0)) return hidden(given)
      const value = options.value(given, key)
      if (value !== given) return value
    }
    if (typeof given === 'string') return text(given)
    if (typeof given !== 'object' || given === null || given instanceof Date) return given
    if (depth > DEPTH) return HIDDEN
    return Array.isArray(given) ? walkArray(given, key, depth) : walkObject(given, depth)
  }

  const walkArray = (value: unknown[], key: string, depth: number): unknown => {
    if (value.length > budget.room) return HIDDEN
    let copy: unknown[] | null = null
    for (let i = 0; i < value.length; i++) {
      const isRead = budget.admits(0) && !isSecretElement(value, i, key, secrecyOf)
      const inner = isRead ? walk(value[i], key, depth + 1) : hidden(value[i])
      if (inner === value[i]) continue
      copy ??= [...value]
      copy[i] = inner
    }
    return copy ?? value
  }

  const walkObject = (value: object, depth: number): unknown => {
    const entries = Object.entries(value)
    if (entries.length > budget.room) return HIDDEN
    const isSecretPair = namesSecret(value as Readonly<Record<string, unknown>>, secrecyOf)
    let isChanged = false
    for (const entry of entries) {
      const [key, inner] = entry
      const isRead = budget.admits(key.length) && !(isSecretPair && isValueKey(key))
      const secrecy = isRead ? secrecyOf(key) : 'strong'
      entry[1] = isSecret(inner, secrecy) ? hidden(inner) : walk(inner, key, depth + 1)
      isChanged ||= entry[1] !== inner
    }
    return isChanged ? Object.fromEntries(entries) : value
  }

  return {
    value: <T>(value: T): T => budget.spend(() => walk(value, '', 0)) as T,
    text: (given) => budget.spend(() => text(given)),
  }
}

/** `{ name: 'authorization', value: … }`, as lists of headers and forms are written, also with capitals. */
function namesSecret(value: Readonly<Record<string, unknown>>, secrecyOf: (key: string) => Secrecy): boolean {
  const name = value['name'] ?? value['key'] ?? value['Name'] ?? value['Key']
  if (typeof name !== 'string' || secrecyOf(name) === 'none') return false
  return Object.keys(value).some(isValueKey)
}

function isValueKey(key: string): boolean {
  return key === 'value' || key === 'Value' || key === 'val'
}

/** Lists in which each second element is the value of the one before: the `rawHeaders` of Node. */
const HEADER_LIST = /^raw[-_]?(?:headers|trailers)$/i

/** Whether the element before it names it as a secret: in raw headers, in a pair, and behind the flag of a command. */
function isSecretElement(
  list: readonly unknown[],
  i: number,
  key: string,
  secrecyOf: (key: string) => Secrecy,
): boolean {
  const [name, value] = [list[i - 1], list[i]]
  if (typeof name !== 'string' || typeof value !== 'string' || name.length > 128) return false
  if (name.startsWith('-')) return isSecretOfFlag(name, value, secrecyOf)
  if (i % 2 === 0 || !(HEADER_LIST.test(key) || isGenerated(value))) return false
  // Elsewhere it may be a list of names: only what looks like a key or a token is hidden.
  return list.length % 2 === 0 && secrecyOf(name) !== 'none'
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
