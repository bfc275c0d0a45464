import type { Contestant, Rules } from '../contest.ts'
import { isQueue, lacks, type Measured, type Need, type Scenario } from './scenario.ts'
import { check, fill, nth, rateOf, type Stage, stop, untilRan } from './stage.ts'

/** A queue whose jobs are spread over lanes is filled, then a worker runs it empty. */
interface LaneDrain {
  readonly scenario: string
  readonly rules: Rules & { readonly lanes: number }
  readonly needs: readonly Need[]
  takesPart(contestant: Contestant): boolean
}

const works = (contestant: Contestant): boolean => isQueue(contestant) && !lacks(contestant, 'work')

export const lanes10: Scenario = scenarioOf({
  scenario: 'lanes-10',
  rules: { lanes: 10 },
  needs: ['lanes', 'wide lanes'],
  takesPart: works,
})

export const lanes1k: Scenario = scenarioOf({
  scenario: 'lanes-1k',
  rules: { lanes: 1_000 },
  needs: ['lanes'],
  takesPart: works,
})

export const lanes10k: Scenario = scenarioOf({
  scenario: 'lanes-10k',
  rules: { lanes: 10_000 },
  needs: ['lanes'],
  takesPart: works,
})

/** A lane for each job. What the rivals do with ten thousand says enough of them. */
export const lanes100k: Scenario = scenarioOf({
  scenario: 'lanes-100k',
  rules: { lanes: 100_000 },
  needs: ['lanes'],
  takesPart: ({ kind }) => kind === 'skep',
})

/** No more than two jobs of a lane at once: what a limit costs that all processes have to keep together. */
export const lanesLimited: Scenario = scenarioOf({
  scenario: 'lanes-limited',
  rules: { lanes: 1_000, laneAtOnce: 2 },
  needs: ['lanes', 'wide lanes'],
  takesPart: works,
})

function scenarioOf(how: LaneDrain): Scenario {
  return {
    name: how.scenario,
    needs: how.needs,
    takesPart: how.takesPart,
    seconds: ({ drain, drainMs }) => 1.5 + drain / 40_000 + (0.6 * drainMs) / 1_000,
    run: (stage) => run(stage, how),
  }
}

async function run(stage: Stage, { scenario, rules }: LaneDrain): Promise<Measured> {
  const { drain: count, drainMs } = stage.sizes
  const players = await stage.players(2, { rules })
  const [filler, worker] = [nth(players, 0), nth(players, 1)]
  const meter = await stage.meter()
  await fill(filler, count, 0, { lanes: rules.lanes })

  const before = await meter?.usage()
  await worker.call('work', [{ concurrency: 100 }])
  await untilRan([worker], count, drainMs)
  const outcome = await stop([worker])
  const after = await meter?.usage()

  await check(filler, count, outcome)
  const cpu =
    before?.cpuMicros == null || after?.cpuMicros == null ? null : after.cpuMicros - before.cpuMicros
  return {
    figures: [
      { scenario, measure: 'jobs/s', value: rateOf(outcome) },
      ...(cpu === null ? [] : [{ scenario, measure: 'database CPU us/job', value: cpu / outcome.ran }]),
    ],
  }
}
