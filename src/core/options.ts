import { SkepError } from './errors.ts'
import { show } from './names.ts'
import { hintOf } from './option-hints.ts'

/** The option names of one public call. Created by {@link optionKeys}. */
export interface OptionKeys {
  /** As shown in messages: `enqueue()`. */
  readonly place: string
  readonly keys: Readonly<Record<string, true>>
}

/** The keys of all members of a union. */
type KeyOf<Options> = Options extends unknown ? keyof Options : never

/** All lists created so far, to find the call that a misplaced option belongs to. */
const PLACES: OptionKeys[] = []

/** The options of every call that was loaded. For the tests of the documents. */
export function declaredOptions(): readonly OptionKeys[] {
  return PLACES
}

/** Lists the options of a call. The compiler rejects a missing or an additional name. */
export function optionKeys<Options extends object>(
  place: string,
  keys: Readonly<Record<KeyOf<Options>, true>>,
): OptionKeys {
  // Without a prototype: "constructor" is not an option.
  const own = Object.assign(Object.create(null) as Record<string, true>, keys)
  const made: OptionKeys = Object.freeze({ place, keys: Object.freeze(own) })
  PLACES.push(made)
  return made
}

/**
 * Rejects options that are not an object, and unknown names: a misspelt option would silently do nothing.
 * Called by every enqueue, so it allocates no list and reads no value.
 */
export function assertOptions(known: OptionKeys, options: object | undefined | null): void {
  if (options === undefined) return
  if (typeof options !== 'object' || options === null || Array.isArray(options)) refuseValue(known, options)
  const { keys } = known
  for (const name in options) if (keys[name] !== true) refuseName(known, name)
}

/** Rejects a value that is not a boolean: `'false'`, as in an environment variable, would count as true. */
export function assertFlags(place: string, flags: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(flags)) {
    if (value === undefined || typeof value === 'boolean') continue
    throw new SkepError('OPTION_INVALID', `${name} of ${place} is ${show(value)}; use true or false.`, {
      facts: { place, name },
    })
  }
}

/** Rejects a value that is not a string: an object with a misspelt option would be stored as the text. */
export function assertText(place: string, name: string, text: unknown): void {
  if (text === undefined || typeof text === 'string') return
  throw new SkepError('OPTION_INVALID', `${name} of ${place} is ${show(text)}; use a string.`, {
    facts: { place, name },
  })
}

function refuseValue({ place, keys }: OptionKeys, options: unknown): never {
  throw new SkepError(
    'OPTION_INVALID',
    `The options of ${place} are ${show(options)}; use an object with ${Object.keys(keys).join(', ')}.`,
    { facts: { place } },
  )
}

function refuseName(known: OptionKeys, name: string): never {
  const hint = hintOf(known, name, PLACES)
  throw new SkepError(
    'OPTION_INVALID',
    `${known.place} has no option ${show(name)}. ${hint.text} Its options are ${Object.keys(known.keys).join(', ')}.`.replace(
      '  ',
      ' ',
    ),
    { facts: { place: known.place, name, suggestion: hint.name } },
  )
}
