/**
 * Searches with bounds from the command line and prints one line of JSON:
 *
 *     node --import jiti/register test/model/main.ts --jobs 3 --limit 2000000
 */
import { parseArgs } from 'node:util'
import { DEEP, WIDE } from './bounds.ts'
import { search } from './search.ts'
import { RULES } from './store.ts'

const names = Object.keys(WIDE) as (keyof typeof WIDE)[]
const { values } = parseArgs({
  options: Object.fromEntries([...names, 'limit'].map((name) => [name, { type: 'string' as const }])),
})
const given = Object.fromEntries(
  Object.entries(values).map(([name, text]) => [name, wholeNumber(name, text)]),
)
const { limit = 3_000_000, ...chosen } = given
const bounds = { ...((chosen['jobs'] ?? 1) > 1 ? WIDE : DEEP), ...chosen }

const begin = performance.now()
const found = search(bounds, RULES, limit)
const seconds = Math.round((performance.now() - begin) / 100) / 10
process.stdout.write(`${JSON.stringify({ ...found, seconds, bounds })}\n`)
if (found.violations.length > 0) process.exitCode = 1

function wholeNumber(name: string, text: string | undefined): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 0) throw new Error(`--${name} ${text}: use a whole number.`)
  return number
}
