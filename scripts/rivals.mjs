// The libraries that `npm run bench` measures Skep beside. They have a lock file and a node_modules of their own in
// bench/rivals, so that nobody else has to install them.

import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, runNpm } from './run.mjs'

const folder = join(root, 'bench/rivals')
const note = join(folder, 'node_modules/.installed')

/** Installs the rivals if they are missing or their lock file changed. False when that failed: npm said why. */
export async function ensureRivals() {
  if (rivalsInstalled()) return true
  console.error('Installing the rivals, a minute or two: one of them is compiled …')
  // Two of them ask for a newer Node than the one that installs them; they are run on it later.
  const quietly = ['--engine-strict=false', '--no-audit', '--no-fund', '--loglevel=error']
  const steps = [
    // No rival needs an install script except the one database driver that is not plain JavaScript.
    ['ci', '--ignore-scripts', ...quietly],
    ['rebuild', 'better-sqlite3', '--ignore-scripts=false', ...quietly],
  ]
  for (const step of steps) {
    if ((await runNpm(step, { cwd: folder, quiet: true })) !== 0) return false
  }
  writeFileSync(note, wanted())
  return true
}

export function rivalsInstalled() {
  return existsSync(note) && readFileSync(note, 'utf8') === wanted()
}

/** What is to be installed. The compiled driver fits only the Node it was compiled for. */
function wanted() {
  const lock = readFileSync(join(folder, 'package-lock.json'))
  return `${createHash('sha256').update(lock).digest('hex')} ${process.versions.modules}\n`
}
