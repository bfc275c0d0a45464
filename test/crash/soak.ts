/**
 * The long runs. One JSON line on standard output at the end, progress on standard error:
 *
 *   node --import jiti/register test/crash/soak.ts --store sqlite --minutes 15 [--hints off] [--jobs 100000]
 *   node --import jiti/register test/crash/soak.ts --store postgres --outages 20 --outage-seconds 30
 *
 * Also --seed, --seconds, and --keep for the evidence. A run that found something prints the line that repeats it, with
 * all of its options: --options '{...}'.
 */
import { parseArgs } from 'node:util'
import { type ChaosOptions, type ChaosResult, chaosDefaults, runChaos } from './chaos.ts'

/** After an outage jobs have to flow again within this time. */
const RECOVERY_MS = 10_000

const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    minutes: { type: 'string' },
    seconds: { type: 'string' },
    jobs: { type: 'string' },
    hints: { type: 'string', default: 'on' },
    seed: { type: 'string' },
    outages: { type: 'string' },
    'outage-seconds': { type: 'string', default: '30' },
    keep: { type: 'boolean', default: false },
    options: { type: 'string', default: '{}' },
  },
})

const given = JSON.parse(values.options) as Partial<ChaosOptions>
const store = given.store ?? values.store
if (store !== 'sqlite' && store !== 'postgres' && store !== 'redis') {
  throw new Error('Say --store sqlite, --store postgres or --store redis.')
}
const seconds = given.seconds ?? Number(values.seconds ?? Number(values.minutes ?? 1) * 60)
const outages = given.outages?.count ?? (values.outages === undefined ? null : Number(values.outages))
/** 100,000 in a quarter of an hour, and some. A run that is repeated need not reach any number. */
const wantedJobs = given.store || outages !== null ? 0 : Number(values.jobs ?? seconds * 112)

/** A job in ten brings a child, and a producer that is dead or cut off enqueues nothing; it catches up later. */
const MARGIN = 1.05

const options: ChaosOptions = {
  ...chaosDefaults,
  // Where nobody notices the end of a process, the room of a limit is free again only when a lease ends. So that steady
  // kills leave some, leases are short; what is left of the queues with limits takes its time all the same.
  ...(store === 'redis' && { leaseMs: 2_000, drainMs: 90_000 }),
  store,
  seconds,
  jobs: wantedJobs,
  seed: Number(values.seed ?? Date.now() % 1_000_000),
  hints: values.hints !== 'off',
  rate: outages === null ? Math.ceil((wantedJobs / seconds) * MARGIN) : 20,
  keep: values.keep,
  onProgress: (line) => console.error(line),
  ...(outages !== null && {
    outages: { count: outages, ms: Number(values['outage-seconds']) * 1_000, betweenMs: RECOVERY_MS + 5_000 },
  }),
  ...given,
}

const result = await runChaos(options)
if (result.problem) console.error(result.problem)
console.log(JSON.stringify(summary(options, result)))
process.exitCode = complaints(result).length === 0 ? 0 : 1

/** Everything that keeps the run from being a good one. */
function complaints({ report, surprises, jobs, drainMs, recoveriesMs }: ChaosResult): readonly object[] {
  const bar = (message: string): object => ({ invariant: 'bar', kind: 'missed', about: 'run', message })
  const found: object[] = [...report.violations.slice(0, 50), ...surprises.map(bar)]
  if (jobs < wantedJobs) found.push(bar(`There were ${jobs} jobs instead of ${wantedJobs}.`))
  if (drainMs === null) found.push(bar(`It had not drained after ${options.drainMs} ms.`))
  recoveriesMs.forEach((ms, nth) => {
    if (ms === null || ms > RECOVERY_MS)
      found.push(bar(`Outage ${nth} took ${ms ?? 'too many'} ms to get over.`))
  })
  return found
}

function summary(
  { store, hints, seed, seconds }: ChaosOptions,
  result: ChaosResult,
): Record<string, unknown> {
  const { report, harm, jobs, drainMs, recoveriesMs, usedUp } = result
  const { kills, stops, longStops, producerKills, restarts, ...faults } = harm
  return {
    name: `${outages === null ? 'kills' : 'outages'} on ${store}${hints ? '' : ', hints black-holed'}`,
    ok: complaints(result).length === 0,
    measured: {
      seed,
      ...(outages === null ? { seconds, wantedJobs } : { outages }),
      jobs,
      ...report.counts,
      kills: kills + producerKills,
      stops,
      longStops,
      restarts,
      faults,
      drainMs,
      limitsUsedUp: usedUp.length,
      ...(outages !== null && {
        slowestRecoveryMs: recoveriesMs.some((ms) => ms === null)
          ? null
          : Math.max(0, ...(recoveriesMs as number[])),
      }),
    },
    violations: complaints(result),
  }
}
