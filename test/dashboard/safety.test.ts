// What somebody hostile could put into a job, who may see and do what, where the dashboard is mounted, and bad days of the server.

import { createServer as createHttpServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { fixed, queue, retry } from '../../src/index.ts'
import { createServer, skepHandler, toNode } from '../../src/server.ts'
import { openStage, PATIENCE_MS, type Stage, visit } from './stage.ts'

vi.setConfig({ testTimeout: 180_000 })

/** Each of them calls alert, loads something or leaves its place if it is taken for anything but text. */
const EVIL = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(2)>',
  "'-alert(3)-'",
  '</script><svg/onload=alert(4)>',
  '<iframe srcdoc="<script>parent.alert(5)</script>"></iframe>',
  '<a href="javascript:alert(6)">click</a>',
  'javascript:alert(7)',
  '{{constructor.constructor("alert(8)")()}}',
  '#{alert(9)} <%= alert(9) %>',
  '<style>*{display:none}</style>',
  '\u202E gnp.exe \u2028\u2029\u0007',
  '<math><mtext></form><form><mglyph><style></math><img src onerror=alert(10)>',
].join(' ')

/** Where the links of a page lead, as they are written. */
function linksOf(page: Page): Promise<string[]> {
  return page.evaluate("[...document.querySelectorAll('a')].map((link) => link.getAttribute('href') ?? '')")
}

/** Reads as `pay-gnp.exe` where marks of writing direction count. */
const SPOOF = 'pay-\u202Eexe.png\u202C \u2067a\u2069 \u200Fb\u200E\u061C'

/**
 * What a person sees of texts with such a mark: `turned` has each place where the letters of "exe.png" do not follow each other from
 * left to right, `marks` each text or attribute that still has a mark.
 */
function readingOrder(page: Page): Promise<{ turned: string[]; marks: string[]; seen: number }> {
  return page.evaluate(`(() => {
    const turned = []
    const marks = []
    let seen = 0
    const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT)
    const range = document.createRange()
    while (walker.nextNode()) {
      const node = walker.currentNode
      if (/\\p{Bidi_Control}/u.test(node.data)) marks.push(node.data)
      for (let at = node.data.indexOf('exe.png'); at >= 0; at = node.data.indexOf('exe.png', at + 1)) {
        const boxes = Array.from({ length: 7 }, (_, index) => {
          range.setStart(node, at + index)
          range.setEnd(node, at + index + 1)
          return range.getBoundingClientRect()
        }).filter(({ width }) => width > 0)
        if (boxes.length > 1) seen++
        const isTurned = boxes.some(
          (box, index) => index > 0 && box.left < boxes[index - 1].left && box.top <= boxes[index - 1].top,
        )
        if (isTurned) turned.push(node.data)
      }
    }
    for (const element of document.querySelectorAll('*'))
      for (const name of ['title', 'alt', 'placeholder', 'aria-label', 'aria-description', 'aria-valuetext'])
        if (/\\p{Bidi_Control}/u.test(element.getAttribute(name) ?? '')) marks.push(name + ': ' + element.getAttribute(name))
    return { turned, marks, seen }
  })()`)
}

const PATHS = [
  '/',
  '/queues',
  '/jobs',
  '/bulk',
  '/errors',
  '/dead',
  '/schedules',
  '/workers',
  '/system',
  '/playground',
]

const evil = queue<Record<string, unknown>, unknown>('evil', {
  onError: retry(1, fixed('10ms')),
  lane: ({ payload }) => String(payload['lane']),
})
const good = queue<{ to: string }>('mail.welcome')

let stage: Stage
const ids: Record<string, string> = {}

/** Who asks, as a header of the test says: the user's own login. */
const ROLES = {
  admin: { name: 'ada', scopes: ['admin'], payloads: true },
  operator: { name: 'otto', scopes: ['operate'], payloads: true },
  reader: { name: 'rita', scopes: ['read'], payloads: true },
  blind: { name: 'bob', scopes: ['read'], payloads: false },
} as const
const as = (role: keyof typeof ROLES) => ({ headers: { 'x-role': role } })

beforeAll(async () => {
  stage = await openStage({
    traceUrl: 'https://traces.example/{trace}',
    auth: (request) => ROLES[(request.headers.get('x-role') ?? '') as keyof typeof ROLES] ?? null,
  })
  const { skep } = stage
  skep.worker(
    [
      evil.handle(({ payload, log, progress }) => {
        progress(50, EVIL.slice(0, 400))
        log.warn(SPOOF, { [SPOOF]: SPOOF })
        log.error(EVIL, { [EVIL.slice(0, 60)]: EVIL })
        if (payload['fails']) {
          const error = new Error(payload[SPOOF] === undefined ? EVIL : SPOOF)
          error.name = EVIL.slice(0, 100)
          error.stack = `${EVIL}\n    at ${EVIL} (/app/${EVIL}:1:1)`
          throw error
        }
        return { [EVIL]: EVIL }
      }),
    ],
    { version: SPOOF },
  )
  const headers = {
    'x-evil': EVIL.replaceAll(/[^\x20-\x7e]/g, ''),
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  }
  const payload = { [EVIL]: { [EVIL]: [EVIL, { href: 'javascript:alert(1)' }] }, lane: EVIL.slice(0, 100) }
  ids['done'] = (await skep.enqueue(evil, payload, { headers, unique: EVIL.slice(0, 100) })).id
  ids['dead'] = (await skep.enqueue(evil, { ...payload, fails: true }, { headers })).id
  ids['held'] = (await skep.enqueue(good, { to: EVIL })).id
  await skep.queues.pause('mail.welcome', { reason: EVIL, by: EVIL.slice(0, 100) })
  await vi.waitFor(
    async () => {
      expect((await skep.jobs.get(ids['done'] as string))?.state).toBe('done')
      expect((await skep.jobs.get(ids['dead'] as string))?.state).toBe('dead')
    },
    { timeout: PATIENCE_MS, interval: 100 },
  )
  const bulk = await skep.bulk.start({
    action: 'retry',
    query: 'queue:nothing',
    name: EVIL.slice(0, 60),
    by: EVIL.slice(0, 60),
  })
  expect(bulk.name).toContain('alert')
}, 240_000)

afterAll(async () => {
  await stage?.close()
}, 60_000)

describe('Everything from users is text', () => {
  it('on every screen, in every field', async () => {
    const { page, complaints, close } = await visit(stage.browser, `${stage.url}/`, as('admin'))
    const paths = [
      ...PATHS,
      '/queues/evil?tab=lanes',
      '/queues/mail.welcome',
      `/jobs?q=${encodeURIComponent(`error:"${EVIL.slice(0, 40).replaceAll('"', '\\"')}"`)}`,
      ...Object.values(ids).flatMap((id) =>
        ['overview', 'data', 'attempts', 'logs'].map((part) => `/jobs/${id}?part=${part}`),
      ),
    ]
    for (const path of paths) {
      await page.goto(`${stage.url}${path}`)
      await page.getByRole('main').waitFor()
      await page.locator('.skeleton').first().waitFor({ state: 'hidden' })
    }
    expect(complaints).toEqual([])
    await close()
  })

  it('and is shown as it is', async () => {
    const { page, complaints, close } = await visit(
      stage.browser,
      `${stage.url}/jobs/${ids['dead']}`,
      as('admin'),
    )
    await page.locator('.json-text').getByText('<script>alert(1)</script>').first().waitFor()
    await page.locator('.trace').getByText('onerror=alert(2)').first().waitFor()
    expect(await page.locator('main script, main iframe, main style, main img').count()).toBe(0)
    await page.goto(`${stage.url}/jobs/${ids['done']}?part=logs`)
    await page.getByRole('log').getByText('<script>alert(1)</script>').first().waitFor()
    await page.goto(`${stage.url}/queues/mail.welcome`)
    await page.getByText('<iframe srcdoc=').first().waitFor()
    const links = await linksOf(page)
    expect(links.filter((href) => /^\s*(javascript|data|vbscript):/i.test(href))).toEqual([])
    expect(complaints).toEqual([])
    await close()
  })

  it('and nothing turns the text around', async () => {
    const { skep } = stage
    const handle = await skep.enqueue(
      evil,
      { lane: SPOOF, fails: true, [SPOOF]: [SPOOF] },
      { unique: SPOOF, headers: { 'x-note': SPOOF } },
    )
    await handle.result().catch(() => {})
    await skep.queues.pause('spoofed', { reason: SPOOF, by: SPOOF })
    const { page, complaints, close } = await visit(
      stage.browser,
      `${stage.url}/jobs/${handle.id}`,
      as('admin'),
    )
    const paths = [
      `/jobs/${handle.id}`,
      ...['data', 'attempts', 'logs'].map((part) => `/jobs/${handle.id}?part=${part}`),
      ...PATHS,
      '/queues/evil?tab=lanes',
      '/queues/spoofed',
      '/audit',
    ]
    const found: string[] = []
    for (const path of paths) {
      await page.goto(`${stage.url}${path}`)
      await page.getByRole('main').waitFor()
      await page.locator('.skeleton').first().waitFor({ state: 'hidden' })
      const { turned, marks, seen } = await readingOrder(page)
      expect({ path, turned, marks }).toEqual({ path, turned: [], marks: [] })
      if (seen > 0) found.push(path)
    }
    // Otherwise the loop above had nothing to look at.
    expect(found).toEqual(
      expect.arrayContaining([
        `/jobs/${handle.id}`,
        `/jobs/${handle.id}?part=data`,
        `/jobs/${handle.id}?part=logs`,
        '/jobs',
        '/errors',
        '/dead',
        '/queues/spoofed',
        '/workers',
      ]),
    )
    // What is edited is the payload, escaped as JSON escapes it.
    await page.goto(`${stage.url}/jobs/${handle.id}`)
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: /Edit/ }).click()
    const editor = page.locator('textarea.json-editor')
    expect(JSON.parse(await editor.inputValue())).toHaveProperty([SPOOF], [SPOOF])
    expect(await editor.inputValue()).not.toMatch(/\p{Bidi_Control}/u)
    expect(complaints).toEqual([])
    await close()
    // The tests below count what is there.
    await skep.queues.resume('spoofed')
    await skep.jobs.remove(handle.id)
  })

  it('and only links to the web lead out', async () => {
    const { page, close } = await visit(stage.browser, `${stage.url}/jobs/${ids['dead']}`, as('admin'))
    const trace = page.getByRole('link', { name: '0af7651916cd43dd8448eb211c80319c' })
    expect(await trace.getAttribute('href')).toBe('https://traces.example/0af7651916cd43dd8448eb211c80319c')
    expect(await trace.getAttribute('rel')).toContain('noopener')
    await close()
  })
})

describe('Whoever may only look', () => {
  it('sees no button that changes anything', async () => {
    const { page, complaints, close } = await visit(stage.browser, `${stage.url}/queues`, as('reader'))
    await page.getByText('read only').waitFor()
    await page.getByRole('grid').getByText('evil').waitFor()
    expect(await page.getByRole('button', { name: /^Actions for/ }).count()).toBe(0)
    await page.goto(`${stage.url}/queues/mail.welcome`)
    await page.getByText('Paused').first().waitFor()
    expect(await page.getByRole('button', { name: /Resume|Pause|More actions/ }).count()).toBe(0)
    await page.goto(`${stage.url}/jobs?q=state:dead`)
    await page.getByRole('grid').getByText('evil').waitFor()
    expect(await page.getByRole('checkbox').count()).toBe(0)
    await page.goto(`${stage.url}/jobs/${ids['dead']}`)
    await page.getByRole('heading', { name: 'Why is it dead?' }).waitFor()
    expect(await page.getByRole('button', { name: /Retry|More actions/ }).count()).toBe(0)
    expect(await page.getByRole('link', { name: /Tokens|Audit|Playground/ }).count()).toBe(0)
    expect(complaints).toEqual([])
    await close()
  })

  it('is refused by the server, whatever the page shows', async () => {
    const { page, close } = await visit(stage.browser, `${stage.url}/`, as('reader'))
    const answer = await page.request.post(`${stage.url}/api/v1/call/holds.resume`, {
      data: { queue: 'mail.welcome' },
      headers: { 'x-role': 'reader', origin: stage.url },
    })
    expect(answer.status()).toBe(403)
    expect(await stage.skep.queues.holds()).toHaveLength(1)
    await close()
  })

  it('and not read payloads is told so, and gets none', async () => {
    const { page, close } = await visit(stage.browser, `${stage.url}/jobs/${ids['done']}`, as('blind'))
    await page.getByText('Your token cannot read payloads').waitFor()
    expect(await page.locator('.json').count()).toBe(0)
    await close()
  })
})

describe('Whoever may operate', () => {
  it('changes queues and jobs, and does not block', async () => {
    const { page, close } = await visit(stage.browser, `${stage.url}/queues/evil`, as('operator'))
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Purge …' }).waitFor()
    expect(await page.getByRole('menuitem', { name: /Block/ }).count()).toBe(0)
    expect(await page.getByRole('link', { name: /Tokens|Audit/ }).count()).toBe(0)
    await close()
  })
})

describe('Under a path of another server', () => {
  let front: Server
  let url: string
  let handler: ReturnType<typeof skepHandler>

  beforeAll(async () => {
    handler = skepHandler(stage.skep, { basePath: '/admin/queues', open: true })
    const node = toNode(handler)
    front = createHttpServer((incoming, outgoing) => {
      if (incoming.url?.startsWith('/admin/queues')) node(incoming, outgoing)
      else outgoing.writeHead(404).end('somebody else')
    })
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(front.address() as AddressInfo).port}/admin/queues`
  })

  afterAll(async () => {
    await handler?.close()
    front?.closeAllConnections()
    front?.close()
  })

  it('works with deep links, reloads and every link of its own', async () => {
    const { page, complaints, close } = await visit(stage.browser, `${url}/queues/mail.welcome?tab=limits`)
    await page.getByText('No limits:').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    await page.reload()
    await page.getByText('No limits:').waitFor()
    await page.getByRole('link', { name: 'Jobs', exact: true }).first().click()
    await page.waitForURL(`${url}/jobs`)
    await page.getByRole('grid').getByText('evil').first().click()
    await page.getByRole('link', { name: 'Open page' }).click()
    await page.waitForURL((address) => address.pathname.startsWith('/admin/queues/jobs/'))
    await page.reload()
    await page.getByRole('article').waitFor()
    await page.getByRole('link', { name: 'Skep', exact: true }).click()
    await page.waitForURL(`${url}/`)
    await page.getByText('Busiest queues').waitFor()
    const links = (await linksOf(page)).filter((href) => href.startsWith('/'))
    expect(links.filter((href) => !href.startsWith('/admin/queues'))).toEqual([])
    expect(complaints).toEqual([])
    await close()
  })

  it('opens every screen by its address, and none of them links out of it', async () => {
    const { page, complaints, close } = await visit(stage.browser, `${url}/`)
    const paths = [...PATHS, '/flows', '/receivers', '/audit', '/tokens', '/queues/evil?tab=lanes']
    for (const path of paths) {
      await page.goto(`${url}${path}`)
      await page.getByRole('main').getByRole('heading', { level: 1 }).waitFor()
      await page.locator('.skeleton').first().waitFor({ state: 'hidden' })
      const links = (await linksOf(page)).filter((href) => href.startsWith('/'))
      expect({ path, out: links.filter((href) => !href.startsWith('/admin/queues')) }).toEqual({
        path,
        out: [],
      })
    }
    expect(complaints).toEqual([])
    await close()
  })
})

describe('On a phone', () => {
  it('has its sections at the thumb, and nothing that is wider than the screen', async () => {
    const { page, complaints, close } = await visit(stage.browser, `${stage.url}/`, {
      ...as('admin'),
      width: 390,
      height: 844,
    })
    const paths = [...PATHS, '/queues/evil', `/jobs/${ids['dead']}`, `/jobs/${ids['done']}?part=logs`]
    for (const path of paths) {
      await page.goto(`${stage.url}${path}`)
      await page.getByRole('main').waitFor()
      await page.locator('.skeleton').first().waitFor({ state: 'hidden' })
      const isWide = await page.evaluate(
        'document.documentElement.scrollWidth > document.documentElement.clientWidth',
      )
      expect({ path, isWide }).toEqual({ path, isWide: false })
    }
    await page
      .getByRole('navigation', { name: 'Main sections' })
      .getByRole('link', { name: 'Queues' })
      .click()
    await page.waitForURL('**/queues')
    await page.getByRole('button', { name: 'More', exact: true }).click()
    await page
      .getByRole('navigation', { name: 'Sections', exact: true })
      .getByRole('link', { name: 'Workers' })
      .click()
    await page.waitForURL('**/workers')
    expect(complaints).toEqual([])
    await close()
  })
})

describe('With a token', () => {
  it('one logs in, again when the session is over, and out', async () => {
    const token = 'a-token-that-nobody-can-guess-4711'
    const server = createServer(stage.skep, { tokens: [{ name: 'grace', token, scopes: ['operate'] }] })
    const { url } = await server.listen({ port: 0 })
    const { page, close } = await visitLogin(`${url}/queues`)
    const logIn = async (): Promise<void> => {
      await page.getByLabel('Access token').fill(token)
      await page.getByRole('button', { name: 'Log in' }).click()
      await page.getByRole('grid').getByText('evil').waitFor()
    }
    await logIn()

    await page.context().clearCookies()
    await page.getByRole('link', { name: 'Overview' }).first().click()
    await page.getByRole('heading', { name: 'Log in to Skep' }).waitFor()
    await page.getByLabel('Access token').fill('something else altogether')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('Invalid or expired token').waitFor()
    await page.goto(`${url}/queues`)
    await logIn()

    await page.getByRole('button', { name: 'Theme and account' }).click()
    await page.getByRole('menuitem', { name: 'Log out grace' }).click()
    await page.getByRole('heading', { name: 'Log in to Skep' }).waitFor()
    await close()
    await server.close()
  })

  async function visitLogin(address: string) {
    const context = await stage.browser.newContext()
    context.setDefaultTimeout(PATIENCE_MS)
    const page = await context.newPage()
    await page.goto(address)
    return { page, close: () => context.close() }
  }
})

describe('When the server goes away', () => {
  it('says so quietly, and goes on when it is back', async () => {
    const first = createServer(stage.skep)
    const { url, port } = await first.listen({ port: 0 })
    const { page, close } = await visit(stage.browser, `${url}/queues`)
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('grid').getByText('evil').waitFor()
    await first.close()
    await page.getByText('Reconnecting', { exact: true }).waitFor()
    await page.getByRole('grid').getByText('evil').waitFor()
    const second = createServer(stage.skep)
    await second.listen({ port })
    await page.getByText('Live', { exact: true }).waitFor()
    await close()
    await second.close()
  })
})
