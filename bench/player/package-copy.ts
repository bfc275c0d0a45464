import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'

export interface PackageCopy {
  /** Has `dist/` and `package.json`. */
  readonly folder: string
  remove(): void
}

/**
 * A copy of the built package: a build while the benchmark runs must not change what is measured. It lies inside the
 * repository's packages, so that it finds the database drivers as an installed one does.
 */
export function copyPackage(root: string, built: string): PackageCopy {
  const home = join(root, 'node_modules/.cache')
  mkdirSync(home, { recursive: true })
  const folder = mkdtempSync(join(home, 'skep-bench-'))
  for (const part of ['package.json', 'dist/esm'])
    cpSync(join(built, part), join(folder, part), { recursive: true })
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
