// node scripts/shape/run-journey.mjs <root> <memory|sqlite> <journey>
//
// Runs one journey of a job on the built package of a checkout, and prints how many of its files and functions were
// executed, and with how many calls: `[files, functions, calls]`, by V8's precise coverage. The journey runs a few times
// first, so that what happens once is left out. Of the measured runs the one with the fewest calls counts: heartbeats
// and polls of the worker only add to a run.

import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { journeys } from './journeys.mjs'

const WARM_UPS = 5
const MEASURED_RUNS = 8
/** The package is idle when it executed nothing for three of these in a row. */
const IDLE_MS = 20
/** Limits the wait for a package that is never idle. */
const MAX_IDLE_CHECKS = 250

const [root = '.', store = 'memory', journey = ''] = process.argv.slice(2)
console.log(JSON.stringify(await measure(root, store, journey)))
// Workers and servers are still open and would keep the process alive.
process.exit(0)

/**
 * @param {string} root
 * @param {string} storeName
 * @param {string} journeyName
 */
async function measure(root, storeName, journeyName) {
  const dist = join(realpathSync(root), 'dist/esm')
  const load = (/** @type {string} */ entry) => import(pathToFileURL(join(dist, `${entry}.js`)).href)
  const folder = mkdtempSync(join(tmpdir(), 'skep-shape-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const { memoryStore, sqliteStore } = await load(storeName)
  const store = storeName === 'memory' ? memoryStore() : sqliteStore({ file: join(folder, 'jobs.db') })
  const make = journeys[journeyName]
  if (!make) throw new Error(`There is no journey "${journeyName}".`)
  const { before, run, after } = await make({ lib: await load('index'), server: await load('server'), store })

  const take = await startCoverage(pathToFileURL(dist).href)
  /** @type {number[][]} */
  const counts = []
  for (let index = 0; index < WARM_UPS + MEASURED_RUNS; index++) {
    await before?.()
    await takeUntilIdle(take)
    await run()
    const calls = await takeUntilIdle(take)
    if (index >= WARM_UPS) counts.push(summary(calls))
    await after?.()
  }
  return counts.reduce((least, one) => ((one[2] ?? 0) < (least[2] ?? 0) ? one : least))
}

/** @typedef {Map<string, { file: string, count: number }>} Calls By the place of the function. */

/**
 * @param {string} folder As a URL. Only functions of its files are counted.
 * @returns {Promise<(into: Calls) => Promise<boolean>>} Adds the calls since the last time; whether there were any.
 */
async function startCoverage(folder) {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  return async (into) => {
    const { result } = await session.post('Profiler.takePreciseCoverage')
    let isBusy = false
    for (const { url, functions } of result) {
      if (!url.startsWith(`${folder}/`)) continue
      for (const { functionName, ranges } of functions) {
        const { startOffset = 0, count = 0 } = ranges[0] ?? {}
        if (count === 0) continue
        isBusy = true
        const place = `${url}:${startOffset}:${functionName}`
        into.set(place, { file: url, count: (into.get(place)?.count ?? 0) + count })
      }
    }
    return isBusy
  }
}

/** @param {(into: Calls) => Promise<boolean>} take */
async function takeUntilIdle(take) {
  /** @type {Calls} */
  const calls = new Map()
  for (let checks = 0, idle = 0; idle < 3 && checks < MAX_IDLE_CHECKS; checks++) {
    await sleep(IDLE_MS)
    idle = (await take(calls)) ? 0 : idle + 1
  }
  return calls
}

/** @param {Calls} calls */
function summary(calls) {
  const all = [...calls.values()]
  const files = new Set(all.map(({ file }) => file))
  return [files.size, all.length, all.reduce((total, { count }) => total + count, 0)]
}
