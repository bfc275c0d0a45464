import { mostWithin, rateThrough } from '../measure/rate.ts'
import { isQueue, lacks, type Scenario } from './scenario.ts'
import { check, nth, stop } from './stage.ts'

const scenario = 'rate'

/**
 * A queue that may start so many jobs a second is offered twice as many, with two processes to run them. What counts is how near
 * it comes to its limit, and how many began in the fullest second, wherever that second begins.
 */
export const rate: Scenario = {
  name: scenario,
  needs: ['rate'],
  takesPart: (contestant) => isQueue(contestant) && !lacks(contestant, 'work', 'processes'),
  seconds: ({ rate: { seconds } }) => 3 + seconds,

  async run(stage) {
    const { limit, seconds } = stage.sizes.rate
    const players = await stage.players(3, { rules: { rate: limit } })
    const [producer, workers] = [nth(players, 0), players.slice(1)]

    await Promise.all(workers.map((worker) => worker.call('work', [{ concurrency: 10, logged: true }])))
    const produced = await producer.call('produce', [{ from: 0, rate: 2 * limit, seconds, stamp: 'call' }])
    const outcome = await stop(workers)

    await check(producer, produced.count, outcome)
    const times = outcome.runs.map(({ begin }) => begin)
    if (times.length < limit / 2) throw new Error(`Only ${times.length} jobs ran in ${seconds} s.`)
    return {
      figures: [
        { scenario, measure: 'ratio', value: rateThrough(times) / limit },
        // Not called a ratio: less is better here.
        { scenario, measure: 'fullest second', value: mostWithin(times, 1_000) / limit },
      ],
    }
  },
}
