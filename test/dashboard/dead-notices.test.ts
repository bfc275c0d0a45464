/** Dead notices of NATS: over the API, and on the screen of dead letters. */
import type { NatsConnection } from '@nats-io/transport-node'
import type { Browser } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createSkep, queue, type Skep, silentLogger } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { natsNotifier } from '../../src/nats.ts'
import { createServer, type DeadNoticeList } from '../../src/server.ts'
import { skep as command, project } from '../cli/cli.ts'
import { openConnection, openServer } from '../nats/world.ts'
import { openBrowser, visit } from './stage.ts'

const hello = queue<number>('hello')
const TOKENS = {
  all: 'a-token-for-all-queues-of-the-space',
  some: 'a-token-for-the-queue-mail-alone-ok',
}

interface World {
  readonly url: string
  /** Makes a notice dead. */
  readonly bury: () => Promise<void>
  readonly list: (who?: keyof typeof TOKENS, input?: object) => Promise<DeadNoticeList>
}

/** A server beside a worker, over NATS or over nothing. */
async function openWorld(isNats: boolean): Promise<World> {
  let connection: NatsConnection | undefined
  let skep: Skep
  if (isNats) {
    const nats = await openServer()
    connection = await openConnection(nats)
    const notifier = natsNotifier({ servers: [...nats.urls], prefix: 'dead-notices' })
    skep = createSkep({ store: memoryStore(), notifier, logger: silentLogger })
  } else {
    skep = createSkep({ store: memoryStore(), logger: silentLogger })
  }
  onTestFinished(() => skep.close())
  skep.worker([hello.handle(() => {})])
  const server = createServer(skep, {
    logger: silentLogger,
    tokens: [
      { name: 'all', token: TOKENS.all, scopes: ['read'] },
      { name: 'some', token: TOKENS.some, scopes: ['read'], queues: ['mail'] },
    ],
  })
  onTestFinished(() => server.close())
  const { url } = await server.listen({ port: 0 })
  const list: World['list'] = async (who = 'all', input = {}) => {
    const query = new URLSearchParams(
      Object.entries(input).map(([name, value]): [string, string] => [name, String(value)]),
    )
    const response = await fetch(`${url}/api/v1/dead-notices?${query.toString()}`, {
      headers: { authorization: `Bearer ${TOKENS[who]}` },
    })
    expect(response.status).toBe(200)
    return (await response.json()) as DeadNoticeList
  }
  return {
    url,
    list,
    async bury() {
      const before = (await list()).notices.length
      await expect
        .poll(
          async () => {
            // What is published before the stream is there is lost.
            connection?.publish('dead-notices.notices.default.hello', 'password=hunter2 is not a notice')
            return (await list()).notices.length
          },
          { timeout: 60_000, interval: 300 },
        )
        .toBeGreaterThan(before)
    },
  }
}

async function openedBrowser(): Promise<Browser> {
  const browser = await openBrowser()
  onTestFinished(() => browser.close())
  return browser
}

describe('Dead notices', () => {
  it('are listed by the server, page by page, without secrets and without queues of others', async () => {
    const { url, list, bury } = await openWorld(true)
    expect(await list()).toEqual({ hasNotices: true, notices: [], cursor: null })
    await bury()
    await bury()

    const { notices } = await list()
    expect(notices[0]).toMatchObject({ queue: 'hello', ids: [], deliveries: expect.any(Number) })
    expect(notices[0]?.reason).toMatch(/^Not a notice/)
    expect(notices[0]?.reason).not.toContain('hunter2')
    expect(Date.parse(notices[0]?.buriedAt ?? '')).toBeGreaterThan(0)
    expect((await list('some')).notices).toEqual([])

    // The command line asks the server for the same.
    const shown = await command(['dead', 'notices', '--url', url, '--limit', '1'], {
      cwd: project(),
      env: { SKEP_TOKEN: TOKENS.all },
    })
    expect(shown).toMatchObject({ code: 0 })
    expect(shown.stdout).toMatch(/hello {2}no job {2}delivered \d+ times: Not a notice/)
    expect(shown.stdout).not.toContain('hunter2')

    const first = await list('all', { limit: 1 })
    expect(first.notices).toHaveLength(1)
    const second = await list('all', { limit: 1, cursor: first.cursor })
    expect(second.notices).toHaveLength(1)
    expect(second.notices).not.toEqual(first.notices)
  }, 120_000)

  it('are shown among the dead letters, in light and dark, on a desk and on a phone', async () => {
    const { url, bury } = await openWorld(true)
    await bury()
    const browser = await openedBrowser()
    for (const scheme of ['light', 'dark'] as const) {
      for (const [width, height] of [
        [1_280, 860],
        [390, 844],
      ] as const) {
        const headers = { authorization: `Bearer ${TOKENS.all}` }
        const { page, complaints, close } = await visit(browser, `${url}/dead`, {
          scheme,
          width,
          height,
          headers,
        })
        const box = page.getByRole('group').filter({ hasText: /undelivered NATS notices?/ })
        await box.getByText(/^\d+ undelivered NATS notices?$/).click()
        await box.getByText('Not a notice').first().waitFor()
        await box.getByText('no job id').first().waitFor()
        const folder = process.env['SKEP_TEST_PICTURES']
        if (folder) await page.screenshot({ path: `${folder}/dead-notices-${scheme}-${width}.png` })
        const isWide = await page.evaluate(
          'document.documentElement.scrollWidth > document.documentElement.clientWidth',
        )
        expect({ scheme, width, isWide, complaints }).toEqual({
          scheme,
          width,
          isWide: false,
          complaints: [],
        })
        await box.getByRole('link', { name: 'hello' }).first().click()
        await page.waitForURL('**/queues/hello')
        await close()
      }
    }
  }, 120_000)

  it('are not there with another notifier', async () => {
    const { url, list } = await openWorld(false)
    expect(await list()).toEqual({ hasNotices: false, notices: [], cursor: null })
    const { code, stderr } = await command(['dead', 'notices', '--url', url], {
      cwd: project(),
      env: { SKEP_TOKEN: TOKENS.all },
    })
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('only natsNotifier() has'),
    })
    const browser = await openedBrowser()
    const headers = { authorization: `Bearer ${TOKENS.all}` }
    const { page, complaints, close } = await visit(browser, `${url}/dead`, { headers })
    await page.getByText('stays until you retry').waitFor()
    expect(await page.getByText('NATS notice').count()).toBe(0)
    expect(complaints).toEqual([])
    await close()
  }, 60_000)
})
