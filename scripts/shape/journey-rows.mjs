// Starts a process for each journey and store, one after the other, and turns what they print into rows.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { buildOutdated } from '../outdated.mjs'
import { journeys } from './journeys.mjs'

const stores = ['memory', 'sqlite']

/**
 * @param {string} root
 * @returns {Promise<import('../shape.mjs').Row[]>}
 */
export async function journeyRows(root) {
  if (buildOutdated(root))
    console.error(`${root}: dist/ is missing or older than the sources. Build it first.`)
  /** @type {import('../shape.mjs').Row[]} */
  const rows = []
  for (const store of stores) {
    for (const journey of Object.keys(journeys)) {
      rows.push({ name: `${store}: ${journey}`, value: await countsOf(root, store, journey) })
    }
  }
  return rows
}

/**
 * @param {string} root
 * @param {string} store
 * @param {string} journey
 * @returns {Promise<number[] | null>}
 */
async function countsOf(root, store, journey) {
  if (!existsSync(join(root, 'dist/esm'))) return null
  const program = join(dirname(fileURLToPath(import.meta.url)), 'run-journey.mjs')
  try {
    // On an API that has changed, a journey may wait forever.
    const options = { timeout: 120_000 }
    const { stdout } = await promisify(execFile)(process.execPath, [program, root, store, journey], options)
    return JSON.parse(stdout)
  } catch (error) {
    console.error(`${store}: ${journey} failed. ${messageOf(error)}`)
    return null
  }
}

/** @param {unknown} error Its message has everything that the process printed, with the stack. */
function messageOf(error) {
  const message = error instanceof Error ? error.message : String(error)
  return message.split('\n').find((line) => /^\w*Error\b/.test(line)) ?? message
}
