import { readFileSync } from 'node:fs'

/** The version in our own package.json, which is above us both in the sources and in the build. */
export function ownVersion(): string {
  for (const up of ['../../package.json', '../../../package.json']) {
    try {
      const text = readFileSync(new URL(up, import.meta.url), 'utf8')
      const { name, version } = JSON.parse(text) as { name?: string; version?: string }
      if (name === 'skep' && version !== undefined) return version
    } catch {
      // Not here: look one folder higher.
    }
  }
  return 'unknown'
}
