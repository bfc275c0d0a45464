import type { Scenario } from './scenario.ts'
import { check, fill, nth, type Outcome, rateOf, stop, untilRan } from './stage.ts'

const scenario = 'throttled'

/** One job of a lane in an hour: whoever has had it waits for longer than this takes. */
const LANE_RATE = { limit: 1, perMs: 3_600_000 }

/**
 * What a job costs while very many other lanes have jobs that may not start. First without them; then lanes with two jobs each, of
 * which the first has run, stand before those that are measured.
 */
export const throttled: Scenario = {
  name: scenario,
  // No rival limits the rate of a lane.
  takesPart: ({ kind }) => kind === 'skep',
  seconds: ({ throttled: { lanes, jobs } }) => 4 + (3 * lanes + 2 * jobs) / 20_000,

  async run(stage) {
    const { lanes, jobs } = stage.sizes.throttled
    const players = await stage.players(2, { rules: { lanes: lanes + jobs, laneRate: LANE_RATE } })
    const [filler, worker] = [nth(players, 0), nth(players, 1)]
    let filled = 0
    const drain = async (count: number, ran: number, rule: number | 'own'): Promise<Outcome> => {
      await fill(filler, count, filled, { lanes: rule })
      filled += count
      await worker.call('work', [{ concurrency: 100 }])
      await untilRan([worker], ran, 60_000)
      return stop([worker])
    }

    // The first jobs of a process are slow: not counted.
    const warmUp = await drain(jobs, jobs, 'own')
    const free = await drain(jobs, jobs, 'own')
    const blocked = await drain(2 * lanes, lanes, lanes)
    const beside = await drain(jobs, jobs, 'own')

    await check(filler, filled, sum([warmUp, free, blocked, beside]))
    return {
      figures: [
        { scenario, measure: 'free jobs/s', value: rateOf(free) },
        { scenario, measure: 'beside jobs/s', value: rateOf(beside) },
        { scenario, measure: 'ratio', value: rateOf(beside) / rateOf(free) },
      ],
    }
  },
}

function sum(outcomes: readonly Outcome[]): Pick<Outcome, 'ran' | 'distinct'> {
  return {
    ran: outcomes.reduce((all, { ran }) => all + ran, 0),
    distinct: outcomes.reduce((all, { distinct }) => all + distinct, 0),
  }
}
