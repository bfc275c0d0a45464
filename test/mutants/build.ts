import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import type { Mutant } from './mutant.ts'
import { patchPlugin } from './plugin.ts'

export const root: string = fileURLToPath(new URL('../../', import.meta.url))

/** A folder for test builds, inside of the repository so that they find its packages. `remove` takes it away. */
export function buildFolder(): { readonly path: string; readonly remove: () => void } {
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const path = mkdtempSync(join(cache, 'mutants-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** Makes one file of a program and all its sources, with the mutant's bug in it. Null: as it is. */
export async function bundle(entry: string, mutant: Mutant | null, folder: string): Promise<string> {
  const build = await rolldown({
    input: join(root, entry),
    platform: 'node',
    // Packages stay outside; everything of ours goes in.
    external: (id) => !/^[./\0]/.test(id),
    plugins: mutant ? [patchPlugin(mutant)] : [],
    logLevel: 'silent',
  })
  const file = join(folder, `${mutant?.name ?? 'unmutated'}-${entry.replaceAll(/\W/g, '-')}.mjs`)
  try {
    await build.write({ file, format: 'esm', codeSplitting: false })
  } finally {
    await build.close()
  }
  return file
}
