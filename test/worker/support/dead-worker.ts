import assert from 'node:assert/strict'
import type { Scene } from './scene.ts'

/** Takes jobs as a worker does that dies in the same moment. */
export async function claimAndDie(
  scene: Scene,
  options: { queue?: string; leaseMs?: number; limit?: number } = {},
): Promise<string> {
  const { queue: name = 'mail', leaseMs = 30_000, limit = 100 } = options
  const workerId = scene.runtime.uuid()
  const { jobs } = await scene.truth.claim({
    sources: [{ space: 'default', queue: name, limit }],
    limit,
    workerId,
    token: scene.runtime.uuid(),
    leaseMs,
  })
  assert.ok(jobs.length > 0, 'there is nothing to take')
  return workerId
}
