import { describe, expect, it } from 'vitest'
import { HeldRuns } from '../../src/worker/leases.ts'
import type { Run } from '../../src/worker/runs.ts'

const runOf = (id: string): Run => ({ job: { id } }) as Run

describe('the runs a worker holds', () => {
  it('are found by id until they go, however many came and went', () => {
    const held = new HeldRuns()
    const slow = runOf('slow')
    held.add(slow)
    let before: Run[] = []
    for (let round = 0; round < 30; round++) {
      const runs = Array.from({ length: 500 }, (_, n) => runOf(`${round}-${n}`))
      for (const run of runs) expect(held.add(run)).toBeUndefined()
      for (const run of before) held.remove(run)
      before = runs
    }

    expect(held.get('slow')).toBe(slow)
    expect(held.get('29-499')).toBe(before[499])
    expect(held.get('28-0')).toBeUndefined()
    expect(new Set(held.values())).toEqual(new Set([slow, ...before]))
    for (const run of [slow, ...before]) held.remove(run)
    expect([...held.values()]).toEqual([])
  })

  it('can be removed while somebody goes through them', () => {
    const held = new HeldRuns()
    for (let n = 0; n < 3_500; n++) held.add(runOf(`${n}`))
    let seen = 0

    for (const run of held.values()) {
      held.remove(run)
      seen++
    }

    expect(seen).toBe(3_500)
    expect([...held.values()]).toEqual([])
  })

  it('are one for each job: the newer one takes the place, and the older one cannot remove it', () => {
    const held = new HeldRuns()
    const [older, newer] = [runOf('a'), runOf('a')]
    held.add(older)

    expect(held.add(newer)).toBe(older)
    held.remove(older)

    expect([...held.values()]).toEqual([newer])
  })
})
