import { parseArgs } from 'node:util'
import type { Contestant } from './contest.ts'
import type { Scenario } from './scenarios/scenario.ts'
import { FULL, QUICK, type Sizes, TINY } from './scenarios/sizes.ts'

export interface Options {
  readonly quick: boolean
  readonly sizes: Sizes
  readonly contestants: readonly Contestant[]
  readonly scenarios: readonly Scenario[]
  /** Where the result goes as JSON: a file, or the standard output (`-`). */
  readonly json: string | null
}

export interface Choice {
  readonly contestants: readonly Contestant[]
  readonly scenarios: readonly Scenario[]
}

/** Throws a sentence for people when something is asked for that does not exist. */
export function readOptions(args: readonly string[], all: Choice): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      scenario: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string' },
      // For the test of the benchmark: it works, but its figures say nothing.
      tiny: { type: 'boolean', default: false },
    },
  })
  const [file, ...more] = positionals
  if (more.length > 0 || (file !== undefined && !values.json)) {
    throw new Error(`"${positionals.join(' ')}" is not an option. A file goes after --json.`)
  }
  const given = values.tiny ? TINY : values.quick ? QUICK : FULL
  const rounds = values.rounds === undefined ? given.rounds : Number(values.rounds)
  if (!(Number.isInteger(rounds) && rounds >= 1)) throw new Error('--rounds takes a number of 1 or more.')

  const scenarios = choose(
    '--scenario',
    values.scenario.length > 0 ? values.scenario : (given.scenarios ?? []),
    all.scenarios,
    ({ name }) => [name],
  )
  const contestants = choose('--only', values.only, all.contestants, ({ name, store }) => [name, store])
  return {
    quick: values.quick || values.tiny,
    sizes: { ...given, rounds },
    contestants: contestants.filter(({ only }) => !only || scenarios.some(({ name }) => only.includes(name))),
    scenarios,
    json: values.json ? (file ?? '-') : null,
  }
}

/**
 * What is called like one of the words, or else begins with it, upper or lower case. A name may have a comma, so a whole value is
 * tried first.
 */
function choose<Thing extends { readonly name: string }>(
  option: string,
  values: readonly string[],
  things: readonly Thing[],
  namesOf: (thing: Thing) => readonly string[],
): readonly Thing[] {
  if (values.length === 0) return things
  const words = values.flatMap((value) =>
    things.some(({ name }) => value.includes(',') && name.toLowerCase() === value.toLowerCase())
      ? [value]
      : value.split(',').map((word) => word.trim()),
  )
  const isWhole = (word: string): boolean => things.some(({ name }) => name === word)
  const fits = (thing: Thing, word: string): boolean =>
    isWhole(word)
      ? thing.name === word
      : namesOf(thing).some((name) => name.toLowerCase().startsWith(word.toLowerCase()))
  const unknown = words.filter((word) => !things.some((thing) => fits(thing, word)))
  if (unknown.length > 0) {
    const names = [...new Set(things.flatMap(namesOf))].join('; ')
    throw new Error(
      `There is no ${unknown.map((word) => `"${word}"`).join(' or ')}. ${option} takes: ${names}`,
    )
  }
  return things.filter((thing) => words.some((word) => fits(thing, word)))
}
