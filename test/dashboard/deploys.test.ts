/** Which version of a program does what: marks in charts, errors and jobs of one version. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { never, queue } from '../../src/index.ts'
import { openStage, PATIENCE_MS, type Stage, type Visit, visit } from './stage.ts'

vi.setConfig({ testTimeout: 120_000 })

const pack = queue<{ n: number }>('pack.parcel', { onError: never() })

let stage: Stage
let open: Visit
let page: Page

beforeAll(async () => {
  stage = await openStage()
  const { skep } = stage
  for (const version of ['2.3.1', '2.4.0']) {
    const worker = skep.worker(
      [
        pack.handle(() => {
          throw new TypeError('No parcel')
        }),
      ],
      { version },
    )
    await skep.enqueueMany(pack, version === '2.3.1' ? [{ n: 1 }, { n: 2 }] : [{ n: 3 }])
    await vi.waitUntil(
      async () => {
        const deploys = await skep.metrics.deploys({ range: '1h' })
        return (
          deploys.at(-1)?.version === version && (await skep.jobs.count('state:ready,running')).count === 0
        )
      },
      { timeout: PATIENCE_MS, interval: 50 },
    )
    await worker.stop()
  }
  open = await visit(stage.browser, `${stage.url}/`)
  page = open.page
  // What is drawn on the canvas of a chart.
  await page.addInitScript(`{
    const { fillText } = CanvasRenderingContext2D.prototype
    window.drawn = []
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
      window.drawn.push(text)
      return fillText.call(this, text, ...place)
    }
  }`)
}, 180_000)

afterAll(async () => {
  await stage?.close()
}, 60_000)

const versionsDrawn = (): Promise<string[]> =>
  page.evaluate('[...new Set(window.drawn.filter((text) => /^2\\.\\d\\.\\d$/.test(text)))].sort()')

describe('A deploy', () => {
  it.each(['/', '/queues/pack.parcel'])('is a mark with its version in the charts of %s', async (path) => {
    await page.goto(`${stage.url}${path}`)
    await page.getByRole('figure').first().waitFor()
    await expect.poll(versionsDrawn).toEqual(['2.3.1', '2.4.0'])
    // Read aloud too, in both charts.
    const said = await page.locator('figcaption').allTextContents()
    expect(said.filter((text) => /Deploys: 2\.3\.1 at .+, 2\.4\.0 at /.test(text))).toHaveLength(2)
  })

  it('is completed in queries, which find the jobs that failed on it', async () => {
    await page.goto(`${stage.url}/jobs`)
    const query = page.getByRole('combobox', { name: 'Query' })
    await query.fill('vers')
    await page.getByRole('option', { name: /^version:/ }).click()
    await page.getByRole('option', { name: /^version:2\.4\.0/ }).waitFor()
    await page.getByRole('option', { name: /^version:2\.3\.1/ }).click()
    await query.press('Enter')
    await page.waitForURL((url) => url.searchParams.get('q') === 'version:2.3.1')
    const rows = page.getByRole('grid').getByRole('row').filter({ hasText: 'pack.parcel' })
    await expect.poll(() => rows.count()).toBe(2)
  })

  it('leads from the errors that happened on it to their jobs', async () => {
    const [group] = (await stage.skep.errors.list()).groups
    await page.goto(`${stage.url}/errors/${group?.id}`)
    await page.getByRole('link', { name: '2.4.0', exact: true }).click()
    await page.waitForURL((url) => url.searchParams.get('q') === `error.group:${group?.id} version:2.4.0`)
    const rows = page.getByRole('grid').getByRole('row').filter({ hasText: 'pack.parcel' })
    await expect.poll(() => rows.count()).toBe(1)
    expect(open.complaints).toEqual([])
  })
})
