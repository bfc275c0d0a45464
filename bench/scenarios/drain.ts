import type { Contestant } from '../contest.ts'
import type { Usage } from '../measure/postgres.ts'
import { lacks, type Measured, type Scenario, type Value } from './scenario.ts'
import type { Sizes } from './sizes.ts'
import { check, fill, type Outcome, rateOf, type Stage, stop, untilRan } from './stage.ts'

/** A hundred handlers at once, over all processes. */
const CONCURRENCY = 100

/**
 * The queue is filled, then workers that were waiting for it run it empty. They have done so with fewer jobs before: a fast one would else
 * be done when Node has hardly compiled what runs for each.
 */
interface Drain {
  readonly name: string
  /** In the figures. */
  readonly scenario: string
  readonly processes: number
  readonly keep: boolean
  readonly analysed: boolean
  takesPart(contestant: Contestant): boolean
}

const plain = {
  name: 'drain-one',
  scenario: 'drain, 1 process',
  processes: 1,
  keep: false,
  analysed: false,
  takesPart: () => true,
} satisfies Drain

export const drain: Scenario = scenarioOf(plain)

export const drainTwo: Scenario = scenarioOf({
  ...plain,
  name: 'drain-two',
  scenario: 'drain, 2 processes',
  processes: 2,
  takesPart: (contestant) => !lacks(contestant, 'processes'),
})

/** A table that was just filled has no statistics, and some claims are then planned badly. Here it has them. */
export const drainAnalysed: Scenario = scenarioOf({
  ...plain,
  name: 'drain-analysed',
  scenario: 'drain, analysed',
  analysed: true,
  takesPart: ({ store }) => store === 'postgres',
})

export const drainKept: Scenario = scenarioOf({
  ...plain,
  name: 'drain-kept',
  scenario: 'drain, kept',
  keep: true,
  takesPart: (contestant) => !lacks(contestant, 'keep'),
})

function scenarioOf(how: Drain): Scenario {
  return {
    name: how.name,
    takesPart: how.takesPart,
    seconds: ({ drain, drainMs, drainWarmUp }: Sizes) =>
      1.5 + (drain + drainWarmUp) / 50_000 + ((0.6 * drainMs) / 1_000) * (1 + drainWarmUp / drain),
    run: (stage) => run(stage, how),
  }
}

async function run(stage: Stage, { scenario, processes, keep, analysed }: Drain): Promise<Measured> {
  const { drain: count, drainMs, drainWarmUp } = stage.sizes
  const [filler, ...workers] = await stage.players(1 + processes, { keep })
  if (filler === undefined) throw new Error('There is nobody to fill.')
  const meter = await stage.meter()
  const runEmpty = async (most: number): Promise<Outcome> => {
    const work = { concurrency: CONCURRENCY / processes }
    await Promise.all(workers.map((worker) => worker.call('work', [work])))
    await untilRan(workers, most, drainMs)
    return stop(workers)
  }

  await fill(filler, drainWarmUp)
  const warmUp = await runEmpty(drainWarmUp)
  await fill(filler, count, drainWarmUp)
  if (analysed) await meter?.analyse()
  const before = await meter?.usage()
  // Whoever was slow has some of the warm-up left.
  const left = drainWarmUp - warmUp.ran
  const outcome = await runEmpty(count + left)
  const after = await meter?.usage()

  await check(filler, drainWarmUp + count, {
    ran: warmUp.ran + outcome.ran,
    distinct: warmUp.distinct + outcome.distinct,
  })
  const figures = [
    ['jobs/s', rateOf(outcome)],
    ['worker CPU us/job', outcome.cpuMicros / outcome.ran],
    ['worker RSS MB', outcome.rssMb],
    ...(before && after ? databaseFigures(before, after, outcome) : []),
  ] as const
  return { figures: figures.map(([measure, value]): Value => ({ scenario, measure, value })) }
}

function databaseFigures(before: Usage, after: Usage, { ran }: Outcome): [string, number][] {
  const figures: [string, number][] = []
  if (before.cpuMicros !== null && after.cpuMicros !== null) {
    figures.push(['database CPU us/job', (after.cpuMicros - before.cpuMicros) / ran])
  }
  if (before.walBytes !== null && after.walBytes !== null) {
    figures.push(['WAL bytes/job', (after.walBytes - before.walBytes) / ran])
  }
  return figures
}
