import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The repository. A player is bundled to somewhere else, so it is told. */
export const root = process.env['SKEP_BENCH_ROOT'] ?? fileURLToPath(new URL('..', import.meta.url))

/** An entry of the built package, as users get it. A test has a build of its own. */
export async function importBuilt(entry: string): Promise<unknown> {
  const folder = process.env['SKEP_BENCH_PACKAGE'] ?? root
  return import(pathToFileURL(join(folder, 'dist/esm', `${entry}.js`)).href)
}

/** A package of the repository: the very one that Skep uses, should a rival have brought another version. */
export function requireFromRoot(name: string): unknown {
  return createRequire(join(root, 'package.json'))(name)
}
