// The overview, queues, jobs and bulk actions, as somebody uses them.

import { DatabaseSync } from '@photostructure/sqlite'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { fixed, type JobState, type Queue, queue, retry } from '../../src/index.ts'
import { openStage, PATIENCE_MS, type Stage, type Visit, visit } from './stage.ts'

interface Mail {
  readonly to: string
  readonly user: { readonly id: number }
}

const mail: Queue<Mail, { sent: boolean }> = queue('mail.welcome')
const card: Queue<{ tenant: string; total: number }> = queue('billing.card', {
  onError: retry(2, fixed('10ms')),
})
const report: Queue<{ month: string }> = queue('report.monthly')
const laned: Queue<{ tenant: string }> = queue('tenant.sync', {
  lane: ({ payload }) => payload.tenant,
  lanes: { concurrency: 1 },
})
const lonely: Queue<{ row: number }> = queue('export.legacy')

vi.setConfig({ testTimeout: 120_000 })

let stage: Stage
let open: Visit
let page: Page
let finishReport = (): void => undefined
let isCardFixed = false

beforeAll(async () => {
  stage = await openStage({ environment: 'production' })
  open = await visit(stage.browser, `${stage.url}/`)
  page = open.page
}, 180_000)

afterAll(async () => {
  await stage?.close()
}, 60_000)

const to = (path: string): Promise<unknown> => page.goto(`${stage.url}${path}`)
const row = (name: string | RegExp) => page.getByRole('grid').getByRole('row').filter({ hasText: name })
const dialog = () => page.getByRole('dialog')
const until = (check: () => Promise<boolean>): Promise<void> =>
  expect.poll(check, { timeout: PATIENCE_MS, interval: 100 }).toBe(true)

async function count(of: { readonly name: string }, state: JobState): Promise<number> {
  return (await stage.skep.queues.list([of]))[0]?.[state] ?? 0
}

async function start(): Promise<void> {
  const tried = new Map<string, number>()
  stage.skep.worker(
    [
      mail.handle(({ log }) => {
        log.info('sent', { by: 'smtp' })
        return { sent: true }
      }),
      card.handle(({ payload, id }) => {
        const n = (tried.get(id) ?? 0) + 1
        tried.set(id, n)
        if (!isCardFixed) throw new TypeError(`Card of ${payload.tenant} declined, try ${n}`)
      }),
      report.handle(async ({ progress, log }) => {
        progress(40, 'page 4 of 10')
        log.info('rendering')
        await new Promise<void>((resolve) => {
          finishReport = () => {
            log.warn('almost there', { page: 10 })
            resolve()
          }
        })
      }),
    ],
    { concurrency: 4 },
  )
  for (let n = 0; n < 30; n++) await stage.skep.enqueue(mail, { to: `user${n}@example.org`, user: { id: n } })
  for (let n = 0; n < 6; n++) await stage.skep.enqueue(card, { tenant: n % 2 ? 'acme' : 'globex', total: n })
  for (let n = 0; n < 3; n++) await stage.skep.enqueue(lonely, { row: n })
  await stage.skep.enqueue(report, { month: '2026-10' })
  await until(async () => {
    const [done, dead] = await Promise.all([count(mail, 'done'), count(card, 'dead')])
    return done === 30 && dead === 6
  })
}

describe('The overview', () => {
  it('teaches what to do while there is nothing, and follows the first jobs without being reloaded', async () => {
    await page.getByRole('heading', { name: 'No jobs yet' }).waitFor()
    await start()
    await page.getByText('Busiest queues').waitFor()
    await page.getByRole('link', { name: 'mail.welcome', exact: true }).waitFor()
    await page.getByText('dead jobs need action').waitFor()
    await page.getByText('production', { exact: true }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
  })

  it('keeps its range in the address', async () => {
    await page.getByRole('group', { name: 'Time range' }).getByRole('button', { name: '24h' }).click()
    await page.waitForURL('**/?range=24h')
    await page.reload()
    await until(
      async () => (await page.getByRole('button', { name: '24h' }).getAttribute('aria-pressed')) === 'true',
    )
  })

  it('tells what its charts show to those who do not see them', async () => {
    expect(await page.locator('figcaption').first().textContent()).toMatch(/Jobs per second\. Done: latest/)
  })
})

describe('What needs attention', () => {
  it('leads to what it tells of', async () => {
    await to('/')
    await page.getByRole('link', { name: /billing\.card: 6 jobs died in the last hour/ }).click()
    await until(
      async () => new URL(page.url()).searchParams.get('q') === 'state:dead queue:billing.card since:1h',
    )
    await until(async () => (await row('billing.card').count()) === 6)
    await to('/')
    await page.getByRole('link', { name: /No worker for export\.legacy: 3 waiting jobs/ }).click()
    await page.waitForURL('**/queues/export.legacy')
  })
})

describe('Queues', () => {
  it('are listed with what they do, and found by a part of their name', async () => {
    await to('/queues')
    await row('mail.welcome').waitFor()
    await row('export.legacy').getByText('no worker').waitFor()
    await page.getByRole('textbox', { name: 'Filter queues' }).fill('bill')
    await until(async () => (await page.getByRole('grid').getByRole('row').count()) === 2)
    expect(page.url()).toContain('find=bill')
    await page.getByRole('textbox', { name: 'Filter queues' }).fill('')
    await page.getByRole('button', { name: 'With dead jobs' }).click()
    await until(async () => (await page.getByRole('grid').getByRole('row').count()) === 2)
  })

  it('are paused with a reason and an end, and resumed', async () => {
    await to('/queues')
    await page.getByRole('button', { name: 'Actions for mail.welcome' }).click()
    await page.getByRole('menuitem', { name: 'Pause …' }).click()
    await dialog().getByLabel('Reason').fill('The mail server is down')
    await dialog().getByLabel('Duration').selectOption('1h')
    await dialog().getByRole('button', { name: 'Pause' }).click()
    await row('mail.welcome').getByText('paused').waitFor()
    const [hold] = (await stage.skep.queues.holds()).filter((one) => one.queue === 'mail.welcome')
    expect(hold).toMatchObject({ kind: 'pause', reason: 'The mail server is down' })
    expect(hold?.until?.getTime()).toBeGreaterThan(Date.now())

    await row('mail.welcome').getByRole('link', { name: 'mail.welcome' }).click()
    await page.getByText('The mail server is down').waitFor()
    await page.getByRole('listitem').getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    expect(await stage.skep.queues.holds()).toEqual([])
  })

  it('are blocked by an admin, who can take the block away', async () => {
    await to('/queues/mail.welcome')
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Block …' }).click()
    await dialog().getByRole('button', { name: 'Block' }).click()
    await page.getByRole('heading', { level: 1 }).getByText('blocked').waitFor()
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Unblock' }).click()
    await page.getByRole('heading', { level: 1 }).getByText('blocked').waitFor({ state: 'hidden' })
    expect(await stage.skep.queues.holds()).toEqual([])
  })

  it('get limits that hold at once, and give them back', async () => {
    await to('/queues/mail.welcome?tab=limits')
    await page.getByRole('button', { name: 'Change limits' }).click()
    const whole = dialog().getByRole('group', { name: 'Whole queue' })
    await whole.getByLabel('Concurrency').fill('7')
    await whole.getByLabel('Rate (jobs)').fill('100')
    await whole.getByLabel('Per', { exact: true }).fill('1m')
    await dialog().getByRole('button', { name: 'Set limits' }).click()
    await page.getByText('concurrency 7').waitFor()
    await page.getByText('overridden').waitFor()
    const [limit] = await stage.skep.limits.list(mail)
    expect(limit?.limits).toMatchObject({ concurrency: 7, rate: { limit: 100, per: 60_000 } })
    await page.getByRole('button', { name: 'Reset to code' }).click()
    await page.getByText('concurrency 7').waitFor({ state: 'hidden' })
    expect((await stage.skep.limits.list(mail)).every(({ changed }) => changed === null)).toBe(true)
  })

  it('say in words what is wrong with a limit, and change nothing', async () => {
    await to('/queues/mail.welcome?tab=limits')
    await page.getByRole('button', { name: 'Change limits' }).click()
    await dialog().getByRole('group', { name: 'Whole queue' }).getByLabel('Rate (jobs)').fill('10')
    await dialog().getByRole('group', { name: 'Whole queue' }).getByLabel('Per', { exact: true }).fill('soon')
    await dialog().getByRole('button', { name: 'Set limits' }).click()
    await dialog().getByRole('alert').waitFor()
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'hidden' })
    open.complaints.splice(0) // The browser writes down every answer that refuses.
  })

  it('show their lanes, of which each can be paused', async () => {
    for (const tenant of ['acme', 'acme', 'globex']) await stage.skep.enqueue(laned, { tenant })
    await to('/queues/tenant.sync?tab=lanes')
    await row('acme').getByText('2', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Actions for lane acme' }).click()
    await page.getByRole('menuitem', { name: 'Pause …' }).click()
    await dialog().getByRole('button', { name: 'Pause' }).click()
    await row('acme').getByText('paused', { exact: true }).waitFor()
    expect(await stage.skep.queues.holds()).toMatchObject([
      { queue: 'tenant.sync', lane: 'acme', kind: 'pause' },
    ])
    // The page of the queue says why its jobs wait, and resumes the lane.
    await to('/queues/tenant.sync')
    await page.getByText(/2 jobs wait: lane "acme" is paused/).waitFor()
    await page.getByText(/1 job waits: no live worker|no live worker handles this queue/).waitFor()
    expect(await page.getByText('Workers', { exact: true }).count()).toBeGreaterThan(0)
    await page.getByRole('button', { name: 'Resume acme' }).click()
    await until(async () => (await stage.skep.queues.holds()).length === 0)
  })

  it('find a lane among more than are shown, by how its key begins', async () => {
    await stage.skep.enqueueMany(
      laned,
      Array.from({ length: 150 }, (_, n) => ({ tenant: `customer-${n}` })),
    )
    await to('/queues/tenant.sync?tab=lanes')
    await page.getByText('100 lanes so far').waitFor()
    expect(await row('globex').count()).toBe(0)
    const find = page.getByRole('searchbox', { name: 'Filter lanes' })
    await find.fill('glo')
    await row('globex').waitFor()
    await page.getByText('1 lane', { exact: true }).waitFor()
    expect(new URL(page.url()).searchParams.get('lane')).toBe('glo')
    await find.fill('nobody')
    await page.getByRole('heading', { name: 'No matching lanes' }).waitFor()
    expect(await page.evaluate('document.activeElement.type')).toBe('search')
    await find.fill('customer-14')
    await until(async () => (await row('customer-14').count()) === 11)
  })

  it('are purged only after their name was typed, with the count said before', async () => {
    await to('/queues/export.legacy')
    await page.getByText('no live worker handles this queue').waitFor()
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Purge …' }).click()
    await dialog().getByText('3 jobs will be removed').waitFor()
    const purge = dialog().getByRole('button', { name: 'Remove 3 jobs' })
    expect(await purge.isDisabled()).toBe(true)
    await dialog().getByLabel('Type export.legacy to confirm').fill('export.legacy')
    await purge.click()
    await page.getByText('3 jobs removed').waitFor()
    expect((await stage.skep.jobs.list({ queue: 'export.legacy' })).jobs).toEqual([])
  })
})

describe('Jobs', () => {
  it('are asked for in one line that completes what is typed', async () => {
    await to('/jobs')
    await row('ready').first().waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('sta')
    await page
      .getByRole('option', { name: /^state:/ })
      .first()
      .waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.type('de')
    await page.getByRole('option', { name: /^state:dead/ }).waitFor()
    await page.keyboard.press('ArrowDown')
    await until(async () => (await page.getByRole('option', { selected: true }).count()) === 1)
    await page.keyboard.press('Enter')
    await page.waitForURL(/q=state/)
    await page.keyboard.type('queue:bill')
    await page.getByRole('option', { name: /queue:billing\.card/ }).waitFor()
    await page.keyboard.press('Tab')
    await until(async () => new URL(page.url()).searchParams.get('q') === 'state:delayed queue:billing.card')
  })

  it('say what is wrong with a query, in the words of the server', async () => {
    await to('/jobs?q=colour:red')
    await page
      .getByRole('alert')
      .getByText(/colour/)
      .waitFor()
    open.complaints.splice(0)
  })

  it('teach the language when nothing fits', async () => {
    await to('/jobs?q=payload.user.id:4711')
    await page.getByRole('heading', { name: 'No matching jobs' }).waitFor()
    await page.getByRole('button', { name: 'state:dead' }).click()
    await row('billing.card').first().waitFor()
  })

  it('are counted by state, and the tabs change the query alone', async () => {
    await to('/jobs?q=queue:billing.card')
    const tab = page.getByRole('tab', { name: /^Dead/ })
    await tab.getByText('6').waitFor()
    await tab.click()
    await until(async () => new URL(page.url()).searchParams.get('q') === 'state:dead queue:billing.card')
    await until(async () => (await row('billing.card').count()) === 6)
    await page.goBack()
    await until(async () => new URL(page.url()).searchParams.get('q') === 'queue:billing.card')
    await until(
      async () => (await page.getByRole('combobox', { name: 'Query' }).inputValue()) === 'queue:billing.card',
    )
  })

  it('open in a drawer and are walked through by keys', async () => {
    await to('/jobs?q=state:dead')
    await row('billing.card').first().focus()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    await page.keyboard.press('Enter')
    await dialog().getByText('Why is it dead?').waitFor()
    const first = new URL(page.url()).searchParams.get('job')
    await page.keyboard.press('j')
    await until(async () => new URL(page.url()).searchParams.get('job') !== first)
    await page.keyboard.press('k')
    await until(async () => new URL(page.url()).searchParams.get('job') === first)
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'hidden' })
    expect(page.url()).not.toContain('job=')
  })

  it('are reached by j from anywhere on the page, and selected by x', async () => {
    await to('/jobs?q=state:dead')
    await row('billing.card').first().waitFor()
    await page.keyboard.press('j')
    await until(async () => (await row('billing.card').and(page.locator(':focus')).count()) === 1)
    await page.keyboard.press('x')
    await until(async () => (await page.getByRole('row', { selected: true }).count()) === 1)
    await page.keyboard.press('g')
    await page.keyboard.press('j')
    await until(async () => new URL(page.url()).pathname.endsWith('/jobs') && !page.url().includes('q='))
  })

  it('show the columns that somebody chose, and keep them in the address', async () => {
    await to('/jobs')
    await page.getByRole('button', { name: 'Columns' }).click()
    await page.getByRole('menuitemcheckbox', { name: 'Priority' }).click()
    await page.getByRole('columnheader', { name: 'Priority' }).waitFor()
    expect(page.url()).toContain('columns=')
  })

  it('keep views with a name in the server', async () => {
    await to('/jobs?q=state:dead queue:billing.card')
    await page.getByRole('button', { name: 'Views' }).click()
    await page.getByRole('menuitem', { name: 'Save search …' }).click()
    await dialog().getByLabel('Name').fill('Declined cards')
    await dialog().getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('button', { name: 'Declined cards' }).waitFor()
    await to('/jobs')
    await page.getByRole('button', { name: 'Views' }).click()
    await page.getByRole('menuitemcheckbox', { name: 'Declined cards' }).click()
    await until(async () => (await row('billing.card').count()) === 6)
    await page.getByRole('button', { name: 'Declined cards' }).click()
    await page.getByRole('menuitem', { name: /Remove/ }).click()
    await dialog().getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('button', { name: 'Views' }).waitFor()
  })

  it('are changed by selecting rows', async () => {
    await to('/jobs?q=queue:mail.welcome state:done')
    await row('mail.welcome').first().focus()
    await page.keyboard.press('x')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('Shift+X')
    await page.getByText('3 jobs selected').waitFor()
    await page.getByRole('toolbar', { name: 'Selected jobs' }).getByRole('button', { name: 'Remove' }).click()
    await dialog().getByRole('button', { name: 'Remove 3 jobs' }).click()
    await page.getByText('3 jobs removed').waitFor()
    expect(await count(mail, 'done')).toBe(27)
  })

  it('are changed by a query, with a count before, a name, and progress', async () => {
    isCardFixed = true
    await to('/jobs?q=queue:billing.card state:dead')
    await until(async () => (await row('billing.card').count()) === 6)
    await page.getByRole('checkbox', { name: 'Select all loaded' }).check()
    await page.getByText('6 jobs selected').waitFor()
    await page.getByRole('button', { name: 'Select all 6 matching' }).click()
    await page.getByText('All 6 matching').waitFor()
    await page.getByRole('toolbar', { name: 'Selected jobs' }).getByRole('button', { name: 'Retry' }).click()
    await dialog().getByLabel('Name').fill('After the fix')
    await dialog().getByRole('button', { name: 'Retry 6 jobs' }).click()
    await dialog().getByText('6 changed').waitFor()
    await dialog().getByText('done', { exact: true }).waitFor()
    await dialog().locator('footer').getByRole('button', { name: 'Close' }).click()
    await until(async () => (await count(card, 'done')) === 6)
    await to('/bulk')
    await row('After the fix').getByText('done').waitFor()
    await row('After the fix').getByText('6', { exact: true }).waitFor()
  })
})

describe('A bulk action', () => {
  it('is undone before it begins', async () => {
    const before = await count(mail, 'done')
    await to('/jobs?q=queue:mail.welcome state:done')
    await row('mail.welcome').first().waitFor()
    await page.getByRole('checkbox', { name: 'Select all loaded' }).check()
    await page.getByRole('button', { name: /^Select all \d+ matching/ }).click()
    await page.getByRole('toolbar', { name: 'Selected jobs' }).getByRole('button', { name: 'Remove' }).click()
    await dialog()
      .getByRole('button', { name: /^Remove \d+ jobs/ })
      .click()
    await dialog().getByText('No job is changed before that').waitFor()
    await dialog().getByRole('button', { name: 'Undo' }).click()
    await page.getByText('No job was changed').waitFor()
    await dialog().locator('footer').getByRole('button', { name: 'Close' }).click()
    expect(await count(mail, 'done')).toBe(before)
  })

  it('puts jobs off, and moves them into another queue', async () => {
    const late = queue<number>('late.night')
    await stage.skep.enqueueMany(late, [1, 2, 3])
    await to('/jobs?q=queue:late.night')
    await until(async () => (await row('late.night').count()) === 3)
    const toolbar = page.getByRole('toolbar', { name: 'Selected jobs' })
    const act = async (name: string): Promise<void> => {
      await page.getByRole('checkbox', { name: 'Select all loaded' }).check()
      const button = toolbar.getByRole('button', { name, exact: true })
      if (!(await button.isVisible())) {
        await toolbar.getByRole('button', { name: 'More actions' }).click()
        await page.getByRole('menuitem', { name, exact: true }).click()
      } else await button.click()
    }
    await act('Reschedule')
    await dialog().getByLabel('Due at').fill('2999-01-31T09:00:00')
    await dialog().getByRole('button', { name: 'Reschedule 3 jobs' }).click()
    await page.getByText('3 jobs rescheduled').waitFor()
    const { jobs } = await stage.skep.jobs.list({ queue: 'late.night', state: 'delayed' })
    expect(jobs.map(({ dueAt }) => dueAt.getFullYear())).toEqual([2999, 2999, 2999])

    await to('/jobs?q=queue:late.night state:delayed')
    await until(async () => (await row('late.night').count()) === 3)
    await act('Move')
    await dialog().getByLabel('To queue').fill('early.morning')
    await dialog().getByRole('button', { name: 'Move 3 jobs' }).click()
    await dialog().getByText('3 changed').waitFor()
    await dialog().locator('footer').getByRole('button', { name: 'Close' }).click()
    const [from, into] = await stage.skep.queues.list(['late.night', 'early.morning'])
    expect([from?.delayed, into?.delayed]).toEqual([0, 3])
    await stage.skep.jobs.cancel({ queue: 'early.morning' })
  })

  it('is slowed down, stopped, and leaves the rest as it was', async () => {
    await to('/jobs?q=queue:mail.welcome state:done')
    await row('mail.welcome').first().waitFor()
    await page.getByRole('checkbox', { name: 'Select all loaded' }).check()
    await page.getByRole('button', { name: /^Select all \d+ matching/ }).click()
    await page.getByRole('toolbar', { name: 'Selected jobs' }).getByRole('button', { name: 'Remove' }).click()
    await dialog().getByLabel('Name').fill('Slowly')
    await dialog().getByLabel('Jobs per second').fill('1')
    await dialog()
      .getByRole('button', { name: /^Remove \d+ jobs/ })
      .click()
    await dialog().getByRole('button', { name: 'Stop' }).click()
    await dialog().getByText('stopped', { exact: true }).waitFor()
    await dialog().locator('footer').getByRole('button', { name: 'Close' }).click()
    const [bulk] = (await stage.skep.bulk.list()).filter(({ name }) => name === 'Slowly')
    expect(bulk?.status).toBe('stopped')
    expect(await count(mail, 'done')).toBe(27 - (bulk?.changed ?? 0))
    expect(await count(mail, 'done')).toBeGreaterThan(0)
  })
})

describe('A job', () => {
  it('says who runs it, how far it is and what it writes, as it goes', async () => {
    const [running] = (await stage.skep.jobs.list({ queue: 'report.monthly' })).jobs
    await to(`/jobs/${running?.id}?part=logs`)
    await page.getByRole('progressbar', { name: 'Job progress' }).waitFor()
    await page.getByText('page 4 of 10').waitFor()
    await page.getByRole('log').getByText('rendering').waitFor()
    finishReport()
    await page.getByRole('log').getByText('almost there').waitFor()
    await page.getByRole('article').getByText('done', { exact: true }).waitFor()
  })

  it('says why it does not run, with a way to what keeps it', async () => {
    await stage.skep.queues.pause('mail.welcome', { reason: 'The mail server moves house', by: 'ada' })
    const { id } = await stage.skep.enqueue(mail, { to: 'x@example.org', user: { id: 1 } })
    await to(`/jobs/${id}`)
    await page.getByRole('heading', { name: 'Why is it not running?' }).waitFor()
    await page.getByText('The mail server moves house').waitFor()
    await page.getByRole('link', { name: 'View pause' }).click()
    await page.waitForURL('**/queues/mail.welcome')
    await page.getByText('The mail server moves house').waitFor()
    await page.getByRole('listitem').getByRole('button', { name: 'Resume' }).click()
    await until(async () => (await stage.skep.jobs.get(id))?.state === 'done')
  })

  it('shows every attempt and in what two of them differ', async () => {
    isCardFixed = false
    const { id } = await stage.skep.enqueue(card, { tenant: 'initech', total: 1 })
    await until(async () => (await stage.skep.jobs.get(id))?.state === 'dead')
    await to(`/jobs/${id}?part=attempts`)
    await page.getByRole('heading', { name: 'Attempt 3' }).waitFor()
    await page.locator('.diff-minus').getByText('try 2').waitFor()
    await page.locator('.diff-plus').getByText('try 3').waitFor()
    await page.getByLabel('From', { exact: true }).selectOption('0')
    await page.locator('.diff-minus').getByText('try 1').waitFor()
  })

  it('tells what happened to it, in order, run by run', async () => {
    const [dead] = (await stage.skep.jobs.list({ queue: 'billing.card', state: 'dead' })).jobs
    await to(`/jobs/${dead?.id}`)
    const entries = page.locator('.timeline-entry')
    await entries.filter({ hasText: 'Enqueued' }).waitFor()
    const texts = (await entries.allTextContents()).map((text) => text.replaceAll(/\s+/g, ' '))
    const at = (part: RegExp): number => texts.findIndex((text) => part.test(text))
    const order = [
      at(/^Enqueued/),
      at(/^Started.* attempt 1/),
      at(/^Failed: .*try 1.* attempt 1/),
      at(/^Failed: .*try 2.* attempt 2/),
      at(/^Started.* attempt 3/),
      at(/^Died: .*try 3.* attempt 3/),
      at(/^Expires/),
    ]
    expect(order.every((place) => place >= 0)).toBe(true)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(await entries.last().getAttribute('class')).toContain('timeline-ahead')
  })

  it('still shows the first death after it was retried, and who retried it', async () => {
    const [dead] = (await stage.skep.jobs.list({ queue: 'billing.card', state: 'dead' })).jobs
    const id = dead?.id as string
    await to(`/jobs/${id}`)
    await page.getByRole('article').getByRole('button', { name: 'Retry' }).click()
    await dialog().getByRole('button', { name: 'Retry' }).click()
    await until(async () => (await stage.skep.jobs.get(id))?.generation === 1)
    await until(async () => (await stage.skep.jobs.get(id))?.state === 'dead')
    await to(`/jobs/${id}`)
    const entries = page.locator('.timeline-entry')
    await entries.filter({ hasText: 'Retried manually by' }).waitFor()
    const texts = (await entries.allTextContents()).map((text) => text.replaceAll(/\s+/g, ' '))
    const words = texts.flatMap(
      (text) => /^(Enqueued|Started|Failed|Died|Retried|Expires)/.exec(text)?.[0] ?? [],
    )
    const generation = ['Started', 'Failed', 'Started', 'Failed', 'Started', 'Died']
    expect(words).toEqual(['Enqueued', ...generation, 'Retried', ...generation, 'Expires'])
    expect(await entries.filter({ hasText: 'Died: ' }).first().getAttribute('class')).toContain('dot-bad')
    expect(await entries.filter({ hasText: 'Retried' }).getAttribute('class')).toContain('dot-special')
    expect(open.complaints).toEqual([])
  })

  it('is edited and run again as a copy', async () => {
    const [old] = (await stage.skep.jobs.list({ queue: 'mail.welcome', state: 'done' })).jobs
    await to(`/jobs/${old?.id}`)
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Edit and copy …' }).click()
    const editor = dialog().getByLabel('Payload')
    await editor.fill('{"to": "new@example.org", ')
    await dialog()
      .getByText(/Invalid JSON/)
      .waitFor()
    expect(await dialog().getByRole('button', { name: 'Enqueue copy' }).isDisabled()).toBe(true)
    await editor.fill('{"to": "new@example.org", "user": {"id": 99}}')
    await dialog().getByRole('button', { name: 'Enqueue copy' }).click()
    await page.waitForURL(
      (url) => url.pathname.startsWith('/jobs/') && !url.pathname.endsWith(old?.id as string),
    )
    await page.getByText('Copy of').waitFor()
    const id = new URL(page.url()).pathname.split('/').pop() as string
    expect((await stage.skep.jobs.get(id))?.payload).toEqual({ to: 'new@example.org', user: { id: 99 } })
    expect(await page.getByRole('link', { name: old?.id as string }).getAttribute('href')).toBe(
      `/jobs/${old?.id}`,
    )
  })

  it('is cancelled with a reason', async () => {
    const { id } = await stage.skep.enqueue(
      mail,
      { to: 'later@example.org', user: { id: 2 } },
      { delay: '1h' },
    )
    await to(`/jobs/${id}`)
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Cancel …' }).click()
    await dialog().getByLabel('Reason').fill('Not needed any more')
    await dialog().getByRole('button', { name: 'Cancel 1 job' }).click()
    await until(async () => (await stage.skep.jobs.get(id))?.state === 'cancelled')
    await page.getByRole('article').getByText('cancelled', { exact: true }).waitFor()
    await page.getByText('Not needed any more').first().waitFor()
  })

  it('that is not there is said to be not there', async () => {
    await to('/jobs/01a1e3a9-b98f-7000-8ab0-000000000000')
    await page
      .getByRole('alert')
      .getByText('NOT_FOUND')
      .or(page.getByRole('alert').getByText('JOB_NOT_FOUND'))
      .waitFor()
    // The page asks again now and then, so what it complains of is over only when it is left.
    await to('/')
    open.complaints.splice(0)
  })
})

describe('The keyboard', () => {
  it('goes to sections, and anywhere through the palette', async () => {
    await to('/')
    await page.getByText('Busiest queues').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('q')
    await page.waitForURL('**/queues')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search or go to' }).fill('welcome')
    await page.getByRole('option', { name: /mail\.welcome/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/queues/mail.welcome')
    await page.keyboard.press('?')
    await dialog().getByText('Search or go to a page').waitFor()
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'hidden' })
    await page.keyboard.press('Control+k')
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'hidden' })
  })
})

describe('A dialog', () => {
  it('takes the focus, keeps it, and gives it back', async () => {
    await to('/queues/mail.welcome')
    const opener = page.getByRole('button', { name: 'Pause' })
    await opener.focus()
    await page.keyboard.press('Enter')
    await dialog().getByLabel('Reason').waitFor()
    const isInside = (): Promise<unknown> =>
      page.evaluate("document.querySelector('dialog[open]')?.contains(document.activeElement) ?? false")
    for (let n = 0; n < 12; n++) {
      await page.keyboard.press('Tab')
      // After the last one a browser may give the focus to itself, and never to the page behind.
      const where = await page.evaluate('document.activeElement === document.body')
      expect(where || (await isInside())).toBe(true)
    }
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'hidden' })
    await until(async () => (await page.evaluate('document.activeElement.textContent')) === 'Pause')
  })

  it('is not needed to leave out the sections: the first tab leads to the page', async () => {
    await to('/queues')
    await row('mail.welcome').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await until(async () => (await page.evaluate('document.activeElement.id')) === 'main')
  })
})

describe('A queue with very many jobs', () => {
  it('is said to have 500k+ from half a million on, wherever its jobs are counted', async () => {
    const ready = await count(lonely, 'ready')
    const say = async (jobs: number): Promise<void> => {
      // The store keeps how many there are beside the jobs. So many inserts would leave just this.
      const db = new DatabaseSync(stage.file, { timeout: PATIENCE_MS })
      db.prepare('update skep_queues set ready = ? where name = ?').run(jobs, lonely.name)
      db.close()
    }
    await say(499_999)
    await to('/queues')
    await row(lonely.name).getByText('499,999', { exact: true }).waitFor()

    for (const jobs of [500_000, 1_234_567]) {
      await say(jobs)
      await to('/queues')
      const shown = row(lonely.name).getByText('500k+', { exact: true })
      await shown.waitFor()
      // Who wants to know it rests on the number.
      expect(await shown.getAttribute('title')).toBe(jobs.toLocaleString('en-US'))
    }
    await to(`/jobs?q=queue:${lonely.name}`)
    await page.getByRole('tab', { name: /ready/i }).getByText('500k+', { exact: true }).waitFor()
    await to('/')
    await page.getByText('Busiest queues').waitFor()
    await page.getByText('500k+', { exact: true }).first().waitFor()
    await say(ready)
  })
})

describe('Another space', () => {
  const opener = () => page.getByRole('button', { name: 'default', exact: true })

  /** By keys alone. */
  async function ask(): Promise<void> {
    await opener().focus()
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: 'Switch to …' }).waitFor()
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await dialog().getByLabel('Space', { exact: true }).waitFor()
    await until(async () => (await page.evaluate('document.activeElement.tagName')) === 'INPUT')
  }

  it('is asked for in a dialog, which can be left without going anywhere', async () => {
    await to('/queues')
    await row('mail.welcome').waitFor()
    await ask()
    expect(await dialog().getByRole('button', { name: 'Switch' }).isDisabled()).toBe(true)
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'hidden' })
    await until(async () => (await page.evaluate('document.activeElement.textContent.trim()')) === 'default')
    await row('mail.welcome').waitFor()
  })

  it('must be one: what the server refuses, or no header can carry, is said there and nothing changes', async () => {
    for (const [name, said] of [
      ['-no', /not a valid name/],
      ['two words', /without spaces/],
      ['Größe', /letters, digits/],
    ] as const) {
      await ask()
      await page.keyboard.type(name)
      await page.keyboard.press('Enter')
      await dialog().getByRole('alert').getByText(said).waitFor()
      await page.keyboard.press('Escape')
      await dialog().waitFor({ state: 'hidden' })
    }
    await page.reload()
    await row('mail.welcome').waitFor()
    // A browser notes each refusal in its console.
    open.complaints.splice(0, Infinity, ...open.complaints.filter((text) => !/400/.test(text)))
  })

  it('is where this tab looks from then on', async () => {
    const other = stage.skep.inSpace('acme')
    await other.enqueue(queue<object>('only.there'), {})
    await other.close()
    await ask()
    await page.keyboard.type('acme')
    await page.keyboard.press('Enter')
    await row('only.there').waitFor()
    expect(await row('mail.welcome').count()).toBe(0)
    await page.reload()
    await row('only.there').waitFor()
    await page.getByRole('button', { name: 'acme', exact: true }).waitFor()
    await page.evaluate("sessionStorage.removeItem('skep.space')")
  })
})

it('complains about nothing in the console, and never breaks its content policy', () => {
  expect(open.complaints).toEqual([])
})
