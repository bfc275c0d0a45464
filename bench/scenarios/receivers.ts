import type { Player } from '../player/player.ts'
import type { Measured, Scenario, Value } from './scenario.ts'
import type { Sizes } from './sizes.ts'
import { check, fill, nth, rateOf, type Stage, stop, untilRan } from './stage.ts'

const CONCURRENCY = 100
/** So many jobs are out at once: some are on their way here, some are run, some are on their way back. More are no faster. */
const CREDITS = 1_000
/** So many times what others drain: all three begin cold, and it is the pace after that which is compared. */
const TIMES = 2
/** All of them have to be done: the next one begins with an empty queue. */
const LONGEST_MS = 60_000

/**
 * A worker runs the queue empty; then a receiver in another process does the same, over HTTP and over gRPC, with a server between
 * it and the store. Both run on this machine, so a ratio of 1 is as good as it gets.
 */
export const receivers: Scenario = {
  name: 'receivers',
  takesPart: ({ kind }) => kind === 'skep',
  seconds: ({ drain, drainMs }: Sizes) => 3 * (1.5 + TIMES * (drain / 50_000 + (0.4 * drainMs) / 1_000)),
  run,
}

async function run(stage: Stage): Promise<Measured> {
  const count = TIMES * stage.sizes.drain
  const players = await stage.players(4)
  const [filler, worker, server, receiver] = [0, 1, 2, 3].map((index) => nth(players, index)) as [
    Player,
    Player,
    Player,
    Player,
  ]
  const drained = async (who: Player, begin: () => Promise<unknown>): Promise<number> => {
    await fill(filler, count)
    await begin()
    await untilRan([who], count, LONGEST_MS)
    const outcome = await stop([who])
    await check(filler, count, outcome)
    return rateOf(outcome)
  }
  const own = await drained(worker, () => worker.call('work', [{ concurrency: CONCURRENCY }]))
  const { url } = await server.call('serve', [])
  const take = (protocol: 'http' | 'grpc'): Promise<number> =>
    drained(receiver, () => receiver.call('receive', [{ url, protocol, credits: CREDITS }]))
  const http = await take('http')
  const grpc = await take('grpc')
  const figures = [
    ['worker jobs/s', own],
    ['HTTP jobs/s', http],
    ['HTTP ratio', http / own],
    ['gRPC jobs/s', grpc],
    ['gRPC ratio', grpc / own],
  ] as const
  return { figures: figures.map(([measure, value]): Value => ({ scenario: 'receivers', measure, value })) }
}
