// Other versions of Node. The programs come from npm, so nothing else has to be reachable, and stay in
// node_modules/.cache.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root, runNpm } from './run.mjs'

/**
 * The version that is taken of each major.
 *
 * @type {Readonly<Record<string, string>>}
 */
export const nodeVersions = { 20: '20.19.0', 22: '22.23.3', 24: '24.21.0' }

/**
 * Where that Node's program is, fetched if it is not there yet. Stops the whole script when it cannot be had.
 *
 * @param {string} version
 */
export async function fetchNode(version) {
  const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const cache = join(root, 'node_modules/.cache/node')
  const folder = join(cache, `${version}-${platform}`)
  const node = join(folder, 'bin/node')
  if (existsSync(node)) return node

  console.error(`Fetching Node ${version} …`)
  const unpacked = `${folder}.part`
  rmSync(unpacked, { recursive: true, force: true })
  mkdirSync(unpacked, { recursive: true })
  const packed = ['pack', `node-${platform}@${version}`, '--pack-destination', unpacked, '--loglevel=error']
  if ((await runNpm(packed, { cwd: cache, quiet: true })) !== 0) process.exit(1)
  const tarball = readdirSync(unpacked).find((name) => name.endsWith('.tgz')) ?? ''
  execFileSync('tar', ['-xzf', join(unpacked, tarball), '-C', unpacked])
  renameSync(join(unpacked, 'package'), folder)
  rmSync(unpacked, { recursive: true, force: true })
  return node
}
