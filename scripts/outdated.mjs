// Answers "must this be made again?" by comparing times of change, as make does.

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './run.mjs'

/** True when packages were never installed, or the lock file changed since. */
export function installOutdated() {
  // npm writes this file at the end of every install, so half an install counts as none.
  const installed = changedAt(join(root, 'node_modules/.package-lock.json'))
  return installed === undefined || installed < (changedAt(join(root, 'package-lock.json')) ?? 0)
}

/** True when there is no build in this checkout, or a source or setting changed since. */
export function buildOutdated(checkout = root) {
  const built = changedAt(join(checkout, 'dist/.built'))
  if (built === undefined) return true
  const settings = [
    'package.json',
    'tsconfig.base.json',
    'tsconfig.esm.json',
    'tsconfig.cjs.json',
    'dashboard/index.html',
    'dashboard/vite.config.ts',
  ]
  const folders = ['src', 'dashboard/src', 'dashboard/public'].flatMap((name) =>
    filesIn(join(checkout, name)),
  )
  const inputs = [...settings.map((name) => join(checkout, name)), ...folders]
  return inputs.some((path) => (changedAt(path) ?? 0) > built)
}

/** @param {string} path */
function changedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs
}

/**
 * Files and folders: a deleted file shows as a change of its folder.
 *
 * @param {string} folder
 * @returns {string[]}
 */
function filesIn(folder) {
  const inside = readdirSync(folder, { withFileTypes: true, recursive: true })
  return [folder, ...inside.map((entry) => join(entry.parentPath, entry.name))]
}
