// Makes a fresh clone usable: installs packages and builds, each only when needed.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { buildOutdated, installOutdated } from './outdated.mjs'
import { root, runNode, runNpm } from './run.mjs'

/** Stops the whole script when packages cannot be installed: nothing can work without them. */
export async function ensureInstalled() {
  checkNode()
  if (!installOutdated()) return
  const isFirst = !existsSync(join(root, 'node_modules'))
  console.error(
    isFirst
      ? 'Installing packages, a minute the first time …'
      : 'The lock file changed: installing packages …',
  )
  // No package here needs its install script, and not running them is safer.
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const code = await runNpm(['ci', ...options], { quiet: true })
  if (code !== 0) {
    console.error('\nnpm ci failed; its output is above. Is the npm registry reachable?')
    process.exit(code)
  }
}

/** Stops the whole script when the build fails. */
export async function ensureBuilt() {
  if (!buildOutdated()) return
  console.error('Building …')
  const code = await runNode(['scripts/build.mjs'])
  if (code !== 0) process.exit(code)
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return
  console.error(`Skep needs Node 20.19 or newer; this is ${process.versions.node}.`)
  process.exit(1)
}
