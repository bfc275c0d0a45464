// Workers, receivers, the playground, the system, tokens and the audit; what is hostile on these screens, and who may do what.

import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { flow, queue, schedule } from '../../src/index.ts'
import { EVIL, evil } from './evil.ts'
import { fillShop, mail, openShop } from './plans-stage.ts'
import { openStage, PATIENCE_MS, type Stage, type Visit, visit } from './stage.ts'

vi.setConfig({ testTimeout: 180_000 })

const ROLES = {
  admin: { name: 'ada', scopes: ['admin', 'work', 'enqueue'], payloads: true },
  reader: { name: 'rita', scopes: ['read'], payloads: true },
} as const

const bad = queue<Record<string, unknown>, object>('bad')
const badFlow = flow('bad-flow', (f) => f.input<Record<string, unknown>>().signal('go').step(bad))

let stage: Stage
let open: Visit
let page: Page
let runId: string

beforeAll(async () => {
  stage = await openStage({
    auth: (request) => ROLES[(request.headers.get('x-role') ?? '') as keyof typeof ROLES] ?? null,
  })
  const { skep } = stage
  openShop(skep)
  skep.worker([
    badFlow,
    bad.handle(() => {
      const error = new Error(EVIL)
      error.name = evil(100)
      error.stack = `${EVIL}\n    at ${EVIL} (/app/${EVIL}:1:1)`
      throw error
    }),
  ])
  await fillShop(skep)
  await skep.enqueue(bad, { [EVIL]: EVIL })
  await skep.schedules.put(schedule('bad.schedule', { queue: bad, payload: { [EVIL]: EVIL }, every: '1h' }))
  await skep.schedules.pause('bad.schedule', { reason: evil(200), by: evil(100) })
  runId = (await skep.start(badFlow, { [EVIL]: EVIL }, { attributes: { evil: evil(100) } })).id
  await until(async () =>
    (await skep.jobs.list({ queue: 'bad' })).jobs.some(({ failure }) => failure !== null),
  )
  open = await visit(stage.browser, `${stage.url}/workers`, { headers: { 'x-role': 'admin' } })
  page = open.page
}, 240_000)

afterAll(async () => {
  await stage?.close()
}, 60_000)

const go = (path: string): Promise<unknown> => page.goto(`${stage.url}${path}`)
const dialog = (): Locator => page.getByRole('dialog')
const button = (name: string | RegExp): Locator => page.getByRole('button', { name, exact: true })
const until = (check: () => Promise<boolean>): Promise<void> =>
  vi.waitFor(async () => expect(await check()).toBe(true), { timeout: PATIENCE_MS, interval: 100 })

/** Nothing is on its way any more: the bones that stand for it are gone. */
async function isLoaded(shown: Page): Promise<void> {
  await shown.getByRole('main').getByRole('heading').first().waitFor()
  await until(async () => (await shown.locator('.skeleton').count()) === 0)
}

describe('Workers', () => {
  it('are listed with what they do, and queues without one are named', async () => {
    await page.getByRole('alert').getByText('No worker for this queue').waitFor()
    await page.getByRole('alert').getByRole('link', { name: 'export.legacy' }).waitFor()
    await until(async () => (await page.getByRole('grid').getByText(`PID ${process.pid}`).count()) === 2)
  })

  it('are paused and resumed', async () => {
    const row = page.getByRole('row').filter({ hasText: 'mail.send' })
    await row.getByRole('button', { name: /^Actions for worker/ }).click()
    await page.getByRole('menuitem', { name: 'Pause' }).click()
    await row.getByText(/paus/).first().waitFor()
    await row.getByRole('button', { name: /^Actions for worker/ }).click()
    await page.getByRole('menuitem', { name: 'Resume' }).click()
    await until(async () => (await row.getByText(/paus/).count()) === 0)
  })

  it('are stopped from here, after a question', async () => {
    const idle = queue<object>('idle')
    const worker = stage.skep.worker([idle.handle(() => undefined)])
    const row = page.getByRole('row').filter({ hasText: 'idle' })
    await row.getByRole('button', { name: /^Actions for worker/ }).click()
    await page.getByRole('menuitem', { name: 'Stop …' }).click()
    // It is opened by a row, and nothing of the row cuts its text off.
    await dialog().waitFor()
    const body = "document.querySelector('dialog .dialog-body')"
    expect(await page.evaluate(`${body}.scrollWidth - ${body}.clientWidth`)).toBe(0)
    expect(await page.evaluate(`getComputedStyle(${body}).whiteSpace`)).toBe('normal')
    await dialog().getByRole('button', { name: 'Stop worker' }).click()
    await until(async () => worker.health().status === 'stopped')
    await until(async () => (await row.count()) === 0)
  })

  it('show more about themselves beside the list', async () => {
    await page.getByRole('row').filter({ hasText: 'mail.send' }).click()
    await page.waitForURL(/workers\?id=/)
    await dialog().getByRole('link', { name: 'mail.send' }).waitFor()
    await dialog().getByText('Event-loop lag').waitFor()
    await dialog().getByRole('button', { name: 'Close' }).click()
  })
})

describe('The playground', () => {
  it('makes a form of the schema, and says what is wrong when it is sent', async () => {
    await go('/playground?queue=mail.send')
    await page.getByLabel('to', { exact: true }).fill('ada')
    await button('Enqueue').click()
    await page.getByRole('alert').getByText('must be an email address').waitFor()
    expect((await stage.skep.queues.list([mail]))[0]?.done ?? 0).toBe(0)
  })

  it('sends what was filled in, and follows the job to its result', async () => {
    await page.getByLabel('to', { exact: true }).fill('ada@example.org')
    await page.getByLabel('subject').fill('Hello')
    await page.getByLabel('kind').selectOption('html')
    await button('tags').click()
    await button('Add item').click()
    await page.getByLabel('1', { exact: true }).fill('news')
    await button('Add header').click()
    await page.getByRole('textbox', { name: 'Header' }).fill('x-from')
    await page.getByRole('textbox', { name: 'Value' }).fill('playground')
    await button('Enqueue').click()
    await page.getByText('sending to ada@example.org').waitFor()
    await page.getByText('"ada@example.org"').first().waitFor()
    const [job] = (await stage.skep.jobs.list({ queue: 'mail.send' })).jobs
    expect(job?.payload).toEqual({ to: 'ada@example.org', subject: 'Hello', kind: 'html', tags: ['news'] })
    expect(job?.headers['x-from']).toBe('playground')
  })

  it('takes JSON instead of a form, and copies the same job for other languages', async () => {
    await button('JSON').click()
    const editor = page.getByLabel('Payload as JSON')
    expect(JSON.parse(await editor.inputValue())).toMatchObject({ subject: 'Hello' })
    await editor.fill('{"to": "o\'brien@example.org", "subject": "Hi", "kind": "plain"}')
    for (const [kind, sign] of [
      ['curl', '--data-raw'],
      ['TypeScript', 'skep.enqueue(target'],
      ['Python', 'urllib.request'],
      ['CLI', 'npx skep enqueue mail.send'],
    ] as const) {
      await button(kind).click()
      await page.locator('.code').last().getByText(sign).waitFor()
    }
    await button('Enqueue').click()
    await until(async () => (await stage.skep.queues.list([mail]))[0]?.done === 2)
  })

  it('shows the refusal of the server', async () => {
    await page.getByLabel('Delay').fill('1 fortnight')
    await page.getByText('Enter a duration').waitFor()
    await button('Enqueue').click()
    await page.getByRole('alert').getByText('delay').first().waitFor()
    open.complaints.splice(0)
  })
})

describe('The system', () => {
  it('says how store and server are, and what to do about what is not well', async () => {
    await go('/system')
    await page.getByRole('heading', { name: 'Doctor' }).waitFor()
    await page.getByText('jobs survive').first().waitFor()
    await page.getByText('export.legacy').first().waitFor()
  })

  it('gives the very command that mends what it found', async () => {
    await stage.skep.queues.pause('export.*', { reason: 'It moves' })
    await button('Check again').click()
    await page.locator('.code').getByText("skep queues resume 'export.*'", { exact: true }).waitFor()
    await stage.skep.queues.resume('export.*')
  })

  it('keeps theme and density in this browser', async () => {
    await page.getByRole('group', { name: 'Theme' }).getByRole('button', { name: 'Dark' }).click()
    await page.getByRole('group', { name: 'Density' }).getByRole('button', { name: 'Dense' }).click()
    await page.reload()
    await page.getByRole('heading', { name: 'Doctor' }).waitFor()
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
    expect(await page.locator('html').getAttribute('data-density')).toBe('dense')
    await page.getByRole('group', { name: 'Density' }).getByRole('button', { name: 'Normal' }).click()
  })
})

describe('Tokens and the audit', () => {
  it('show a token once, and what it may', async () => {
    await go('/tokens')
    await button('New token').first().click()
    await dialog().getByLabel('Name').fill('ci')
    await dialog()
      .getByLabel(/^enqueue/)
      .check()
    await dialog().getByRole('textbox', { name: 'Queues' }).fill('mail.*')
    await dialog().getByRole('button', { name: 'Create token' }).click()
    await dialog().getByText('shown only once').waitFor()
    const token = await dialog().locator('.code code').textContent()
    expect(token?.length).toBeGreaterThan(20)
    await dialog().getByRole('button', { name: 'Done' }).click()
    const row = page.getByRole('row').filter({ hasText: 'ci' })
    await row.getByText('mail.*').waitFor()
    expect(await page.content()).not.toContain(token)
  })

  it('revoke it after a question', async () => {
    await page.getByRole('button', { name: 'Revoke ci' }).click()
    await dialog().getByRole('button', { name: 'Revoke' }).click()
    await until(async () => (await page.getByRole('button', { name: 'Revoke ci' }).count()) === 0)
  })

  it('say who did what, found by who and by what', async () => {
    await go('/audit')
    const rows = page.getByRole('grid').getByRole('row')
    await rows.filter({ hasText: 'created a token' }).waitFor()
    await page.getByPlaceholder('Filter by operation').fill('workers.command')
    await page.waitForURL(/what=workers\.command/)
    await rows.filter({ hasText: 'sent a command to a worker' }).first().waitFor()
    await until(async () => (await rows.filter({ hasText: 'created a token' }).count()) === 0)
    await rows.filter({ hasText: 'sent a command to a worker' }).first().click()
    await dialog().getByText('workers.command').waitFor()
    await dialog().getByRole('button', { name: 'Close' }).click()
  })
})

const SCREENS = (): readonly string[] => [
  '/errors',
  '/dead',
  '/schedules',
  '/schedules/bad.schedule',
  '/flows',
  `/runs/${runId}`,
  '/flows/bad-flow',
  '/workers',
  '/receivers',
  '/playground?queue=bad',
  '/system',
  '/audit',
  '/tokens',
]

describe('Everything from users is text', () => {
  it('on these screens too', async () => {
    const { groups } = await stage.skep.errors.list({ queue: 'bad' })
    for (const path of [...SCREENS(), `/errors/${groups[0]?.id}`]) {
      await go(path)
      await page.getByRole('main').waitFor()
      await isLoaded(page)
      expect(await page.locator('main iframe, main script, main style, main [onerror]').count()).toBe(0)
    }
    expect(open.complaints).toEqual([])
  })

  it('and is shown as it is', async () => {
    await go('/schedules/bad.schedule')
    await page.getByRole('alert').getByText('<script>alert(1)</script>').waitFor()
    await go(`/runs/${runId}`)
    await page.getByText('"><img src=x onerror=alert(2)>').first().waitFor()
  })
})

it('shows a reader everything, and no button that changes anything', async () => {
  const reader = await visit(stage.browser, `${stage.url}/errors`, { headers: { 'x-role': 'reader' } })
  const { groups } = await stage.skep.errors.list({})
  const changes =
    /^(retry|retry|remove|revoke|mute$|unmute|pause$|resume|run now|new |cancel( |$)|send|stop|close |more actions|actions)/i
  for (const path of [...SCREENS().filter((one) => !/playground/.test(one)), `/errors/${groups[0]?.id}`]) {
    await reader.page.goto(`${stage.url}${path}`)
    await reader.page.getByRole('main').getByRole('heading').first().waitFor()
    await isLoaded(reader.page)
    expect([
      path,
      await reader.page.getByRole('main').getByRole('button', { name: changes }).count(),
    ]).toEqual([path, 0])
  }
  await reader.close()
})

it('fits on a phone', async () => {
  const phone = await visit(stage.browser, `${stage.url}/errors`, {
    width: 390,
    height: 844,
    headers: { 'x-role': 'admin' },
  })
  for (const path of SCREENS()) {
    await phone.page.goto(`${stage.url}${path}`)
    await phone.page.getByRole('main').waitFor()
    await isLoaded(phone.page)
    const tooWide = await phone.page.evaluate('document.documentElement.scrollWidth - innerWidth')
    expect([path, tooWide]).toEqual([path, 0])
  }
  await phone.close()
})
