import { setTimeout as sleep } from 'node:timers/promises'
import { now } from '../contest.ts'
import type { PostgresMeter } from '../measure/postgres.ts'
import type { Player } from '../player/player.ts'
import { lacks, type Measured, type Scenario } from './scenario.ts'
import type { Sizes } from './sizes.ts'
import { check, nth, type Stage, stop } from './stage.ts'

/** The statement that claims, unless the contestant's options say another. */
const CLAIM = 'skip locked|settle_and_claim'

/** One stretch of the run. */
interface Stretch {
  /** The end, in seconds since the beginning. */
  readonly at: number
  readonly values: Readonly<Record<'jobs/s' | 'p50 ms' | 'p99 ms', number>> &
    Partial<Record<'claim ms' | 'claim max ms' | 'database CPU %', number>>
}

/**
 * Jobs come at a fixed rate. After a while a transaction somewhere keeps its snapshot open, as a report or a backup does:
 * from then on no dead row can be cleaned, and who looks for jobs from the beginning walks over all of them.
 */
export const pinned: Scenario = {
  name: 'pinned',
  when: 'once',
  takesPart: (contestant) =>
    contestant.store === 'postgres' &&
    !lacks(contestant, 'work', 'processes') &&
    (contestant.kind === 'skep' || contestant.name.endsWith(', batches')),
  seconds,
  run: (stage) => run(stage, 'horizon pinned', null),
}

/** The same with jobs of a thousand lanes. */
export const pinnedLanes: Scenario = {
  name: 'pinned-lanes',
  when: 'once',
  takesPart: ({ kind, store }) => kind === 'skep' && store === 'postgres',
  seconds,
  run: (stage) => run(stage, 'pinned-lanes', 1_000),
}

function seconds({ pinned: { windowSeconds, free, pinned } }: Sizes): number {
  return 5 + windowSeconds * (free + pinned)
}

async function run(stage: Stage, scenario: string, lanes: number | null): Promise<Measured> {
  const { rate, windowSeconds, free, pinned } = stage.sizes.pinned
  const players = await stage.players(2, lanes === null ? {} : { rules: { lanes } })
  const [producer, worker] = [nth(players, 0), nth(players, 1)]
  const meter = await stage.postgres()
  if (meter === null) throw new Error('Only Postgres can be pinned.')

  await worker.call('work', [{ concurrency: 100 }])
  const seconds = windowSeconds * (free + pinned) + 1
  const producing = producer.call(
    'produce',
    [{ from: 0, rate, seconds, stamp: 'due', ...(lanes !== null && { lanes }) }],
    (seconds + 300) * 1_000,
  )
  // Whoever fails is seen at the end; until then it must not bring the process down.
  producing.catch(() => {})
  const given = stage.contestant.options['claim']
  const pattern = typeof given === 'string' ? given : CLAIM
  const watch = await watchWindows(worker, meter, windowSeconds, pattern)
  for (let n = 0; n < free; n++) await watch.next()
  const release = await meter.pin()
  for (let n = 0; n < pinned; n++) await watch.next()
  await release()

  const produced = await producing
  await check(producer, produced.count, await stop([worker]))
  return summary(scenario, watch.stretches, free)
}

async function watchWindows(worker: Player, meter: PostgresMeter, seconds: number, pattern: string) {
  const counts = await meter.countStatements()
  if (counts) await meter.claimTimes(pattern)
  const begin = now()
  const stretches: Stretch[] = []
  let usage = await meter.usage()

  return {
    stretches,
    async next(): Promise<void> {
      const from = begin + stretches.length * seconds * 1_000
      const to = from + seconds * 1_000
      await sleep(Math.max(0, to - now()))
      const after = await meter.usage()
      const claim = counts ? await meter.claimTimes(pattern) : null
      const { ran, p50, p99 } = await worker.call('window', [{ from, to }])
      const cpu =
        after.cpuMicros === null || usage.cpuMicros === null ? null : after.cpuMicros - usage.cpuMicros
      usage = after
      stretches.push({
        at: (to - begin) / 1_000,
        values: {
          'jobs/s': ran / seconds,
          // Nothing ran for the whole window.
          'p50 ms': p50 ?? seconds * 1_000,
          'p99 ms': p99 ?? seconds * 1_000,
          ...(claim && { 'claim ms': claim.meanMs, 'claim max ms': claim.maxMs }),
          ...(cpu !== null && { 'database CPU %': cpu / seconds / 10_000 }),
        },
      })
    },
  }
}

function summary(scenario: string, stretches: readonly Stretch[], free: number): Measured {
  // The first window has the warm-up in it, so the last free one is what the last pinned one is compared with.
  const [before, last] = [stretches[free - 1], stretches.at(-1)]
  if (before === undefined || last === undefined) throw new Error('Nothing was watched.')
  const pairs = (['jobs/s', 'p99 ms', 'claim ms'] as const).flatMap((measure) =>
    [['free', before] as const, ['pinned', last] as const].flatMap(([when, { values }]) => {
      const value = values[measure]
      return value === undefined ? [] : [{ scenario, measure: `${when} ${measure}`, value }]
    }),
  )
  const measures = [
    ...new Set(stretches.flatMap(({ values }) => Object.keys(values))),
  ] as (keyof Stretch['values'])[]
  return {
    figures: [
      ...pairs,
      ...(before.values['jobs/s'] > 0
        ? [{ scenario, measure: 'ratio', value: last.values['jobs/s'] / before.values['jobs/s'] }]
        : []),
    ],
    series: measures.map((measure) => ({
      scenario,
      measure,
      points: stretches.flatMap(({ at, values }) => {
        const value = values[measure]
        return value === undefined ? [] : [[at, value] as const]
      }),
    })),
  }
}
