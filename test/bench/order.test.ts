import { describe, expect, it } from 'vitest'
import { type Run, RunLog } from '../../bench/measure/log.ts'
import { brokenOrder } from '../../bench/measure/order.ts'

const run = (n: number, begin: number, end = begin + 1): Run => ({ n, begin, end })

describe('the check of the order', () => {
  it('takes lanes one by one, whatever the others do', () => {
    // Two lanes: the even numbers and the odd ones.
    expect(brokenOrder([run(0, 10, 20), run(1, 1, 30), run(2, 20, 21), run(3, 30)], 2)).toBeNull()
  })

  it('sees a job that overtook another of its lane, in whichever process', () => {
    expect(brokenOrder([run(0, 1), run(4, 3), run(2, 5)], 2)).toBe('job 2 of lane 0 began after job 4')
  })

  it('sees two of a lane at once', () => {
    expect(brokenOrder([run(0, 1, 5), run(2, 4, 6)], 2)).toBe('job 2 of lane 0 began before job 0 had ended')
  })

  it('sees a job that ran again', () => {
    expect(brokenOrder([run(0, 1), run(0, 3)], 2)).toBe('job 0 of lane 0 began after job 0')
  })

  it('gets from a player what it noted there', () => {
    const log = new RunLog()
    const runs = Array.from({ length: 1_000 }, (_, n) => run(n, n / 3, n / 2))
    for (const one of runs) log.add(one)

    expect(RunLog.read(log.toText())).toEqual(runs)
    expect(RunLog.read(new RunLog().toText())).toEqual([])
  })
})
