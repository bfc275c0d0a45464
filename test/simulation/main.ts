/**
 * Runs trials from the command line.
 *
 *   node --import jiti/register test/simulation/main.ts --store sqlite --seed 1 --trials 1000
 *   node --import jiti/register test/simulation/main.ts --store memory --seed 42 --trace
 */
import { parseArgs } from 'node:util'
import { describeReport } from '../proof/checker/index.ts'
import { prepareStore, STORE_NAMES, type StoreName } from './stores.ts'
import { Trial } from './trial.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'memory' },
    seed: { type: 'string', default: '1' },
    trials: { type: 'string', default: '1' },
    trace: { type: 'boolean', default: false },
    hash: { type: 'boolean', default: false },
  },
})
const store = values.store as StoreName
if (!STORE_NAMES.includes(store)) throw new Error(`--store takes ${STORE_NAMES.join(' or ')}.`)

await prepareStore(store)
const first = Number(values.seed)
let failed = 0
let steps = 0
const startedAt = performance.now()
for (let seed = first; seed < first + Number(values.trials); seed++) {
  const result = await new Trial(seed, store).run()
  steps += result.steps
  if (values.hash) console.log(`${seed} ${result.hash}`)
  if (values.trace) {
    for (const record of result.history.records) console.log(JSON.stringify(record))
    for (const entry of result.history.audit) console.log(JSON.stringify(entry))
    console.log(result.swarm)
  }
  if (result.report.violations.length > 0) {
    failed++
    console.log(`seed ${seed}: ${describeReport(result.report)}`)
  }
}
const seconds = (performance.now() - startedAt) / 1_000
console.log(`${values.trials} trials, ${steps} steps, ${failed} failed, ${seconds.toFixed(1)} s`)
process.exitCode = failed > 0 ? 1 : 0
