import { isQueue, type Scenario } from './scenario.ts'
import { fill, nth } from './stage.ts'

/** What a waiting job takes of the server's memory, where that is where jobs are. */
export const memory: Scenario = {
  name: 'memory',
  when: 'once',
  takesPart: (contestant) => contestant.store === 'redis' && isQueue(contestant),
  seconds: ({ drain }) => 2 + drain / 20_000,

  async run(stage) {
    const { drain: count } = stage.sizes
    const meter = stage.redis()
    if (meter === null) throw new Error('Only Redis tells its memory.')
    const filler = nth(await stage.players(1), 0)
    // What is made once, such as the scripts, is made by the first jobs.
    await fill(filler, count / 10)
    const before = await meter.memoryBytes()
    await fill(filler, count, count / 10)
    const bytes = (await meter.memoryBytes()) - before
    return { figures: [{ scenario: 'memory', measure: 'bytes/job', value: bytes / count }] }
  },
}
