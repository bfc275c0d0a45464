/**
 * Runs trials from the command line. Exits with 1 if one of them found something, and then prints the line that
 * replays it.
 *
 *   node --import jiti/register test/simulation/main.ts --store sqlite --seed 1 --trials 1000
 *   node --import jiti/register test/simulation/main.ts --store memory --seed 42 --trace
 *
 *   --kind       jobs or flows
 *   --notices    with notices, so that workers claim by id
 *   --sometimes  also prints how often each rare state was seen, and fails if one never was
 *   --hash       prints the hash of each trial's trace
 *   --trace      prints the whole trace
 *   --bail       ends with the first trial that fails
 *   --seconds N  begins no trial after so long
 *   --json       prints one line for the soak
 */
import { parseArgs } from 'node:util'
import { describeReport } from '../proof/checker/index.ts'
import { FEATURES, type TrialKind } from './features/index.ts'
import { replayLineOfMain } from './replay.ts'
import { SometimesCounter } from './sometimes.ts'
import { prepareStore, STORE_NAMES, type StoreName } from './stores.ts'
import { Trial } from './trial.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'memory' },
    kind: { type: 'string', default: 'jobs' },
    seed: { type: 'string', default: '1' },
    notices: { type: 'boolean', default: false },
    trials: { type: 'string', default: '1' },
    seconds: { type: 'string', default: 'Infinity' },
    sometimes: { type: 'boolean', default: false },
    hash: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    bail: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const store = values.store as StoreName
if (!STORE_NAMES.includes(store)) throw new Error(`--store takes ${STORE_NAMES.join(' or ')}.`)

const kind = values.kind as TrialKind
if (!(kind in FEATURES)) throw new Error(`--kind takes ${Object.keys(FEATURES).join(' or ')}.`)

await prepareStore(store)
const say = values.json ? console.error : console.log
const first = Number(values.seed)
const seen = new SometimesCounter(kind)
const total = { trials: 0, steps: 0, runs: 0, jobs: 0, starts: 0, faults: 0 }
const violations: string[] = []
const startedAt = performance.now()
const seconds = (): number => (performance.now() - startedAt) / 1_000

for (let seed = first; seed < first + Number(values.trials) && seconds() < Number(values.seconds); seed++) {
  const result = await new Trial(seed, store, kind, values).run()
  const { history, report } = result
  total.trials++
  total.steps += result.steps
  total.runs +=
    history.flows?.runs.filter(({ before, after }) => before === null && after.member === null).length ?? 0
  total.jobs += report.counts.enqueued
  total.starts += report.counts.starts
  total.faults += history.records.filter(({ f }) => f === 'fault' || f === 'crash' || f === 'stall').length
  seen.add(result)
  if (values.hash) say(`${seed} ${result.hash()}`)
  if (values.trace) {
    for (const record of history.records) say(JSON.stringify(record))
    for (const entry of history.audit) say(JSON.stringify(entry))
    say(JSON.stringify({ ...result.swarm, without: [...result.swarm.without] }))
  }
  if (report.violations.length > 0) {
    violations.push(replayLineOfMain(store, seed, kind, values))
    say(`seed ${seed}: ${describeReport(report)}\nreplay: ${replayLineOfMain(store, seed, kind, values)}`)
    if (values.bail) break
  }
}
const never = seen.never([store])
if (values.sometimes) {
  for (const { what, trials } of seen.table([store])) say(`${String(trials).padStart(7)}  ${what}`)
  violations.push(...never.map((what) => `never seen: ${what}`))
}
const summary = Object.entries({ ...total, failed: violations.length, seconds: Math.round(seconds()) })
if (values.json) {
  const measured = Object.fromEntries(summary)
  console.log(
    JSON.stringify({ name: `simulation on ${store}`, ok: violations.length === 0, measured, violations }),
  )
} else say(summary.map(([name, value]) => `${value} ${name}`).join(', '))
process.exitCode = violations.length > 0 ? 1 : 0
