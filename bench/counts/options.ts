import { parseArgs } from 'node:util'
import type { CountedKind, CountsOptions } from './main.ts'

const KINDS: readonly CountedKind[] = ['memory', 'sqlite', 'postgres', 'redis']

/** What `--scenario counts` was asked for; null if it was something else. Throws a sentence for people. */
export function countsOptions(args: readonly string[]): CountsOptions | null {
  const { values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    strict: false,
    options: {
      scenario: { type: 'string', multiple: true, default: [] },
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string', default: '300' },
      quick: { type: 'boolean', default: false },
      tiny: { type: 'boolean', default: false },
    },
  })
  const wordsOf = (value: unknown): string[] => (value as string[]).flatMap((one) => one.split(','))
  const scenarios = wordsOf(values['scenario'])
  if (!scenarios.includes('counts')) return null
  if (scenarios.length > 1) throw new Error('counts is measured alone: give it as the only --scenario.')
  const only = wordsOf(values['only'])
  const unknown = only.find((word) => !(KINDS as readonly string[]).includes(word))
  if (unknown !== undefined) throw new Error(`There is no "${unknown}". --only takes: ${KINDS.join(', ')}`)
  const times = Number(values['rounds'])
  if (!(Number.isInteger(times) && times >= 1)) throw new Error('--rounds takes a number of 1 or more.')
  return {
    counted: only.length === 0 ? KINDS : KINDS.filter((kind) => only.includes(kind)),
    sizes: values['tiny'] ? [1_000, 5_000] : values['quick'] ? [10_000, 100_000] : [10_000, 1_000_000],
    times,
  }
}
