import { describe, expect, it } from 'vitest'
import { type Run, WaitingRuns } from '../../src/worker/runs.ts'

/** Runs that are told apart by a letter, their lane, and a number. */
function runs(names: string): Run[] {
  return names.split(' ').map((id) => ({ job: { id, lane: id[0] === '-' ? null : id[0] } }) as Run)
}

/** One claim after the other. */
function filled(...claims: string[]): WaitingRuns {
  const waiting = new WaitingRuns()
  for (const claim of claims) add(waiting, claim)
  return waiting
}

function add(waiting: WaitingRuns, claim: string): void {
  waiting.beginClaim()
  for (const run of runs(claim)) waiting.push(run)
}

/** Takes all that wait. */
function drained(waiting: WaitingRuns): string {
  const ids: string[] = []
  for (let run = waiting.shift(); run; run = waiting.shift()) ids.push(run.job.id)
  return ids.join(' ')
}

describe('runs that wait for a slot', () => {
  it('go in the order in which the store gave them', () => {
    expect(drained(filled('-1 -2 -3'))).toBe('-1 -2 -3')
    expect(drained(filled('a1 b1 a2 a3 -1', 'b2 a4'))).toBe('a1 b1 a2 a3 -1 b2 a4')
  })

  it('let a lane pass of which nothing waits, every other time', () => {
    const waiting = filled('a1 a2 a3 a4', 'b1 b2 a5 b3')
    expect(waiting.shift()?.job.id).toBe('b1')
    add(waiting, 'c1 b4')

    expect(drained(waiting)).toBe('a1 b2 a2 b3 a3 c1 a4 b4 a5')
    expect(waiting.size).toBe(0)
  })

  it('begin anew when nothing waits', () => {
    const waiting = filled('a1', 'b1')
    drained(waiting)
    add(waiting, 'a2 b2 a3')
    add(waiting, 'c1')

    expect(drained(waiting)).toBe('c1 a2 b2 a3')
  })

  it('can be taken out in any number, and the others keep their places', () => {
    const waiting = filled('a1 b1 a2', 'c1 c2 b2')
    const taken = waiting.take(({ job }) => job.lane === 'a' || job.id === 'c1')
    expect(taken.map(({ job }) => job.id)).toEqual(['c1', 'a1', 'a2'])
    expect(waiting.size).toBe(3)
    add(waiting, 'a3')

    expect(drained(waiting)).toBe('c2 b1 a3 b2')
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
      add(waiting, `a${n}`)
      expect(waiting.shift()?.job.id).toBe(`a${n - 1}`)
    }
    expect(waiting.size).toBe(1)
  })
})
