import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { graph } from '../../src/cli/format/flow-graph.ts'
import { widthOf } from '../../src/cli/format/text.ts'
import type { StepOutline } from '../../src/index.ts'

const options = { width: 100, unicode: true, paint: (_: unknown, text: string) => text, now: 0 } as const
const join = { need: 'all', failing: 'end' } as const

function step(name: string): StepOutline {
  return { kind: 'step', name, work: { queue: name }, undo: null }
}

function branch(name: string, ...steps: readonly StepOutline[]) {
  return { name, work: { branch: `f:${name}`, steps } }
}

describe('the graph of a flow', () => {
  it('draws three branches, and branches in branches', () => {
    const inner: StepOutline = {
      kind: 'parallel',
      name: 'x-y',
      join,
      branches: [
        { name: 'x', work: { queue: 'x' } },
        { name: 'y', work: { queue: 'y' } },
      ],
    }
    const outer: StepOutline = {
      kind: 'parallel',
      name: 'a-b-c',
      join,
      branches: [
        branch('a', step('one'), inner, step('two')),
        { name: 'b', work: { queue: 'b' } },
        branch('c'),
      ],
    }

    expect(graph([step('begin'), outer, step('end')], null, options).split('\n')).toEqual([
      '                         ┌─▶ x ─┐',
      '          ┌─ a ─▶ one ─▶ ┤      ├─▶ two ─┐',
      'begin ──▶ ┤              └─▶ y ─┘        ├──▶ end',
      '          ├─────▶ b ─────────────────────┤',
      '          └─ c ──────────────────────────┘',
    ])
  })

  it('draws conditions and loops', () => {
    const when: StepOutline = { kind: 'when', name: 'when 1', yes: [step('a'), step('b')], no: [] }
    const loop: StepOutline = { kind: 'repeat', name: 'repeat 2', most: 3, body: [step('c'), step('d')] }

    expect(graph([when, loop], null, options).split('\n')).toEqual([
      '┌─ yes ─▶ a ─▶ b ─┐',
      '◇                 ├──▶ ↺ at most 3 [ c ─▶ d ]',
      '└─ no ────────────┘',
    ])
  })

  it('never leaves the terminal unless one name does, and every line of it is whole', () => {
    const leaf = fc.stringMatching(/^[a-z]{1,8}$/).map(step)
    const { steps } = fc.letrec<{ steps: StepOutline[]; one: StepOutline }>((tie) => ({
      steps: fc.array(tie('one'), { minLength: 1, maxLength: 4 }),
      one: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        leaf,
        fc.record({
          kind: fc.constant('when' as const),
          name: fc.constant('w'),
          yes: tie('steps'),
          no: tie('steps'),
        }),
        fc.record({
          kind: fc.constant('repeat' as const),
          name: fc.constant('r'),
          most: fc.nat(99),
          body: tie('steps'),
        }),
        fc.array(tie('steps'), { minLength: 1, maxLength: 3 }).map(
          (many): StepOutline => ({
            kind: 'parallel',
            name: 'p',
            join,
            branches: many.map((inside, n) => branch(`n${n}`, ...inside)),
          }),
        ),
      ),
    }))
    fc.assert(
      fc.property(steps, fc.integer({ min: 60, max: 160 }), fc.boolean(), (some, width, unicode) => {
        const lines = graph(some, null, { ...options, width, unicode }).split('\n')

        const isTree = lines.some((line) => /^[├└+]/.test(line)) // One line for each step: as deep as it is.
        for (const line of lines) if (!isTree) expect(widthOf(line)).toBeLessThanOrEqual(width + 4)
        if (!unicode) expect(lines.join('')).toMatch(/^[\x20-\x7e]*$/)
      }),
      { numRuns: 200 },
    )
  })
})
