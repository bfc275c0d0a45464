import { now } from '../contest.ts'
import { isQueue, lacks, type Scenario } from './scenario.ts'
import { check, nth, stop, untilRan } from './stage.ts'

const scenario = 'killed'
const JOBS = 100

/** A worker that runs a hundred jobs is killed, and another starts at once: when do all of them run again? */
export const killed: Scenario = {
  name: 'killed',
  when: 'together',
  takesPart: (contestant) => isQueue(contestant) && !lacks(contestant, 'work', 'processes'),
  seconds: ({ killedSeconds }) => 10 + killedSeconds,

  async run(stage) {
    const { killedSeconds } = stage.sizes
    const players = await stage.players(3)
    const [producer, victim, heir] = [nth(players, 0), nth(players, 1), nth(players, 2)]
    await producer.call('enqueueMany', [{ from: 0, count: JOBS, chunk: JOBS }])
    await victim.call('work', [{ concurrency: JOBS, hold: true }])
    await untilRan([victim], JOBS, 20_000)
    const { ran: running } = await victim.call('progress', [])
    if (running !== JOBS) throw new Error(`Only ${running} of ${JOBS} jobs were running.`)

    const killedAt = now()
    await victim.kill()
    await heir.call('work', [{ concurrency: JOBS }])
    await untilRan([heir], JOBS, killedSeconds * 1_000)
    const outcome = await stop([heir])

    await check(producer, JOBS, outcome)
    if (outcome.ran < JOBS) {
      return {
        figures: [],
        note: `after ${killedSeconds} s ${JOBS - outcome.ran} of ${JOBS} jobs still waited`,
      }
    }
    return { figures: [{ scenario, measure: 'seconds', value: (outcome.lastAt - killedAt) / 1_000 }] }
  },
}
