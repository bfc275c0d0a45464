import { describe, expect, it } from 'vitest'
import { kindOf } from './killers.ts'
import { MUTANTS } from './list.ts'
import { mutantNamed } from './plugin.ts'
import { type Match, matchesOf, runMatches, sample } from './runner.ts'

/** The four that no test run leaves out: without a fence, pop before work, an outcome dropped, an answer too soon. */
const ALWAYS = [
  'memory-settle-any-token',
  'memory-pop-before-work',
  'worker-drops-unsaved-outcomes',
  'enqueue-answers-too-soon',
]
const DRAWN = 6

/** Another sample each day; the variable asks for the one of another day. */
const seed = Number(process.env['SKEP_MUTANT_SEED'] ?? Math.floor(Date.now() / 86_400_000))

/** Those that the simulator or the model finds soon. The others take their turn in the soak. */
function quick(names: readonly string[]): Match[] {
  const mutants = names.map(mutantNamed).filter(({ killedBy }) => kindOf(killedBy) !== 'vitest')
  return matchesOf(mutants, ['simulation', 'model'])
}

describe('mutants', () => {
  it(`are found: four of them always, six drawn with SKEP_MUTANT_SEED=${seed}`, async () => {
    const always = quick(ALWAYS)
    expect(always).toHaveLength(ALWAYS.length)
    const others = quick(MUTANTS.map(({ name }) => name).filter((name) => !ALWAYS.includes(name)))
    const matches = [...always, ...sample(others, DRAWN, seed)]

    const lines: string[] = []
    const { violations, survived } = await runMatches(matches, (line) => lines.push(line))

    expect(violations, lines.join('\n')).toEqual([])
    expect(survived).toEqual([])
  }, 120_000)
})
