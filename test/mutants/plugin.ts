import { fileURLToPath } from 'node:url'
import { MUTANTS } from './list.ts'
import { type Mutant, patched } from './mutant.ts'

/** The environment variable that names the mutant of a test build. */
export const MUTANT_VARIABLE = 'SKEP_MUTANT'

/** A plugin for Vite and Rolldown. */
export interface PatchPlugin {
  readonly name: string
  readonly enforce: 'pre'
  transform(code: string, id: string): string | null
}

export function mutantNamed(name: string): Mutant {
  const mutant = MUTANTS.find((one) => one.name === name)
  if (!mutant) throw new Error(`There is no mutant "${name}" in test/mutants.`)
  return mutant
}

/** Puts the mutant's bug into its file while that is loaded. */
export function patchPlugin(mutant: Mutant): PatchPlugin {
  const path = fileURLToPath(new URL(`../../${mutant.file}`, import.meta.url))
  return {
    name: `mutant ${mutant.name}`,
    enforce: 'pre',
    transform: (code, id) => (id.split('?')[0] === path ? patched(mutant, code) : null),
  }
}

/** The plugins for a test run: none, unless the environment names a mutant. */
export function mutantPlugins(name = process.env[MUTANT_VARIABLE]): PatchPlugin[] {
  return name === undefined || name === '' ? [] : [patchPlugin(mutantNamed(name))]
}
