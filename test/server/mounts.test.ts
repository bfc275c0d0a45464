import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttp, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createSkep, queue, silentLogger } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { type SkepHandler, skepHandler, toFastify, toHono, toKoa, toNext, toNode } from '../../src/server.ts'

const TOKEN = 'a-token-that-is-long-enough-for-tests-0123456789'
const MOUNT = '/admin/jobs'

async function handler(): Promise<SkepHandler> {
  const folder = mkdtempSync(join(tmpdir(), 'skep-mount-'))
  writeFileSync(join(folder, 'index.html'), '<html><head></head></html>')
  const skep = createSkep({ store: memoryStore(), logger: silentLogger })
  await skep.enqueue(queue('mail'), { to: 'ada' })
  const made = skepHandler(skep, {
    dashboard: folder,
    logger: silentLogger,
    tokens: [{ name: 'test', token: TOKEN, scopes: ['admin', 'enqueue'], payloads: true }],
  })
  onTestFinished(async () => {
    await made.close()
    await skep.close()
    rmSync(folder, { recursive: true })
  })
  return made
}

async function listening(listener: RequestListener): Promise<string> {
  const server = createHttp(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve()).closeAllConnections()))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** What every mount must do, by whatever it can be asked. */
async function check(ask: (path: string, init?: RequestInit) => Promise<Response>): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}` }

  const queues = await ask(`${MOUNT}/api/v1/queues`, { headers })
  expect(await queues.json()).toMatchObject({ queues: [{ queue: 'mail' }] })

  const enqueued = await ask(`${MOUNT}/api/v1/jobs`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ queue: 'mail', payload: { to: 'bob' } }),
  })
  expect(await enqueued.json()).toMatchObject({ duplicate: false })

  for (const path of [MOUNT, `${MOUNT}/`, `${MOUNT}/queues/mail?tab=lanes`]) {
    const page = await ask(path, { headers: { ...headers, accept: 'text/html' } })
    expect([path, page.status, await page.text()]).toEqual([
      path,
      200,
      expect.stringContaining(`<meta name="skep-mount" content="${MOUNT}/" />`),
    ])
  }

  const nobody = await ask(`${MOUNT}/api/v1/queues`)
  expect(nobody.status).toBe(401)

  const leaving = new AbortController()
  const events = await ask(`${MOUNT}/api/v1/events`, { headers, signal: leaving.signal })
  const reader = (events.body as ReadableStream<Uint8Array>).getReader()
  const { value } = await reader.read()
  leaving.abort()
  await reader.cancel().catch(() => {})
  expect(new TextDecoder().decode(value)).toContain('retry:')
}

describe('the handler, mounted', () => {
  it('in Express, also behind its JSON parser', async () => {
    const made = await handler()
    const app = express()
    app.use(express.json())
    app.use(MOUNT, toNode(made))
    app.get('/own', (_request, response) => void response.send('mine'))
    const url = await listening(app as unknown as RequestListener)

    await check((path, init) => fetch(`${url}${path}`, init))
    expect(await (await fetch(`${url}/own`)).text()).toBe('mine')
  })

  it('in a router of Express', async () => {
    const made = await handler()
    const router = express.Router()
    router.use('/jobs', toNode(made))
    const app = express()
    app.use('/admin', router)
    const url = await listening(app as unknown as RequestListener)

    await check((path, init) => fetch(`${url}${path}`, init))
  })

  it('in Fastify, by its prefix', async () => {
    const made = await handler()
    // The client of this test may connect anew and say nothing, which is not idle to Node.
    const app = fastify({ forceCloseConnections: true })
    onTestFinished(async () => {
      await app.close()
    })
    await app.register(toFastify(made), { prefix: MOUNT })
    app.post('/own', async (request) => request.body)
    const url = await app.listen({ port: 0, host: '127.0.0.1' })

    await check((path, init) => fetch(`${url}${path}`, init))
    const own = await fetch(`${url}/own`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"a":1}',
    })
    expect(await own.json()).toEqual({ a: 1 })
  })

  it('in Koa', async () => {
    const made = await handler()
    const app = new Koa()
    app.use(toKoa(made, MOUNT))
    app.use((context) => {
      context.body = 'mine'
    })
    const answer = app.callback()
    const url = await listening((request, response) => void answer(request, response))

    await check((path, init) => fetch(`${url}${path}`, init))
    expect(await (await fetch(`${url}/own`)).text()).toBe('mine')
  })

  it('in Hono', async () => {
    const made = await handler()
    const app = new Hono()
    app.all(`${MOUNT}`, toHono(made))
    app.all(`${MOUNT}/*`, toHono(made))

    await check(async (path, init) => app.request(path, init))
  })

  it('in a Hono that is itself mounted', async () => {
    const made = await handler()
    const inner = new Hono()
    inner.all('/jobs', toHono(made))
    inner.all('/jobs/*', toHono(made))
    const app = new Hono()
    app.route('/admin', inner)

    await check(async (path, init) => app.request(path, init))
  })

  it('in Next, by what its catch-all caught', async () => {
    const routes = toNext(await handler())

    await check((path, init) => {
      const request = new Request(`http://localhost:3000${path}`, init)
      const rest = new URL(request.url).pathname.slice(MOUNT.length).split('/').filter(Boolean)
      // Next leaves an optional catch-all out where there is nothing to catch, and its params are a promise.
      const params = Promise.resolve(rest.length === 0 ? {} : { path: rest })
      return routes[request.method as 'GET'](request, { params })
    })
  })

  it('in node:http, at its root or below a path', async () => {
    const made = await handler()
    const url = await listening((request, response) => {
      const mounted = Object.assign(request, { baseUrl: MOUNT, originalUrl: request.url })
      toNode(made)(mounted, response)
    })

    await check((path, init) => fetch(`${url}${path}`, init))
  })
})
