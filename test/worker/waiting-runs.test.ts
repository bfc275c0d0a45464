import { describe, expect, it } from 'vitest'
import type { Run } from '../../src/worker/run.ts'
import { WaitingRuns } from '../../src/worker/waiting-runs.ts'

/** Runs that are told apart by a letter, their lane, and a number. */
function runs(names: string): Run[] {
  return names.split(' ').map((id) => ({ job: { id, lane: id[0] === '-' ? null : id[0] } }) as Run)
}

function filled(names: string): WaitingRuns {
  const waiting = new WaitingRuns()
  for (const run of runs(names)) waiting.push(run)
  return waiting
}

/** Takes all that wait. */
function drained(waiting: WaitingRuns): string {
  const ids: string[] = []
  for (let run = waiting.shift(); run; run = waiting.shift()) ids.push(run.job.id)
  return ids.join(' ')
}

describe('runs that wait for a slot', () => {
  it('go in the order in which they came, if they are of one lane or of none', () => {
    expect(drained(filled('-1 -2 -3'))).toBe('-1 -2 -3')
    expect(drained(filled('a1 a2 a3'))).toBe('a1 a2 a3')
  })

  it('takes one of each lane in turn', () => {
    const waiting = filled('a1 a2 a3 a4 b1 b2 -1')
    expect(waiting.shift()?.job.id).toBe('a1')
    for (const run of runs('c1 a5')) waiting.push(run)

    expect(drained(waiting)).toBe('b1 -1 a2 c1 b2 a3 a4 a5')
    expect(waiting.size).toBe(0)
  })

  it('can be taken out in any number, and the others keep their turn', () => {
    const waiting = filled('a1 a2 b1 c1 c2')
    expect(waiting.take(({ job }) => job.lane === 'a' || job.id === 'c1').map(({ job }) => job.id)).toEqual([
      'a1',
      'a2',
      'c1',
    ])
    expect(waiting.size).toBe(2)
    for (const run of runs('a3 b2')) waiting.push(run)

    expect(drained(waiting)).toBe('b1 c2 a3 b2')
  })

  it('can be taken out one by one', () => {
    const waiting = new WaitingRuns()
    const [first, second] = runs('a1 a2') as [Run, Run]
    waiting.push(first)

    expect(waiting.remove(second)).toBe(false)
    expect(waiting.remove(first)).toBe(true)
    expect(waiting.remove(first)).toBe(false)
    expect(waiting.shift()).toBeUndefined()
  })

  it('keep their order over thousands that never run out', () => {
    const waiting = filled('a0')
    for (let n = 1; n < 5_000; n++) {
      waiting.push(...(runs(`a${n}`) as [Run]))
      expect(waiting.shift()?.job.id).toBe(`a${n - 1}`)
    }
    expect(waiting.size).toBe(1)
  })
})
