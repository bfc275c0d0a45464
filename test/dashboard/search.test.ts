// A search by content over more jobs than one answer of the server looks at.

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Queue, queue } from '../../src/index.ts'
import { openStage, PATIENCE_MS, type Stage, type Visit, visit } from './stage.ts'

vi.setConfig({ testTimeout: 180_000 })

const hay: Queue<{ n: number; needle?: string }> = queue('hay')
const JOBS = 60_000
const EVERY = 500

let stage: Stage
let open: Visit

beforeAll(async () => {
  stage = await openStage()
  for (let from = 0; from < JOBS; from += 2_000) {
    const payloads = Array.from({ length: 2_000 }, (_, index) => {
      const n = from + index
      return n % EVERY === 0 ? { n, needle: 'sharp' } : { n }
    })
    await stage.skep.enqueueMany(hay, payloads)
  }
  open = await visit(stage.browser, `${stage.url}/jobs`)
}, 240_000)

afterAll(async () => {
  await stage?.close()
}, 60_000)

const rows = () => open.page.getByRole('grid').locator('[role=row][data-key]')
const isScanning = async (page: Page) => (await page.getByRole('progressbar', { name: 'Search' }).count()) > 0
const query = (text: string) => `${stage.url}/jobs?q=${encodeURIComponent(text)}`
const until = (check: () => Promise<boolean>): Promise<boolean> =>
  vi.waitUntil(check, { timeout: 6 * PATIENCE_MS, interval: 100 })

describe('A search by content', () => {
  it('goes on by itself until a page is full', async () => {
    const { page } = open
    await page.goto(query('payload.needle:sharp'))
    // One answer may bring more than the page needs.
    const isFull = page.getByText(/^1[0-2]\d shown of .* scanned$/)
    await until(async () => (await isFull.count()) > 0 && (await isScanning(page)) === false)
    const more = page.getByRole('button', { name: 'Show more' })
    while ((await more.count()) > 0) {
      await more.click()
      await until(async () => (await isScanning(page)) === false)
    }
    await page.getByText(/^120 shown of .* scanned$/).waitFor()
  })

  it('ends when nothing matches', async () => {
    const { page } = open
    await page.goto(query('payload.needle:blunt'))
    await page.getByRole('progressbar', { name: 'Search' }).waitFor()
    await page.getByText('No matching jobs').waitFor({ timeout: 6 * PATIENCE_MS })
    expect(await page.getByRole('progressbar', { name: 'Search' }).count()).toBe(0)
  })

  it('can be stopped, and goes on', async () => {
    const { page } = open
    await page.route('**/call/jobs.list', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 300))
      await route.continue()
    })
    await page.goto(query('payload.n:59999'))
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.unrouteAll({ behavior: 'wait' })
    await page.getByRole('button', { name: 'Show more' }).click()
    await until(async () => (await rows().count()) === 1)
  })
})

describe('A bulk action on all that match', () => {
  it('is counted to the end before its button works, and does what the button says', async () => {
    const { page } = open
    await page.route('**/call/jobs.count', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 500))
      await route.continue()
    })
    await page.goto(query('payload.needle:sharp state:ready'))
    await until(
      async () => (await page.getByText(/^1[0-2]\d shown/).count()) > 0 && !(await isScanning(page)),
    )
    await page.getByRole('checkbox', { name: 'Select all loaded' }).check()
    await page.getByRole('button', { name: /^Select all .*matching$/ }).click()
    await page.getByRole('toolbar').getByRole('button', { name: 'Cancel' }).click()

    const dialog = page.getByRole('dialog')
    await dialog.getByRole('progressbar', { name: 'Counting jobs' }).waitFor()
    expect(await dialog.getByRole('button', { name: 'Cancel jobs' }).isDisabled()).toBe(true)
    const button = dialog.getByRole('button', { name: 'Cancel 120 jobs' })
    await button.waitFor({ timeout: 6 * PATIENCE_MS })
    await button.click()

    await dialog.getByText('120 changed of 120').waitFor({ timeout: 6 * PATIENCE_MS })
    expect(await stage.skep.jobs.count('state:cancelled')).toEqual({ count: 120, isExact: true })
  })
})
