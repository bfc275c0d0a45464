import { describe, expect, it } from 'vitest'
import { type FlowShape, isLast, jobsOf, waits, waitsFor, wrongResults } from '../../bench/flows/shape.ts'

const children: FlowShape = { kind: 'children', size: 4 }
const chain: FlowShape = { kind: 'chain', size: 3 }

describe('the flows of the benchmark', () => {
  it('number the jobs of all of them together', () => {
    expect([0, 1, 2].flatMap((flow) => jobsOf(chain, flow)).map(({ n }) => n)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8,
    ])
  })

  it.each([
    [children, [[], [], [], [4, 5, 6]]],
    [chain, [[], [3], [4]]],
  ])('know who waits for whom: %o', (shape, expected) => {
    const numbers = jobsOf(shape, 1).map(({ n }) => n)

    expect(numbers.map((n) => waitsFor(shape, n))).toEqual(expected)
    expect(numbers.map((n) => waits(shape, n))).toEqual(expected.map((all) => all.length > 0))
    expect(numbers.map((n) => isLast(shape, n))).toEqual(numbers.map((_, i) => i === shape.size - 1))
  })

  it('are content with each result once, in whatever order', () => {
    expect(wrongResults(children, 7, [6, 4, 5])).toBeNull()
    expect(wrongResults(children, 4, [])).toBeNull()
    expect(wrongResults(chain, 4, [3])).toBeNull()
  })

  it.each([
    ['one is missing', children, 7, [4, 5]],
    ['one is there twice', children, 7, [4, 5, 5]],
    ['one is there once more', children, 7, [4, 5, 6, 6]],
    ['one is of another flow', children, 7, [3, 4, 5]],
    ['there is none to be', chain, 3, [2]],
  ] as const)('see that %s', (_, shape, n, results) => {
    expect(wrongResults(shape, n, results)).toContain(`job ${n}`)
  })
})
