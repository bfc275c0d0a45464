import { messageOf } from '../core/errors.ts'
import { DEFAULT_POLICY, discard, exponential, fixed, type Policy, retry } from '../core/policy.ts'
import type { Maker } from '../flows/advance.ts'
import { type Control, Engine, type StartOrder, UnknownVersionError } from '../flows/engine.ts'
import type { Registry } from '../flows/registry.ts'
import { type HandlerSpec, instruction } from '../worker/handler.ts'
import type { Run } from '../worker/run.ts'
import { cancelMembers } from './change-runs.ts'
import { flowMaker } from './flow-maker.ts'
import type { HandlerEnv } from './handlers.ts'

/** So many runs are moved on together. */
const BATCH = 100

/** After so many errors of a flow's own functions its run has failed. */
const MOST_ERRORS = 3

/** A run whose branch no worker here has is looked at again after this time: those who have it may come to it first. */
const VERSION_WAIT_MS = 30_000

const POLICY: Policy = {
  ...DEFAULT_POLICY,
  onSuccess: discard(),
  // Nobody else moves the run on, so it never gives up.
  onError: { ...retry(1, exponential('1s', { max: '1m' })), retries: null },
  onLost: { ...retry(1, fixed(0)), retries: null },
}

/** What a worker runs to move the runs of its flows on: one for each of their queues. */
export function flowSpecs(registry: Registry, env: HandlerEnv): HandlerSpec[] {
  const maker = flowMaker(env)
  const engine = new Engine({ store: env.store, space: env.space, registry, maker })
  return registry.queues().map((queue) => ({
    space: env.space,
    queue,
    concurrency: Number.POSITIVE_INFINITY,
    batch: BATCH,
    policyOf: () => POLICY,
    encodeResult: () => null,
    call: (runs) => moveAll(engine, runs, { ...env, maker }),
  }))
}

async function moveAll(
  engine: Engine,
  runs: readonly Run[],
  env: HandlerEnv & { readonly maker: Maker },
): Promise<readonly unknown[]> {
  const orders = runs.map(({ job: { id, payload } }) => ({
    id,
    order: JSON.parse(payload) as Control | StartOrder,
  }))
  const decisions = await engine.decide(orders)
  for (const decision of decisions) {
    // Before the run moves on, so that somebody does it again should this process end here.
    const leaves = 'leaves' in decision ? decision.leaves : null
    if (leaves) await cancelMembers(env, leaves, 'The step that it belonged to has been decided without it.')
  }
  const answers = decisions.map(async (decision, index): Promise<unknown> => {
    const run = runs[index] as Run
    if ('late' in decision) return null
    if ('move' in decision) {
      run.move = decision.move
      return null
    }
    const { error } = decision
    if (error instanceof UnknownVersionError) {
      env.logger.warn(error.message)
      return instruction('snooze', VERSION_WAIT_MS, error.message)
    }
    if (decision.run === null || run.job.errors + 1 < MOST_ERRORS)
      return error instanceof Error ? error : new Error(messageOf(error))
    env.logger.warn(`Run "${decision.run.id}" of flow "${decision.run.flow}" has failed: ${messageOf(error)}`)
    run.move = await decision.giveUp()
    return null
  })
  return Promise.all(answers)
}
