import { SkepError } from './errors.ts'
import { show } from './names.ts'
import { hintOf } from './option-hints.ts'

/** The names of the options of one public call. Made by {@link optionKeys}. */
export interface OptionKeys {
  /** As in a message: `enqueue()`. */
  readonly place: string
  readonly keys: Readonly<Record<string, true>>
}

/** Also of a union: the names of all its members. */
type KeyOf<Options> = Options extends unknown ? keyof Options : never

/** All lists that were made, to tell where a misplaced option belongs. */
const PLACES: OptionKeys[] = []

/** The options of every call that was loaded. For the tests of the documents. */
export function declaredOptions(): readonly OptionKeys[] {
  return PLACES
}

/** Names the options of a call. The compiler keeps the list equal to the type: a missing name or an additional one is an error. */
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
 * Refuses what is not an object of options, and every name that is not among them: a misspelt option would silently do nothing.
 * On the way of every enqueue, so it makes no list and reads no value.
 */
export function assertOptions(known: OptionKeys, options: object | undefined | null): void {
  if (options === undefined) return
  if (typeof options !== 'object' || options === null || Array.isArray(options)) refuseValue(known, options)
  const { keys } = known
  for (const name in options) if (keys[name] !== true) refuseName(known, name)
}

/** Refuses what is neither true nor false: `'false'`, as an environment variable has it, would count as true. */
export function assertFlags(place: string, flags: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(flags)) {
    if (value === undefined || typeof value === 'boolean') continue
    throw new SkepError('OPTION_INVALID', `${name} of ${place} is ${show(value)}; use true or false.`, {
      facts: { place, name },
    })
  }
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
