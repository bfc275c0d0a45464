// npm run test:node -- 22 24 [vitest filters]
// Runs the tests under other versions of Node. The programs come from npm, so nothing else has to be reachable, and
// stay in node_modules/.cache.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ensureInstalled } from './install.mjs'
import { root, run, runNode, runNpm, tools } from './run.mjs'

/** @type {Readonly<Record<string, string>>} */
const versions = { 20: '20.19.0', 22: '22.23.3', 24: '24.21.0' }

const args = process.argv.slice(2)
const wanted = args.filter((arg) => arg in versions)
const filters = args.filter((arg) => !(arg in versions))
if (wanted.length === 0) {
  console.error(`Usage: npm run test:node -- ${Object.keys(versions).join(' ')} [vitest filters]`)
  process.exit(2)
}

await ensureInstalled()
if ((await runNode(['scripts/build.mjs', '--if-outdated'])) !== 0) process.exit(1)

/** @type {string[]} */
const failed = []
for (const major of wanted) {
  const node = await fetchNode(versions[major] ?? '')
  console.log(`\n── Node ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}`)
  // Tests that start `node` by name must get this one too.
  const env = { ...process.env, PATH: `${dirname(node)}:${process.env['PATH'] ?? ''}` }
  if ((await run(node, [tools.vitest, 'run', ...filters], { env })) !== 0) failed.push(major)
}
console.log(
  failed.length === 0 ? `\nPassed on Node ${wanted.join(', ')}.` : `\nFailed on Node ${failed.join(', ')}.`,
)
process.exit(failed.length === 0 ? 0 : 1)

/** @param {string} version */
async function fetchNode(version) {
  const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const cache = join(root, 'node_modules/.cache/node')
  const folder = join(cache, `${version}-${platform}`)
  const node = join(folder, 'bin/node')
  if (existsSync(node)) return node

  console.log(`Fetching Node ${version} …`)
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
