// npm test: everything that must hold before a change lands. The last line is `N passed, N failed`; a step other
// than vitest counts as one failure when it fails, and as nothing when it passes.
//
//   npm test                         all steps
//   npm test -- --only vitest        some steps: build, lint, types, vitest, exports (separated by commas)
//   npm test -- test/stores -t claim anything else goes to vitest, and then vitest is the only step

import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ensureInstalled } from './install.mjs'
import { buildOutdated } from './outdated.mjs'
import { root, runNode, tools } from './run.mjs'
import { secondTry } from './second-try.mjs'

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */
/** @typedef {{ name: string, status: string, assertionResults: unknown[] }} FileResult */
/** @typedef {Record<'numPassedTests' | 'numFailedTests' | 'numPendingTests' | 'numTodoTests', number> & { testResults: FileResult[] }} Report */

const { only, filters } = readArguments(process.argv.slice(2))

await ensureInstalled()

/** @type {Counts} */
const total = { passed: 0, failed: 0, skipped: 0 }
/** @type {string[]} */
const failedSteps = []

// Tests start the command line as a user does, so a build always comes first.
await step('build', 'build', async () =>
  buildOutdated() ? countExit(await runNode(['scripts/build.mjs'])) : nothing(),
)
await step('lint', 'format and lint', async () => countExit(await runNode(['scripts/lint.mjs'])))
await step('types', 'types', async () => countExit(await runNode(['scripts/typecheck.mjs'])))
await step('vitest', 'tests', runVitest)
await step('exports', 'exports', async () => countExit(await runNode(['scripts/check-exports.mjs'])))

if (failedSteps.length > 0) console.log(`\nFailed: ${failedSteps.join(', ')}`)
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : ''
console.log(`\n${total.passed} passed, ${total.failed} failed${skipped}`)
process.exitCode = total.failed > 0 ? 1 : 0

/**
 * @param {string} id
 * @param {string} title
 * @param {() => Promise<Counts>} action
 */
async function step(id, title, action) {
  if (only && !only.includes(id) && !(id === 'build' && only.includes('vitest'))) return
  const startedAt = performance.now()
  console.log(`\n── ${title}`)
  const counts = await action()
  total.passed += counts.passed
  total.failed += counts.failed
  total.skipped += counts.skipped
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
  console.log(`── ${title}: ${counts.failed === 0 ? 'ok' : 'FAILED'} (${seconds} s)`)
  if (counts.failed > 0) failedSteps.push(title)
}

/** @returns {Promise<Counts>} */
async function runVitest() {
  const { counts, files } = await vitest('vitest-report.json', filters)
  // Who runs some tests looks at them, and decides alone.
  const again = filters.length === 0 ? secondTry(root, files) : []
  if (again.length === 0) return counts
  console.log(`\n── once more, with nothing beside them: ${again.join(', ')}`)
  const second = await vitest('vitest-second-report.json', ['--no-file-parallelism', ...again])
  if (second.counts.failed === 0) console.log(`\nFAILED AT FIRST, and passed alone: ${again.join(', ')}`)
  return {
    ...counts,
    passed: counts.passed + counts.failed - second.counts.failed,
    failed: second.counts.failed,
  }
}

/**
 * @param {string} name of its report
 * @param {readonly string[]} args
 * @returns {Promise<{ counts: Counts, files: Report['testResults'] }>}
 */
async function vitest(name, args) {
  const path = join(root, 'node_modules/.cache', name)
  rmSync(path, { force: true })
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${path}`]
  const code = await runNode([tools.vitest, 'run', ...reporters, ...args])
  if (!existsSync(path)) return { counts: countExit(code === 0 ? 1 : code), files: [] }
  /** @type {Report} */
  const report = JSON.parse(readFileSync(path, 'utf8'))
  return { counts: countTests(code, report), files: report.testResults }
}

/**
 * @param {number} code
 * @param {Report} report
 * @returns {Counts}
 */
function countTests(code, { numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults }) {
  // A file that could not even be loaded has no tests to count, yet it failed.
  const brokenFiles = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  ).length
  const failed = numFailedTests + brokenFiles
  return {
    passed: numPassedTests,
    // An error outside of any test, such as an unhandled rejection, shows in the exit code alone.
    failed: code !== 0 && failed === 0 ? 1 : failed,
    skipped: numPendingTests + numTodoTests,
  }
}

/** @returns {Counts} */
function nothing() {
  return { passed: 0, failed: 0, skipped: 0 }
}

/** @param {number} code @returns {Counts} */
function countExit(code) {
  return { ...nothing(), failed: code === 0 ? 0 : 1 }
}

/** @param {string[]} args */
function readArguments(args) {
  const at = args.indexOf('--only')
  const filters = at === -1 ? args : args.toSpliced(at, 2)
  const steps = ['build', 'lint', 'types', 'vitest', 'exports']
  const only = at === -1 ? (filters.length > 0 ? ['vitest'] : undefined) : (args[at + 1] ?? '').split(',')
  const unknown = only?.filter((id) => !steps.includes(id)) ?? []
  if (unknown.length > 0) {
    console.error(`--only takes ${steps.join(', ')}, not "${unknown.join(',')}".`)
    process.exit(2)
  }
  return { only, filters }
}
