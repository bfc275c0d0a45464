import { describe, expect, it } from 'vitest'
import { wantedBy } from '../../src/client/bulk/move.ts'
import { type Job, PLAIN_JOB } from '../../src/core/jobs/job.ts'
import { create } from '../../src/core/jobs/transitions.ts'
import { planQuery } from '../../src/core/query/plan.ts'
import { parseQuery } from '../../src/core/query/query.ts'

const BOUND = Date.parse('2026-11-16T12:00:00Z')

function job(changes: Partial<Job>): Job {
  const fresh = { ...PLAIN_JOB, id: '019a8f3c-2f1e-7b7a-8c33-5d1f0a9b7e21', space: 'default', queue: 'mail' }
  return { ...create({ ...fresh, payload: 'null' }, BOUND - 1_000), ...changes }
}

const wanted = (action: Parameters<typeof wantedBy>[0], query: string) =>
  wantedBy(action, planQuery(parseQuery(query), { now: BOUND }), BOUND)

describe('what a bulk action is about', () => {
  it.each([
    [{ enqueuedAt: BOUND }, true],
    [{ enqueuedAt: BOUND + 1 }, false],
    [{ state: 'dead', finishedAt: BOUND }, true],
    // It was dead before, started anew, and failed again at once.
    [{ state: 'dead', finishedAt: BOUND + 1 }, false],
    [{ state: 'running' }, false],
  ] as const)('was so when it began: %j %s', (changes, isWanted) => {
    const { fits } = wanted('remove', 'state:ready,dead')

    expect(fits(job(changes))).toBe(isWanted)
  })

  it('has not run since, if it is made due', () => {
    const { fits } = wanted('promote', 'state:delayed')

    expect(fits(job({ state: 'delayed', startedAt: BOUND }))).toBe(true)
    expect(fits(job({ state: 'delayed', startedAt: BOUND + 1 }))).toBe(false)
  })
})
