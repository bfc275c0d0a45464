// Errors, dead letters, schedules and flows, as somebody uses them.

import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JobState } from '../../src/index.ts'
import { card, fillShop, fulfil, openShop, order, pack, shop, tidy } from './plans-stage.ts'
import { openStage, PATIENCE_MS, type Stage, type Visit, visit } from './stage.ts'

let stage: Stage
let open: Visit
let page: Page

beforeAll(async () => {
  stage = await openStage()
  open = await visit(stage.browser, `${stage.url}/errors`)
  page = open.page
}, 180_000)

afterAll(async () => {
  await stage?.close()
}, 60_000)

const go = (path: string): Promise<unknown> => page.goto(`${stage.url}${path}`)
const row = (name: string | RegExp): Locator =>
  page.getByRole('grid').getByRole('row').filter({ hasText: name })
const dialog = (): Locator => page.getByRole('dialog')
const button = (name: string | RegExp): Locator => page.getByRole('button', { name, exact: true })
const until = (check: () => Promise<boolean>): Promise<void> =>
  expect.poll(check, { timeout: PATIENCE_MS, interval: 100 }).toBe(true)

async function count(queue: { readonly name: string }, state: JobState): Promise<number> {
  return (await stage.skep.queues.list([queue]))[0]?.[state] ?? 0
}

/** Chooses an action of the menu that this button opens. */
async function choose(menu: Locator, item: string): Promise<void> {
  await menu.click()
  await page.getByRole('menuitem', { name: item }).click()
}

describe('Errors', () => {
  it('teach what will be here, and gather those that are alike when they come', async () => {
    await page.getByText('Similar errors').waitFor()
    openShop(stage.skep)
    await fillShop(stage.skep)
    await until(async () => (await count(card, 'dead')) === 4)
    await row('CardError').first().waitFor()
    expect(await row('CardError').count()).toBe(2)
  })

  it('are narrowed by queue, and the address keeps it', async () => {
    await page.getByLabel('Queue').selectOption('export.legacy')
    await page.getByText('No matching errors').waitFor()
    await page.waitForURL('**/errors?queue=export.legacy')
    await page.reload()
    await page.getByText('No matching errors').waitFor()
    await page.getByLabel('Queue').selectOption('billing.card')
    await row('CardError').first().waitFor()
  })

  it('open by the keyboard and show the stack, the counts and the jobs', async () => {
    await row('acme').focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'CardError' }).waitFor()
    await page.locator('.trace').getByText('Card of acme was declined').waitFor()
    await page.getByRole('heading', { name: 'Affected jobs' }).waitFor()
    await until(async () => (await page.locator('.job-line').count()) === 2)
    await page.getByRole('link', { name: 'View all jobs' }).click()
    await page.waitForURL(/\/jobs\?q=error\.group/)
    await page.goBack()
  })

  it('are muted for a while and unmuted', async () => {
    await choose(button('Mute'), 'For 1 hour')
    await page.getByText('Muted by').waitFor()
    await go('/errors?queue=billing.card')
    await row('globex').waitFor()
    expect(await row('acme').count()).toBe(0)
    await button('Muted').click()
    await row('acme').click()
    await button('Unmute').click()
    await button('Mute').waitFor()
  })

  it('are retried as a group, with the count before and progress after', async () => {
    shop.isCardFixed = true
    await button('Retry group').click()
    await dialog().getByRole('button', { name: 'Retry 2 jobs' }).waitFor()
    await dialog()
      .getByRole('button', { name: /^Retry \d+ jobs?$/ })
      .click()
    await dialog().getByText('2 changed').waitFor()
    await dialog().getByRole('button', { name: 'Close' }).last().click()
    await until(async () => (await count(card, 'done')) === 2)
    shop.isCardFixed = false
  })
})

describe('Dead letters', () => {
  it('are grouped by queue and error, and a group narrows the list', async () => {
    await go('/dead')
    await row('Card of globex').first().waitFor()
    const group = page.getByRole('button', { name: /CardError Card of globex/ })
    await group.click()
    await page.waitForURL(/group=/)
    expect(await group.getAttribute('aria-pressed')).toBe('true')
    await until(async () => (await row('Card of globex').count()) === 2)
    await group.click()
  })

  it('are edited and run again, and the dead one goes', async () => {
    shop.isCardFixed = true
    await choose(
      row('Card of globex')
        .first()
        .getByRole('button', { name: /^Actions/ }),
      'Edit and copy …',
    )
    await dialog().getByLabel('Payload').fill('{"tenant": "mended", "total": 9}')
    expect(await dialog().getByLabel('Remove the dead job').isChecked()).toBe(true)
    await dialog().getByRole('button', { name: 'Enqueue copy' }).click()
    await page.waitForURL('**/jobs/*')
    const id = new URL(page.url()).pathname.split('/').pop() as string
    await until(async () => (await stage.skep.jobs.get(id))?.state === 'done')
    expect((await stage.skep.jobs.get(id))?.payload).toEqual({ tenant: 'mended', total: 9 })
    await until(async () => (await count(card, 'dead')) === 1)
  })

  it('are retried by selecting them', async () => {
    await go('/dead?queue=billing.card')
    await row('Card of globex').getByRole('checkbox').check()
    await button('Retry 1').click()
    await dialog().getByRole('button', { name: 'Retry 1 job' }).click()
    await until(async () => (await count(card, 'dead')) === 0)
    await page.getByText('No matching dead jobs').waitFor()
    shop.isCardFixed = false
  })

  it('are removed by a query, with the count said before', async () => {
    await stage.skep.enqueue(card, { tenant: 'gone', total: 1 })
    await until(async () => (await count(card, 'dead')) === 1)
    await go('/dead?queue=billing.card')
    await row('Card of gone').waitFor()
    await button('Remove all …').click()
    await dialog().getByRole('button', { name: 'Remove 1 job' }).click()
    await until(async () => (await count(card, 'dead')) === 0)
    await dialog().getByRole('button', { name: 'Close' }).last().click()
  })
})

describe('Schedules', () => {
  it('are listed, and say whether code or a person made them', async () => {
    await go('/schedules')
    await row('report.daily').getByText('in code').waitFor()
    await row('quarter').getByText('run time').waitFor()
    await row('quarter').getByText('every 15').waitFor()
    await page.getByPlaceholder('Filter by name or queue').fill('quart')
    await page.waitForURL('**/schedules?find=quart')
    await until(async () => (await row('report.daily').count()) === 0)
  })

  it('show their next runs in two zones, and say what the clocks do', async () => {
    await go('/schedules/clocks')
    const runs = page.getByRole('table')
    await runs.getByText('Europe/Berlin').waitFor()
    expect(await runs.getByRole('row').count()).toBe(11)
    // Sunday the 28th of March 2027 has no 02:30 in Berlin.
    await runs
      .getByText('Clocks go forward: 02:30 does not exist that night. It fires at 03:00.')
      .first()
      .waitFor()
  })

  it('say where a time comes twice, before they are even made', async () => {
    await go('/schedules')
    await button('New schedule').click()
    // Clocks go back on the last Sunday of October.
    await dialog().getByLabel('Cron expression').fill('30 2 25-31 10 *')
    await dialog().getByLabel('Time zone').selectOption('Europe/Berlin')
    await dialog()
      .locator('.slots-marked')
      .getByText('Clocks go back: 02:30 occurs twice that night. It fires once.')
      .first()
      .waitFor()
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'hidden' })
  })

  it('that code declares are changed in code', async () => {
    await go('/schedules/report.daily')
    await button('More actions').click()
    expect(await page.getByRole('menuitem', { name: 'Edit (defined in code)' }).isDisabled()).toBe(true)
    await page.keyboard.press('Escape')
  })

  it('are paused with a reason and resumed', async () => {
    await button('Pause').click()
    await dialog().getByLabel('Reason').fill('The partner is on holiday')
    await dialog().getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('alert').getByText('The partner is on holiday').waitFor()
    expect((await stage.skep.schedules.get('report.daily'))?.paused?.reason).toBe('The partner is on holiday')
    await button('Resume').click()
    await until(async () => (await stage.skep.schedules.get('report.daily'))?.paused === null)
  })

  it('run now, and lead to the job', async () => {
    await button('Run now').click()
    await page.waitForURL('**/jobs/*')
    const id = new URL(page.url()).pathname.split('/').pop() as string
    expect((await stage.skep.jobs.get(id))?.queue).toBe(tidy.name)
  })

  it('show how their last runs went, with a way to each', async () => {
    await go('/schedules/report.daily')
    const signs = page.getByRole('list', { name: 'Recent jobs, oldest first' }).getByRole('link')
    await signs.first().waitFor()
    const of = { query: 'schedule:report.daily', limit: 30 }
    const ids = (await stage.skep.jobs.list(of)).jobs.map(({ id }) => id)

    expect(ids.length).toBeGreaterThan(0)
    expect(await signs.count()).toBe(ids.length)
    await signs.last().click()
    await page.waitForURL('**/jobs/*')
    expect(ids).toContain(new URL(page.url()).pathname.split('/').pop())
  })

  it('are made in a form that says what was written while it is written', async () => {
    await go('/schedules')
    await button('New schedule').click()
    await dialog().getByLabel('Name').fill('friday')
    await dialog().getByLabel('Queue').fill('tidy')
    await dialog().getByLabel('Cron expression').fill('0 17 * * 99')
    await dialog()
      .getByText(/not valid/)
      .waitFor()
    await dialog().getByLabel('Cron expression').fill('0 17 * * 5')
    await dialog().getByLabel('Time zone').selectOption('Europe/Paris')
    await until(async () => (await dialog().locator('.slots').getByText('17:00:00').count()) === 10)
    await dialog().getByLabel('Payload').fill('{"what": "friday"}')
    await dialog().getByRole('button', { name: 'Create' }).click()
    await page.waitForURL('**/schedules/friday')
    // The console tells of the expression that was refused.
    expect(open.complaints.splice(0).every((text) => text.includes('400'))).toBe(true)
    const made = await stage.skep.schedules.get('friday')
    expect(made).toMatchObject({
      cron: { expression: '0 17 * * 5', timeZone: 'Europe/Paris' },
      payload: { what: 'friday' },
      declared: false,
    })
  })

  it('are changed and removed', async () => {
    await choose(button('More actions'), 'Edit …')
    await dialog().getByRole('button', { name: 'Interval' }).click()
    await dialog().getByLabel('Every', { exact: true }).fill('2h')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await until(async () => (await stage.skep.schedules.get('friday'))?.every?.ms === 7_200_000)
    await choose(button('More actions'), 'Remove …')
    await dialog().getByRole('button', { name: 'Remove' }).click()
    await page.waitForURL('**/schedules')
    expect(await stage.skep.schedules.get('friday')).toBeNull()
  })
})

describe('Flows', () => {
  let waiting: string
  let failed: string

  it('are counted by status, and their runs found by status and attribute', async () => {
    waiting = (await stage.skep.start(order, { orderId: 162 }, { attributes: { orderId: 162 } })).id
    await stage.skep.start(order, { orderId: 7 }, { attributes: { orderId: 7 } })
    failed = (await stage.skep.start(fulfil, { orderId: 1 })).id
    await until(async () => (await stage.skep.runs.run(failed).get())?.status === 'failed')
    await go('/flows')
    await page.getByRole('grid', { name: 'Flows' }).getByRole('row').filter({ hasText: 'fulfil' }).waitFor()
    await page.getByPlaceholder('Attribute: orderId=62').fill('orderId=162')
    const runs = page.getByRole('grid', { name: 'Runs' })
    await until(async () => (await runs.getByRole('row').filter({ hasText: 'order' }).count()) === 1)
    await go('/flows?status=failed')
    await runs.getByRole('row').filter({ hasText: 'fulfil' }).click()
    await page.waitForURL(`**/runs/${failed}`)
  })

  it('draw a run as a graph and as a list that agree', async () => {
    const node = page.locator('.react-flow__node-step').filter({ hasText: 'parcels' })
    await node.waitFor()
    expect(await node.locator('.flow-mark-failed').count()).toBe(1)
    expect(await page.locator('.react-flow__node-step').count()).toBe(3)
    const steps = page.getByRole('navigation', { name: 'Steps' })
    await steps.getByRole('button', { name: /parcels.*failed/ }).click()
    await page.waitForURL(/step=1/)
    await page.getByText('continues when all are done').waitFor()
  })

  it('show what is known of a clicked step in sight, on a desk and on a phone', async () => {
    for (const [width, height] of [
      [1_440, 900],
      [1_024, 768],
      [390, 844],
    ] as const) {
      const { page: own, close } = await visit(stage.browser, `${stage.url}/runs/${failed}`, {
        width,
        height,
      })
      await own.locator('.react-flow__node-step').filter({ hasText: 'parcels' }).click()
      const retry = own.getByRole('button', { name: 'Retry from here' })
      await retry.waitFor()

      const place = await retry.boundingBox()
      expect(place && place.y >= 0 && place.y + place.height <= height, `at ${width} × ${height}`).toBe(true)
      await own.getByRole('region', { name: 'Step parcels' }).getByRole('button', { name: 'Close' }).click()
      expect(await retry.count()).toBe(0)
      // Three small steps need no 38 rem.
      const graph = await own.locator('.flow-graph').boundingBox()
      expect(graph?.height).toBeLessThan(420)
      await close()
    }
  })

  it('lead from the sentence at the top to what it names', async () => {
    await page.getByRole('alert').getByRole('link').click()
    await page.waitForURL('**/jobs/*')
    const job = await stage.skep.jobs.get(page.url().split('/').at(-1) as string)
    expect(job).toMatchObject({ queue: pack.name, state: 'dead' })
    await page.goBack()
  })

  it('name the members that failed, with a way to each', async () => {
    await page.getByText('2 of 3 done, 1 failed').waitFor()
    const link = page.locator('.member-lines').getByRole('link')
    expect(await link.count()).toBe(1)
    expect(await page.locator('.member-lines').getByText('No box fits a pot').count()).toBe(1)
  })

  it('are retried from a step', async () => {
    shop.isBoxThere = true
    await button('Retry from here').click()
    expect(await dialog().getByLabel('From step').inputValue()).toBe('parcels')
    await dialog().getByRole('button', { name: 'Retry' }).click()
    await until(async () => (await stage.skep.runs.run(failed).get())?.status === 'done')
    await page.getByRole('heading', { name: 'Result' }).waitFor()
    await page.getByText('"T1"').first().waitFor()
  })

  it('get a signal, and the keyboard walks through their steps', async () => {
    await until(async () => (await stage.skep.runs.run(waiting).get())?.position.waits?.kind === 'signal')
    await go(`/runs/${waiting}`)
    await page.getByText('Waiting for signal approval').waitFor()
    const steps = page.getByRole('navigation', { name: 'Steps' })
    await steps.getByRole('button').first().focus()
    for (let n = 0; n < 2; n++) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(/step=/)
    await button('Send signal …').click()
    expect(await dialog().getByLabel('Signal').inputValue()).toBe('approval')
    await dialog().getByLabel('Value').fill('{"by": "Ada"}')
    await dialog().getByRole('button', { name: 'Send' }).click()
    await until(async () => (await stage.skep.runs.run(waiting).get())?.status === 'done')
    await page.getByText('done', { exact: true }).first().waitFor()
  })

  it('are cancelled with a reason', async () => {
    const { id } = await stage.skep.start(order, { orderId: 199 })
    await until(async () => (await stage.skep.runs.run(id).get())?.position.waits?.kind === 'signal')
    await go(`/runs/${id}`)
    await choose(button('More actions'), 'Cancel …')
    await dialog().getByLabel('Reason').fill('Too late')
    await dialog().getByRole('button', { name: 'Cancel run' }).click()
    await until(async () => (await stage.skep.runs.run(id).get())?.status === 'cancelled')
  })

  it('are drawn without a run, too', async () => {
    await go('/flows/order')
    await page.locator('.react-flow__node-step').filter({ hasText: 'approval' }).waitFor()
    await page.locator('.react-flow__node-frame').filter({ hasText: 'paper' }).waitFor()
  })
})

it('complains about nothing in the console, and never breaks its content policy', () => {
  expect(open.complaints).toEqual([])
})
