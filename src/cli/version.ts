import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The folder of our own package, which is above us both in the sources and in the build. */
export function ownFolder(): string {
  return found().folder
}

/** The version in our own package.json. */
export function ownVersion(): string {
  return found().version
}

function found(): { readonly folder: string; readonly version: string } {
  for (const up of ['../../', '../../../']) {
    try {
      const folder = new URL(up, import.meta.url)
      const text = readFileSync(new URL('package.json', folder), 'utf8')
      const { name, version } = JSON.parse(text) as { name?: string; version?: string }
      if (name === 'skep' && version !== undefined) return { folder: fileURLToPath(folder), version }
    } catch {
      // Not here: look one folder higher.
    }
  }
  return { folder: fileURLToPath(new URL('../../', import.meta.url)), version: 'unknown' }
}
