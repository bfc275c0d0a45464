// npm run test:node -- 22 24 [vitest filters]
// Runs the tests under other versions of Node.

import { execFileSync } from 'node:child_process'
import { dirname } from 'node:path'
import { fetchNode, nodeVersions } from './fetch-node.mjs'
import { ensureInstalled } from './install.mjs'
import { run, runNode, tools } from './run.mjs'

const args = process.argv.slice(2)
const wanted = args.filter((arg) => arg in nodeVersions)
const filters = args.filter((arg) => !(arg in nodeVersions))
if (wanted.length === 0) {
  console.error(`Usage: npm run test:node -- ${Object.keys(nodeVersions).join(' ')} [vitest filters]`)
  process.exit(2)
}

await ensureInstalled()
if ((await runNode(['scripts/build.mjs', '--if-outdated'])) !== 0) process.exit(1)

/** @type {string[]} */
const failed = []
for (const major of wanted) {
  const node = await fetchNode(nodeVersions[major] ?? '')
  console.log(`\n── Node ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}`)
  // Tests that start `node` by name must get this one too.
  const env = { ...process.env, PATH: `${dirname(node)}:${process.env['PATH'] ?? ''}` }
  if ((await run(node, [tools.vitest, 'run', ...filters], { env })) !== 0) failed.push(major)
}
console.log(
  failed.length === 0 ? `\nPassed on Node ${wanted.join(', ')}.` : `\nFailed on Node ${failed.join(', ')}.`,
)
process.exit(failed.length === 0 ? 0 : 1)
