import { parseArgs } from 'node:util'
import type { StoreKind } from '../contest.ts'
import type { DashboardOptions } from './main.ts'

const KINDS: readonly StoreKind[] = ['sqlite', 'postgres', 'redis']

/** What `--scenario dashboard` was asked for; null if it was something else. Throws a sentence for people. */
export function dashboardOptions(args: readonly string[]): DashboardOptions | null {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    strict: false,
    options: {
      scenario: { type: 'string', multiple: true, default: [] },
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string', default: '15' },
      quick: { type: 'boolean', default: false },
      tiny: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      keep: { type: 'string' },
      fill: { type: 'boolean', default: false },
    },
  })
  const wordsOf = (value: unknown): string[] => (value as string[]).flatMap((one) => one.split(','))
  const scenarios = wordsOf(values['scenario'])
  if (!scenarios.includes('dashboard')) return null
  if (scenarios.length > 1) throw new Error('dashboard is measured alone: give it as the only --scenario.')
  const only = wordsOf(values['only'])
  const unknown = only.find((word) => !(KINDS as readonly string[]).includes(word))
  if (unknown !== undefined) throw new Error(`There is no "${unknown}". --only takes: ${KINDS.join(', ')}`)
  const times = Number(values['rounds'])
  if (!(Number.isInteger(times) && times >= 1)) throw new Error('--rounds takes a number of 1 or more.')
  if (values['fill'] && values['keep'] === undefined)
    throw new Error('--fill needs a folder: --keep <folder>.')
  return {
    stores: only.length === 0 ? ['sqlite', 'postgres'] : KINDS.filter((kind) => only.includes(kind)),
    sizes: values['tiny'] ? [1_000, 5_000] : values['quick'] ? [10_000, 100_000] : [10_000, 1_000_000],
    times,
    keep: (values['keep'] as string | undefined) ?? null,
    isFillOnly: values['fill'] === true,
    json: values['json'] ? (positionals[0] ?? '-') : null,
  }
}
