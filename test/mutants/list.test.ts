import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'rolldown/utils'
import { describe, expect, it } from 'vitest'
import { INCIDENTS } from './incidents.ts'
import { MUTANTS } from './list.ts'
import { patched } from './mutant.ts'
import { RULES } from './rules.ts'
import { renderPage } from './table.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (file: string): string => readFileSync(root + file, 'utf8')

describe('a mutant', () => {
  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))('%s applies', (_name, mutant) => {
    const source = read(mutant.file)
    const mutated = patched(mutant, source)
    expect(mutated).not.toBe(source)
    expect(transformSync(mutant.file, mutated).errors).toEqual([])
  })

  it('has a name, a story, a rule and incidents that exist', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
    const known = new Set(INCIDENTS.map(({ number }) => number))
    for (const { name, story, rule, incidents } of MUTANTS) {
      expect(story, name).toMatch(/^[A-Z].*\.$/)
      expect(RULES, name).toHaveProperty(rule)
      for (const number of incidents) expect(known, name).toContain(number)
    }
  })
})

describe('an incident', () => {
  it('is one of 58, each once and in order', () => {
    expect(INCIDENTS.map(({ number }) => number)).toEqual(Array.from({ length: 58 }, (_, i) => i + 1))
  })

  it('that applies now has a mutant, and one that does not has none', () => {
    for (const { number, applies } of INCIDENTS) {
      const mutants = MUTANTS.filter(({ incidents }) => incidents.includes(number))
      if (applies === 'now') expect(mutants, `incident ${number}`).not.toEqual([])
      if (applies === 'never') expect(mutants, `incident ${number}`).toEqual([])
    }
  })
})

describe('test/mutants/README.md', () => {
  it('says what the data says', () => {
    // To regenerate it: node --import jiti/register test/mutants/main.ts --table > test/mutants/README.md
    expect(read('test/mutants/README.md')).toBe(renderPage())
  })
})
