// Every screen in both themes, with axe: text meets WCAG AA.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { fillShop, fulfil, mail, openShop } from './plans-stage.ts'
import { openStage, PATIENCE_MS, type Stage, visit } from './stage.ts'

vi.setConfig({ testTimeout: 240_000 })

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let stage: Stage
/** Address and what has to be in sight before it is judged. */
let screens: readonly (readonly [path: string, sight: string])[]

beforeAll(async () => {
  stage = await openStage({
    environment: 'production',
    auth: () => ({ name: 'ada', scopes: ['admin', 'work', 'enqueue'], payloads: true }),
  })
  const { skep } = stage
  openShop(skep)
  await fillShop(skep)
  const done = await skep.enqueue(mail, { to: 'a@example.org', subject: 'x', kind: 'html' })
  const run = await skep.start(fulfil, { orderId: 1 })
  await skep.queues.pause('tidy', { reason: 'moving house', by: 'ada' })
  await until(async () => (await skep.jobs.list({ queue: 'billing.card', state: 'dead' })).jobs.length === 4)
  await until(async () => (await skep.jobs.list({ queue: 'mail.send', state: 'done' })).jobs.length === 1)
  await until(async () => (await skep.runs.get(run.id))?.status === 'failed')
  const cardError = async (): Promise<string | undefined> =>
    (await skep.errors.list()).groups.find(({ name }) => name === 'CardError')?.id
  await until(async () => (await cardError()) !== undefined)
  const dead = (await skep.jobs.list({ queue: 'billing.card', state: 'dead' })).jobs[0]?.id
  const group = await cardError()
  screens = [
    ['/', 'Needs attention'],
    ['/queues', 'mail.send'],
    ['/queues/billing.card', 'Throughput'],
    ['/queues/tidy', 'moving house'],
    ['/queues/export.legacy?tab=lanes', 'lane'],
    ['/queues/billing.card?tab=limits', 'Limits'],
    ['/jobs', 'billing.card'],
    ['/jobs?q=nonsense:', 'nonsense'],
    [`/jobs?job=${dead}`, 'Timeline'],
    [`/jobs/${dead}`, 'Timeline'],
    [`/jobs/${dead}?part=attempts`, 'What changed'],
    [`/jobs/${dead}?part=data`, 'tenant'],
    [`/jobs/${done.id}?part=logs`, 'sending to'],
    ['/errors', 'CardError'],
    [`/errors/${group}`, 'CardError'],
    ['/dead', 'CardError'],
    ['/schedules', 'quarter'],
    ['/schedules/quarter', 'quarter'],
    ['/flows', 'fulfil'],
    ['/flows/fulfil', 'parcels'],
    [`/runs/${run.id}?step=1`, 'Retry from here'],
    ['/workers', 'PID'],
    ['/receivers', 'Receivers'],
    ['/playground?queue=mail.send', 'mail.send'],
    ['/bulk', 'Bulk actions'],
    ['/audit', 'Audit'],
    ['/tokens', 'Tokens'],
    ['/system', 'Durability'],
    ['/nowhere', 'Ctrl K'],
  ]
}, 240_000)

afterAll(async () => {
  await stage?.close()
}, 60_000)

const until = (check: () => Promise<boolean>): Promise<boolean> =>
  vi.waitUntil(check, { timeout: PATIENCE_MS, interval: 100 })

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}

async function faultsOf(page: Page): Promise<string[]> {
  // Not by a script element: the content policy forbids those.
  await page.evaluate(axe)
  const { violations } = (await page.evaluate(
    "axe.run(document, { runOnly: { type: 'rule', values: ['color-contrast'] } })",
  )) as { readonly violations: readonly Violation[] }
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')}: ${failureSummary}`),
  )
}

describe.each(['light', 'dark'] as const)('The %s theme', (scheme) => {
  it('has enough contrast on every screen', async () => {
    const { page, close } = await visit(stage.browser, `${stage.url}/`, { scheme })

    const faults: string[] = []
    for (const [path, sight] of screens) {
      await page.goto(`${stage.url}${path}`)
      await page
        .locator('body')
        .filter({ hasText: sight })
        .waitFor()
        .catch((error: Error) => Promise.reject(new Error(`${path}: ${error.message}`)))
      await until(async () => (await page.locator('.skeleton').count()) === 0)
      faults.push(...(await faultsOf(page)).map((fault) => `${path}: ${fault}`))
    }

    expect(faults).toEqual([])
    await close()
  })

  it('has enough contrast in its dialogs and menus', async () => {
    const { page, close } = await visit(stage.browser, `${stage.url}/queues/billing.card`, { scheme })
    const faults: string[] = []
    const judge = async (what: string): Promise<void> => {
      await page.getByRole('dialog').waitFor()
      faults.push(...(await faultsOf(page)).map((fault) => `${what}: ${fault}`))
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }

    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await judge('pause')
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Purge …' }).click()
    await judge('purge')
    await page.keyboard.press('Control+k')
    await judge('palette')
    await page.goto(`${stage.url}/jobs?q=state:dead`)
    await page.getByRole('checkbox', { name: 'Select all loaded' }).check()
    await page.getByRole('button', { name: 'Retry' }).click()
    await judge('retry')
    await page.goto(`${stage.url}/schedules`)
    await page.getByRole('button', { name: 'New schedule' }).first().click()
    await judge('schedule')
    await page.goto(`${stage.url}/tokens`)
    await page.getByRole('button', { name: 'New token' }).first().click()
    await judge('token')

    expect(faults).toEqual([])
    await close()
  })
})
