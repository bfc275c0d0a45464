import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The folder of our own package, for the files that are shipped beside the code; null where the code was bundled away from them.
 * The ES build alone has import.meta and the CommonJS build alone __dirname, so a stack trace tells both where they are.
 */
export function packageFolder(): string | null {
  folder ??= { path: find() }
  return folder.path
}

let folder: { readonly path: string | null } | undefined

function find(): string | null {
  const file = thisFile()
  for (
    let at = file === null ? null : dirname(file);
    at !== null;
    at = dirname(at) === at ? null : dirname(at)
  ) {
    if (nameIn(join(at, 'package.json')) === 'skep') return at
  }
  return null
}

function nameIn(file: string): string | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { name?: string }).name : undefined
}

function thisFile(): string | null {
  const before = Error.prepareStackTrace
  try {
    Error.prepareStackTrace = (_error, sites) => sites
    const sites = new Error('where').stack as unknown as readonly NodeJS.CallSite[]
    const file = sites[0]?.getFileName() ?? null
    return file?.startsWith('file:') ? fileURLToPath(file) : file
  } catch {
    return null
  } finally {
    Error.prepareStackTrace = before
  }
}

/** Our own version. */
export function packageVersion(): string {
  const path = packageFolder()
  if (path === null) return 'unknown'
  return (JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as { version: string }).version
}
