// npm run soak -- [--minutes 15] [--only kills,outages] [--store redis] [--seed n]
//
// The long version of what npm test does in a minute. 15 minutes, which is the default, are the bars we report: 10,000
// trials on each store of the simulator, every mutant, 15 minutes of kill -9 on each real store with hints and without,
// 20 outages of 30 seconds on each, 1,000 slots of schedules with a kill around every one on each, and 120 power cuts. Other
// times scale all but the mutants and the model.
//
//   simulation   test/simulation   trials on memory and on SQLite, other seeds than npm test has
//   model        test/model        every small world around the transitions, larger than in npm test
//   kills        test/crash        real processes killed, stopped, cut off; those on Redis after the others
//   flows        test/crash        the same with flows of every shape, at chosen moments
//   slots        test/crash        the process that fires schedules killed around every slot
//   outages      test/crash        the store goes away and comes back
//   power        test/disk         SQLite on a disk that forgets
//   mutants      test/mutants      each bug that was brought back must be found
//
// With --store only what is done to a real store is done, and only to that one.
// One line for each in the table at the end. The exit code is 1 if one of them found something.

import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'
import { forwardSignals } from './forward-signals.mjs'
import { ensureBuilt, ensureInstalled } from './install.mjs'
import { exitCode, root } from './run.mjs'

/** @typedef {{ name: string, ok: boolean, measured: Record<string, unknown>, violations: unknown[] }} Row */

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '15' },
    only: { type: 'string' },
    store: { type: 'string' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / 1_000) % 1_000_000) },
  },
})
const minutes = Number(values.minutes)
if (!(minutes > 0)) {
  console.error('--minutes takes a number above 0.')
  process.exit(2)
}
const seed = values.seed
const share = minutes / 15
const atLeast = (/** @type {number} */ least, /** @type {number} */ count) =>
  String(Math.max(least, Math.ceil(count * share)))

const simulation = ['memory', 'sqlite'].map((store) =>
  words('test/simulation/main.ts --sometimes --json', {
    store,
    seed: `${seed}000`,
    trials: atLeast(20, 10_000),
  }),
)
const all = ['sqlite', 'postgres', 'redis']
const stores = values.store?.split(',') ?? all
const strange = stores.filter((name) => !all.includes(name))
if (strange.length > 0) {
  console.error(`--store takes ${all.join(', ')}, not "${strange.join(',')}".`)
  process.exit(2)
}
const killsOn = (/** @type {readonly string[]} */ ...names) =>
  names
    .filter((store) => stores.includes(store))
    .flatMap((store) =>
      ['on', 'off'].map((hints) =>
        words('test/crash/soak.ts', {
          store,
          hints,
          minutes: values.minutes,
          seed,
          jobs: atLeast(100, 100_000),
        }),
      ),
    )
const outages = stores.map((store) =>
  words('test/crash/soak.ts', { store, outages: atLeast(1, 20), 'outage-seconds': '30', seed }),
)
const flows = stores.map((store) =>
  words('test/crash/flow-soak.ts', { store, kills: atLeast(27, 1_000), seed }),
)
const slotsOn = (/** @type {string} */ store) =>
  stores.includes(store) ? [words('test/crash/slot-soak.ts', { store, slots: atLeast(20, 1_000), seed })] : []
const onStores = [
  // Six at once would be more than a small machine can do.
  { name: 'kills', programs: killsOn('sqlite', 'postgres') },
  { name: 'kills', programs: killsOn('redis') },
  { name: 'flows', programs: flows },
  // A process starts for every slot, so one store after the other.
  ...all.map((store) => ({ name: 'slots', programs: slotsOn(store) })),
  { name: 'outages', programs: outages },
].filter(({ programs }) => programs.length > 0)
const others = [
  { name: 'power', programs: [words('test/disk/soak.ts', { cuts: atLeast(5, 120), seed })] },
  { name: 'simulation', programs: simulation },
  { name: 'model', programs: [words('test/model/main.ts', { jobs: '3', limit: '1000000' })] },
  { name: 'mutants', programs: [['test/mutants/main.ts']] },
]

/** What runs one after the other; the programs of one stage run at the same time. */
const stages = values.store === undefined ? [...onStores, ...others] : onStores
const only = values.only?.split(',')
const unknown = only?.filter((name) => !stages.some((stage) => stage.name === name)) ?? []
if (unknown.length > 0) {
  console.error(
    `--only takes ${[...new Set(stages.map(({ name }) => name))].join(', ')}, not "${unknown.join(',')}".`,
  )
  process.exit(2)
}

await ensureInstalled()
await ensureBuilt()
/** @type {Row[]} */
const rows = []
for (const { name, programs } of stages) {
  if (only && !only.includes(name)) continue
  console.error(`── ${name}`)
  const startedAt = performance.now()
  rows.push(...(await Promise.all(programs.map(runProgram))))
  console.error(`── ${name}: ${Math.round((performance.now() - startedAt) / 1_000)} s`)
}
print(rows)
process.exitCode = rows.every(({ ok }) => ok) ? 0 : 1

/**
 * A program with its options.
 *
 * @param {string} program
 * @param {Record<string, string>} options
 * @returns {string[]}
 */
function words(program, options) {
  const named = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  return [...program.split(' '), ...named]
}

/**
 * Runs one program, whose last line is JSON.
 *
 * @param {string[]} args
 * @returns {Promise<Row>}
 */
async function runProgram(args) {
  const child = spawn(process.execPath, ['--import', 'jiti/register', ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  forwardSignals(child)
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  const code = await exitCode(child)
  const line = output.trim().split('\n').at(-1) ?? ''
  try {
    return rowOf(JSON.parse(line))
  } catch {
    const name = args.slice(0, 3).join(' ')
    return { name, ok: false, measured: {}, violations: [`It ended with code ${code} and no answer.`] }
  }
}

/**
 * The model tells its figures without a frame.
 *
 * @param {Record<string, any>} answer
 * @returns {Row}
 */
function rowOf(answer) {
  if (answer.measured) return /** @type {Row} */ (answer)
  const { violations, ...measured } = answer
  return { name: 'model', ok: violations.length === 0, measured, violations }
}

/** @param {readonly Row[]} all */
function print(all) {
  const table = all.map(({ name, ok, measured }) => [
    name,
    ok ? 'ok' : 'FAILED',
    Object.entries(measured)
      .map(([what, value]) => `${what} ${typeof value === 'number' ? value : JSON.stringify(value)}`)
      .join(', '),
  ])
  console.log(`\n| what | result | measured |\n| --- | --- | --- |`)
  for (const cells of table) console.log(`| ${cells.join(' | ')} |`)
  for (const { name, violations } of all) {
    for (const violation of violations) console.log(`${name}: ${JSON.stringify(violation)}`)
  }
}
