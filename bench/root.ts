import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The repository. A player is bundled to somewhere else, so it is told. */
export const root = process.env['SKEP_BENCH_ROOT'] ?? fileURLToPath(new URL('..', import.meta.url))

/** Where the built package is. A player has a copy, and a test a build of its own. */
export const built = process.env['SKEP_BENCH_PACKAGE'] ?? root

/** An entry of the built package, as users get it. */
export async function importBuilt(entry: string): Promise<unknown> {
  return import(pathToFileURL(join(built, 'dist/esm', `${entry}.js`)).href)
}

/** A package of the repository: the very one that Skep uses, should a rival have brought another version. */
export function requireFromRoot(name: string): unknown {
  return createRequire(join(root, 'package.json'))(name)
}
