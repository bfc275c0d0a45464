// Writes how long each test file took in the last whole `npm test`, for the order of the next ones on a machine that
// remembers none: test/support/weights.json. Run it when the times have changed much.
//
//   node scripts/test-weights.mjs [report]

import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { root } from './run.mjs'

/** Shorter ones are all alike, and a list of them would change with every run. */
const LEAST_SECONDS = 2

const report = resolve(process.argv[2] ?? join(root, 'node_modules/.cache/vitest-report.json'))
/** @type {{ testResults: { name: string, startTime: number, endTime: number }[] }} */
const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
const seconds = testResults
  .map(({ name, startTime, endTime }) => ({
    file: relative(root, name).replaceAll('\\', '/'),
    seconds: Math.round((endTime - startTime) / 1_000),
  }))
  .filter((one) => one.seconds >= LEAST_SECONDS && !one.file.startsWith('..'))
  .sort((a, b) => b.seconds - a.seconds || (a.file < b.file ? -1 : 1))
const weights = Object.fromEntries(seconds.map((one) => [one.file, one.seconds]))
writeFileSync(join(root, 'test/support/weights.json'), `${JSON.stringify(weights, null, 2)}\n`)
console.log(`${seconds.length} of ${testResults.length} files take ${LEAST_SECONDS} s or more.`)
