import { brokenOrder } from '../measure/order.ts'
import { isQueue, lacks, type Scenario } from './scenario.ts'
import { check, fill, nth, rateOf, stop, untilRan } from './stage.ts'

const scenario = 'strict'

/**
 * Lanes in which one job runs at a time, in order, drained by two processes. Afterwards every call of a handler is looked at:
 * who broke the order has no figure.
 */
export const strict: Scenario = {
  name: scenario,
  needs: ['strict'],
  takesPart: (contestant) => isQueue(contestant) && !lacks(contestant, 'work', 'processes'),
  seconds: ({ strict: { ms } }) => 2 + (0.5 * ms) / 1_000,

  async run(stage) {
    const { lanes, each, ms } = stage.sizes.strict
    const players = await stage.players(3, { rules: { lanes, strict: true } })
    const [filler, workers] = [nth(players, 0), players.slice(1)]
    const count = lanes * each
    // One job of each lane in a call: some promise an order between calls alone.
    await fill(filler, count, 0, { chunk: lanes, lanes })

    await Promise.all(workers.map((worker) => worker.call('work', [{ concurrency: 50, logged: true }])))
    await untilRan(workers, count, ms)
    const outcome = await stop(workers)

    await check(filler, count, outcome)
    if (outcome.runs.length !== outcome.ran)
      throw new Error(`${outcome.ran} jobs ran and ${outcome.runs.length} were logged.`)
    const broken = brokenOrder(outcome.runs, lanes)
    if (broken !== null) {
      if (stage.contestant.kind === 'skep') throw new Error(`The order was broken: ${broken}.`)
      return { figures: [], note: `broke the order: ${broken}` }
    }
    return { figures: [{ scenario, measure: 'jobs/s', value: rateOf(outcome) }] }
  },
}
