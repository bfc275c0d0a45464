import { setTimeout as sleep } from 'node:timers/promises'
import { now } from '../contest.ts'
import type { FlowShape } from '../flows/shape.ts'
import { checkLeft } from '../measure/left.ts'
import type { FlowsWorked } from '../player/commands.ts'
import type { Player } from '../player/player.ts'
import { isQueue, lacks, type Measured, type Scenario } from './scenario.ts'
import type { Sizes } from './sizes.ts'
import { nth, type Stage } from './stage.ts'

/** Flows are made and run at the same time, by two processes. What counts is from the first call to the last end. */
interface Flows {
  readonly scenario: string
  readonly shape: FlowShape
  count(sizes: Sizes): number
}

/** A hundred jobs, and then one with their results. */
export const flowChildren: Scenario = scenarioOf({
  scenario: 'flow-children',
  shape: { kind: 'children', size: 101 },
  count: ({ flows }) => flows.children,
})

/** Five jobs, one after the other, each with the result of the one before it. */
export const flowChain: Scenario = scenarioOf({
  scenario: 'flow-chain',
  shape: { kind: 'chain', size: 5 },
  count: ({ flows }) => flows.chains,
})

function scenarioOf(how: Flows): Scenario {
  return {
    name: how.scenario,
    needs: ['flows'],
    takesPart: (contestant) => isQueue(contestant) && !lacks(contestant, 'work', 'processes'),
    seconds: ({ flows: { ms } }) => 2 + (0.3 * ms) / 1_000,
    run: (stage) => run(stage, how),
  }
}

async function run(stage: Stage, { scenario, shape, count: countOf }: Flows): Promise<Measured> {
  const { ms } = stage.sizes.flows
  const count = countOf(stage.sizes)
  const players = await stage.players(2, { rules: { flow: shape } })
  const [producer, worker] = [nth(players, 0), nth(players, 1)]
  const meter = await stage.meter()

  await worker.call('workFlows', [{ shape, concurrency: 100 }])
  const before = await meter?.usage()
  const until = now() + ms
  const making = producer.call('makeFlows', [{ count, ms }], 2 * ms)
  await untilEnded(worker, count, until)
  const { made, beganAt } = await making
  const isOver = made === count && (await worker.call('flowProgress', [])).ended >= count
  // Behind the last job of a flow there may be something to do before nothing is left.
  if (isOver) await untilNothingIsLeft(producer)
  const worked = await worker.call('stopFlows', [])
  const after = await meter?.usage()

  if (worked.wrong !== null) throw new Error(`A flow went wrong: ${worked.wrong}.`)
  await check(producer, made * shape.size, worked, isOver)
  // Whoever needs longer is judged by the jobs that ran, as if those of a flow had come one after the other.
  const done = worked.ran / shape.size
  const cpu =
    before?.cpuMicros == null || after?.cpuMicros == null ? null : after.cpuMicros - before.cpuMicros
  return {
    figures: [
      { scenario, measure: 'flows/s', value: (done / (worked.lastAt - beganAt)) * 1_000 },
      { scenario, measure: 'worker CPU us/flow', value: worked.cpuMicros / done },
      ...(cpu === null ? [] : [{ scenario, measure: 'database CPU us/flow', value: cpu / done }]),
    ],
    ...(isOver ? {} : { note: `only ${worked.ended} of ${count} flows ended within ${ms / 1_000} s` }),
  }
}

async function untilEnded(worker: Player, count: number, until: number): Promise<void> {
  while (now() < until && (await worker.call('flowProgress', [])).ended < count) await sleep(20)
}

/** How long nothing may be left after the last end. */
const PATIENCE_MS = 5_000

async function untilNothingIsLeft(producer: Player): Promise<void> {
  const until = now() + PATIENCE_MS
  while (now() < until && (await producer.call('count', [])).open > 0) await sleep(50)
}

/** Every job of every flow ran once. Of those that were not over in time some jobs need not be in the store yet. */
async function check(
  producer: Player,
  enqueued: number,
  { ran, distinct }: FlowsWorked,
  isOver: boolean,
): Promise<void> {
  const { open } = await producer.call('count', [])
  checkLeft({ enqueued, ran, distinct, open: isOver ? open : enqueued - ran })
}
