import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The repository. A player is bundled to somewhere else, so it is told. */
export const root = process.env['SKEP_BENCH_ROOT'] ?? fileURLToPath(new URL('..', import.meta.url))

/** An entry of the built package, as users get it. */
export async function importBuilt(entry: string): Promise<unknown> {
  return import(pathToFileURL(join(root, 'dist/esm', `${entry}.js`)).href)
}

/** A package of the repository: the very one that Skep uses, should a rival have brought another version. */
export function requireFromRoot(name: string): unknown {
  return createRequire(join(root, 'package.json'))(name)
}
