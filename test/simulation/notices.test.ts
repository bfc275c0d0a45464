import { describe, expect, it } from 'vitest'
import { describeTrials } from './trials.ts'

const seen = { lost: 0, doubled: 0, acked: 0, later: 0, again: 0, buried: 0 }

/** Adds up what happened to the notices of all trials. */
function count({
  hints,
}: {
  readonly hints: { readonly notices: { readonly counts: typeof seen } | null }
}): void {
  for (const [what, times] of Object.entries(hints.notices?.counts ?? {}))
    seen[what as keyof typeof seen] += times
}

describe('with notices that are lost, doubled and late', () => {
  describeTrials('memory', 40_000, 40, 'any', 'jobs', { notices: true, also: count })
  describeTrials('memory', 41_000, 10, 'any', 'flows', { notices: true, also: count })
  describeTrials('sqlite', 42_000, 10, 'any', 'jobs', { notices: true, also: count })

  it('has seen everything that can happen to a notice', () => {
    for (const [what, times] of Object.entries(seen))
      expect([what, times]).toEqual([what, expect.any(Number)])
    // None has to be buried: the trials do not last so long.
    const { buried: _, ...usual } = seen
    expect(Object.entries(usual).filter(([, times]) => times === 0)).toEqual([])
  })
})
