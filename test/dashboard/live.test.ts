// What moves by itself: pages that are shown and hidden, receivers that come and go, long lists, large flows, and a store that is away.

import type { Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createSkep, type Flow, flow, type Queue, queue } from '../../src/index.ts'
import { redisStore } from '../../src/redis.ts'
import { createServer } from '../../src/server.ts'
import { grpcClient } from '../grpc/stage.ts'
import { post, receive, type WireJob } from '../receivers/support/client.ts'
import { reasonToSkip, startRedis } from '../servers/index.ts'
import { EVIL } from './evil.ts'
import { openStage, PATIENCE_MS, type Stage, type Visit, visit } from './stage.ts'

vi.setConfig({ testTimeout: 120_000 })

const mail: Queue<{ n: number }> = queue('mail.send')
const parcel: Queue<{ n: number }> = queue('parcel.send')
const long: Queue<{ n: number }> = queue('long.list')
const unit: Queue<object, object> = queue('unit')

let stage: Stage
let open: Visit
let page: Page

beforeAll(async () => {
  stage = await openStage()
  open = await visit(stage.browser, `${stage.url}/queues`)
  page = open.page
}, 180_000)

afterAll(async () => {
  await stage?.close()
}, 60_000)

const go = (path: string): Promise<unknown> => page.goto(`${stage.url}${path}`)
const until = (check: () => Promise<boolean>): Promise<void> =>
  expect.poll(check, { timeout: PATIENCE_MS, interval: 100 }).toBe(true)
const rowOf = (shown: Page, name: string): Locator =>
  shown.getByRole('grid').getByRole('row').filter({ hasText: name })

async function enqueue(of: Queue<{ n: number }>, count: number): Promise<void> {
  await stage.skep.enqueueMany(
    of,
    Array.from({ length: count }, (_, n) => ({ n })),
  )
}

/** The browser of the tests never hides a page, so the page is told what a browser would tell it. */
async function show(shown: Page, isShown: boolean): Promise<void> {
  await shown.evaluate(`
    Object.defineProperty(document, 'visibilityState', { value: '${isShown ? 'visible' : 'hidden'}', configurable: true })
    Object.defineProperty(document, 'hidden', { value: ${!isShown}, configurable: true })
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`)
}

describe('A page that is hidden', () => {
  it('closes its stream and asks for nothing, and has caught up when it is shown', async () => {
    await enqueue(mail, 3)
    const waiting = (shown: Page, count: number): Locator =>
      rowOf(shown, 'mail.send').getByRole('gridcell').getByText(String(count), { exact: true })
    await waiting(page, 3).first().waitFor()
    const asked: string[] = []
    const ended: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    page.on('requestfailed', (request) => ended.push(request.url()))

    await show(page, false)
    await until(async () => ended.some((url) => url.endsWith('/api/v1/events')))
    await page.waitForLoadState('networkidle')
    asked.splice(0)
    // Somebody else looks: what he sees tells when this page would have seen it.
    const other = await visit(stage.browser, `${stage.url}/queues`)
    await waiting(other.page, 3).first().waitFor()
    for (const count of [7, 12]) {
      await enqueue(mail, count === 7 ? 4 : 5)
      await waiting(other.page, count).first().waitFor()
    }
    await other.close()
    expect(asked).toEqual([])
    expect(await waiting(page, 3).count()).toBeGreaterThan(0)

    await show(page, true)
    await page.getByText('Live', { exact: true }).waitFor()
    await waiting(page, 12).first().waitFor()
    expect(asked.filter((url) => url.endsWith('/api/v1/events'))).toHaveLength(1)
  })
})

describe('Receivers', () => {
  const ends: (() => unknown)[] = []
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end()
  })
  const cell = async (name: string, column: number): Promise<string> =>
    (await rowOf(page, name).getByRole('gridcell').nth(column).textContent()) ?? ''

  it('are told how to come while there is none', async () => {
    await go('/receivers')
    await page.getByRole('heading', { name: 'No receivers' }).waitFor()
    await page.getByText('/api/v1/receive').waitFor()
  })

  it('over HTTP are shown with what they have and have answered, and are closed from the screen', async () => {
    const jobs: WireJob[] = []
    const said: string[] = []
    let id = ''
    const hungUp = new AbortController()
    ends.push(() => hungUp.abort())
    const body = { queues: ['mail.*'], credits: 5, name: EVIL }
    const stream = (async () => {
      for await (const frame of receive(`${stage.url}/api/v1`, body, hungUp.signal)) {
        id = frame.hello?.receiver ?? id
        jobs.push(...(frame.jobs ?? []))
        if (frame.end) said.push(frame.end.reason)
      }
    })()
    stream.catch(() => {})
    await rowOf(page, 'HTTP stream').waitFor()
    await rowOf(page, 'HTTP stream').getByText('<script>alert(1)</script>').waitFor()
    await until(async () => (await cell('HTTP stream', 2)).startsWith('5'))

    const acks = jobs.slice(0, 3).map(({ id: job, token }) => ({ id: job, token, done: null }))
    await post(`${stage.url}/api/v1/receivers/${id}/ack`, { acks })
    await until(async () => (await cell('HTTP stream', 4)) === '3')
    // Each answer made room for another job.
    await until(async () => (await cell('HTTP stream', 2)).startsWith('5') && jobs.length === 8)

    await page.getByRole('button', { name: /^Close <script>/ }).click()
    await page.getByRole('dialog').getByText('5 jobs that it has not answered for').waitFor()
    await page.getByRole('button', { name: 'Close it' }).click()
    await page.getByRole('heading', { name: 'No receivers' }).waitFor()
    await stream
    expect(said).toEqual(['closed'])
    // They are free at once: nobody waits for a lease to end.
    await until(async () => {
      const [counts] = await stage.skep.queues.list([mail])
      return counts?.running === 0 && counts.done === 3
    })
  })

  it('over gRPC stand beside them, and go when they hang up', async () => {
    const { skep: client } = grpcClient(stage.url.replace('http://', ''))
    await enqueue(parcel, 4)
    const stream = client['Receive']()
    stream.on('error', () => {})
    stream.on('data', ({ jobs }: { jobs: { id: string; token: string; payload: string }[] }) => {
      const acks = jobs
        .filter(({ payload }) => JSON.parse(payload).n > 0)
        .map(({ id, token }, index) =>
          index === 0 ? { id, token, bury: 'not mine' } : { id, token, done: 'null' },
        )
      if (acks.length > 0) stream.write({ acks })
    })
    stream.write({ open: { name: 'parcels-go', queues: ['parcel.send'], credits: 10 } })
    await rowOf(page, 'parcels-go').getByText('gRPC').waitFor()
    await until(async () => (await cell('parcels-go', 4)) === '2' && (await cell('parcels-go', 5)) === '1')
    expect(await cell('parcels-go', 2)).toMatch(/^1 of 10/)
    stream.cancel()
    await page.getByRole('heading', { name: 'No receivers' }).waitFor()
  })
})

describe('A long list', () => {
  it('goes on by its key: nothing comes twice or is left out while others come', async () => {
    await enqueue(long, 250)
    await go('/jobs?q=queue:long.list')
    await page.getByText('100 shown').waitFor()
    await enqueue(long, 30)
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByText('200 shown').waitFor()
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByText('280 shown').waitFor()
    expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0)
    // Of all of them only those in sight are drawn.
    expect(await page.getByRole('grid').getByRole('row').count()).toBeLessThan(100)
  })
})

describe('A flow of 1,001 steps', () => {
  it('is drawn without drawing what is out of sight, and the list has all of it', async () => {
    const steps: Flow<object, object> = flow('large', (f) => {
      let built = f.input<object>().step(unit, { name: 's0' })
      for (let n = 1; n < 1_000; n++) built = built.step(unit, { name: `s${n}` }) as typeof built
      return built.signal('end') as never
    })
    stage.skep.worker([steps, unit.handle(() => ({}))])
    const { id } = await stage.skep.start(steps, {})
    await page.addInitScript(`
      window.mostBoxes = 0
      new MutationObserver(() => {
        window.mostBoxes = Math.max(window.mostBoxes, document.querySelectorAll('.react-flow__node').length)
      }).observe(document, { childList: true, subtree: true })`)
    await go(`/runs/${id}`)
    await page.locator('.react-flow__node-step').first().waitFor()
    await until(async () => (await page.locator('.step-button').count()) === 1_001)
    expect(await page.evaluate('mostBoxes')).toBeLessThan(100)
    // The graph and the list scroll by themselves, and end where their card ends.
    for (const part of ['.flow-graph', '.step-list']) {
      expect((await page.locator(part).boundingBox())?.height, part).toBeLessThan(700)
    }
    // The last one is chosen in the list, and the graph goes there.
    await page.locator('.step-button').last().click()
    await page.locator('.react-flow__node-step').filter({ hasText: 'end' }).waitFor()
  })
})

describe('When the store is away', () => {
  it('what is shown stays, is said to be not fresh, and is fresh again by itself', async (test) => {
    const { redis, reason } = await startRedis({ appendfsync: 'everysec' })
    if (redis === undefined) return test.skip(reasonToSkip(reason))
    const skep = createSkep({ store: redisStore({ url: redis.url, unsafe: { lateFsync: true } }) })
    await skep.enqueue(mail, { n: 1 })
    const server = createServer(skep)
    const { url } = await server.listen({ port: 0 })
    const { page: shown, close } = await visit(stage.browser, `${url}/queues`)
    await rowOf(shown, 'mail.send').waitFor()
    await shown.getByText('Live', { exact: true }).waitFor()
    await redis.kill()
    await shown.getByText('Not fresh', { exact: true }).waitFor()
    await rowOf(shown, 'mail.send').waitFor()
    await redis.restart()
    await shown.getByText('Live', { exact: true }).waitFor()
    await close()
    await server.close()
    await skep.close()
    await redis.stop()
  })
})

it('complains about nothing in the console, and never breaks its content policy', () => {
  expect(open.complaints).toEqual([])
})
