/**
 * Puts each mutant into a test build and lets its killer look for it. The last line is JSON.
 *
 *   node --import jiti/register test/mutants/main.ts                          all of them
 *   node --import jiti/register test/mutants/main.ts --sample 10 --seed 7     some of them
 *   node --import jiti/register test/mutants/main.ts --only memory-pop-before-work,core-cancel-forgotten
 *   node --import jiti/register test/mutants/main.ts --killer simulation      those it can find, by this kind of killer
 *   node --import jiti/register test/mutants/main.ts --also                   the second killers instead of the first
 *   node --import jiti/register test/mutants/main.ts --with simulation:sqlite:200    another killer than the one named
 *   node --import jiti/register test/mutants/main.ts --table                  what test/mutants/README.md says
 */
import { parseArgs } from 'node:util'
import { postgresUrlVariable, startPostgres } from '../servers/postgres.ts'
import { kindOf } from './killers.ts'
import { MUTANTS } from './list.ts'
import type { Killer } from './mutant.ts'
import { mutantNamed } from './plugin.ts'
import { type Match, matchesOf, runMatches, sample } from './runner.ts'
import { renderPage } from './table.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    killer: { type: 'string' },
    also: { type: 'boolean', default: false },
    with: { type: 'string' },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    table: { type: 'boolean', default: false },
  },
})

if (values.table) process.stdout.write(renderPage())
else await main()

async function main(): Promise<void> {
  const matches = chosen()
  const tell = (line: string): void => console.error(line)
  // One server for all test runs, instead of one for each.
  const isServed = matches.some(({ killer }) => kindOf(killer) === 'vitest')
  const server = isServed ? await startPostgres() : null
  if (server) process.env[postgresUrlVariable] = server.url
  try {
    const { ok, mutants, killed, survived, violations } = await runMatches(matches, tell)
    console.log(JSON.stringify({ name: 'mutants', ok, measured: { mutants, killed, survived }, violations }))
    process.exitCode = ok ? 0 : 1
  } finally {
    await server?.stop()
  }
}

function chosen(): Match[] {
  const mutants = values.only === undefined ? MUTANTS : values.only.split(',').map(mutantNamed)
  const kinds = values.killer === undefined ? undefined : [kindNamed(values.killer)]
  const other = values.with === undefined ? null : killerFrom(values.with)
  let matches = other ? mutants.map((mutant) => ({ mutant, killer: other })) : matchesOf(mutants, kinds)
  if (values.also) {
    matches = mutants.flatMap((mutant) => (mutant.also ? [{ mutant, killer: mutant.also }] : []))
  }
  return values.sample === undefined ? matches : sample(matches, Number(values.sample), Number(values.seed))
}

function kindNamed(name: string): ReturnType<typeof kindOf> {
  if (name === 'simulation' || name === 'model' || name === 'vitest') return name
  throw new Error('--killer takes simulation, model or vitest.')
}

/** Such as `simulation:memory:200`, `model:small` or `vitest:test/worker`. */
function killerFrom(text: string): Killer {
  const [kind = '', name = '', trials = '100'] = text.split(':')
  if (kind === 'simulation' && (name === 'memory' || name === 'sqlite')) {
    return { simulation: name, trials: Number(trials) }
  }
  if (kind === 'model') return { model: name }
  if (kind === 'vitest') return { vitest: name }
  throw new Error('--with takes simulation:<store>:<trials>, model:<name> or vitest:<files>.')
}
