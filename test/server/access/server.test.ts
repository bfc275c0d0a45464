import { request as nodeRequest } from 'node:http'
import { networkInterfaces } from 'node:os'
import { createSkep, queue, type Skep, silentLogger } from 'skep'
import { memoryStore } from 'skep/memory'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type AccessOptions, accessTokens, createServer } from '../../../src/server.ts'

async function open(access: AccessOptions = {}): Promise<{ readonly skep: Skep; readonly url: string }> {
  const skep = createSkep({ store: memoryStore(), logger: silentLogger })
  const server = createServer(skep, { logger: silentLogger, ...access })
  onTestFinished(async () => {
    await server.close()
    await skep.close()
  })
  const { url } = await server.listen({ port: 0 })
  return { skep, url }
}

/** Fetch decides about `Host` itself; node lets us say it. */
function statusWithHost(url: string, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    nodeRequest(`${url}/api/v1/me`, { headers: { host } }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
      .on('error', reject)
      .end()
  })
}

describe('a server that listens', () => {
  it('refuses to be reached by others without anything that says who may use it', async () => {
    const skep = createSkep({ store: memoryStore(), logger: silentLogger })
    const server = createServer(skep, { logger: silentLogger })

    await expect(server.listen({ host: '0.0.0.0', port: 0 })).rejects.toMatchObject({
      code: 'SERVER_UNPROTECTED',
    })
    await accessTokens(skep).create({ name: 'ada', scopes: ['admin'] }, 'test')
    await expect(server.listen({ host: '0.0.0.0', port: 0 })).rejects.toThrow(/--tls-cert/)
    await server.close()
    await skep.close()
  })

  it('lets nobody in from elsewhere by plain http, however good the token, over HTTP and gRPC', async () => {
    const token = 'a-token-that-nobody-can-guess-at-all'
    const address = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .find(({ family, internal }) => family === 'IPv4' && !internal)?.address
    const skep = createSkep({ store: memoryStore(), logger: silentLogger })
    const tokens = [{ name: 'ada', scopes: ['admin'], token }] as const
    const server = createServer(skep, { logger: silentLogger, tokens, proxies: 1 })
    onTestFinished(async () => {
      await server.close()
      await skep.close()
    })
    const { port } = await server.listen({ host: '0.0.0.0', port: 0 })
    const ask = async (host: string, path: string, more = {}): Promise<number> => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...more }
      const how = path === '/healthz' ? {} : { method: 'POST', body: '{}' }
      return (await fetch(`http://${host}:${port}${path}`, { ...how, headers })).status
    }
    const proxied = { 'x-forwarded-for': '1.2.3.4', 'x-forwarded-proto': 'https' }

    for (const path of ['/api/v1/call/me.get', '/skep.v1.Operations/MeGet']) {
      expect([path, await ask('127.0.0.1', path)]).toEqual([path, 200])
      expect([path, await ask('127.0.0.1', path, proxied)]).toEqual([path, 200])
      const plain = { ...proxied, 'x-forwarded-proto': 'http' }
      expect([path, await ask('127.0.0.1', path, plain)]).toEqual([path, 403])
      // A machine may have no other address than loopback.
      if (address) expect([path, await ask(address, path)]).toEqual([path, 403])
    }
    expect(await ask(address ?? '127.0.0.1', '/healthz')).toBe(200)
  })

  it('does not answer to a name that a page has made up', async () => {
    const { url } = await open()

    expect(await statusWithHost(url, new URL(url).host)).toBe(200)
    expect(await statusWithHost(url, 'rebound.example')).toBe(403)
    expect(await statusWithHost(url, 'rebound.example:80')).toBe(403)
  })

  it('lets people log in, and out again', async () => {
    const token = 'a-token-that-nobody-can-guess-at-all'
    const { url } = await open({ tokens: [{ name: 'ada', scopes: ['read'], token }] })
    const post = (path: string, body: object, cookie = ''): Promise<Response> =>
      fetch(`${url}/api/v1/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', cookie },
        body: JSON.stringify(body),
      })

    const login = await post('login', { token })
    const cookie = login.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const me = await (await fetch(`${url}/api/v1/me`, { headers: { cookie } })).json()
    await post('logout', {}, cookie)

    expect(login.headers.getSetCookie()[0]).toMatch(/HttpOnly; SameSite=Strict$/)
    expect(me).toMatchObject({ name: 'ada', scopes: ['read'] })
    expect((await fetch(`${url}/api/v1/me`, { headers: { cookie } })).status).toBe(401)
  })

  it('hides secrets in what it shows, and nothing else', async () => {
    const { skep, url } = await open()
    const job = await skep.enqueue(
      queue<object>('mail'),
      { to: 'ada', smtp: { user: 'x', password: 'geheim-1' }, note: 'redis://:geheim-2@host' },
      { headers: { 'x-api-key': 'geheim-3' } },
    )

    const text = await (await fetch(`${url}/api/v1/jobs/${job.id}`)).text()

    expect(text).not.toContain('geheim')
    expect(JSON.parse(text).job).toMatchObject({
      payload: { to: 'ada', smtp: { user: 'x', password: '***' } },
      headers: { 'x-api-key': '***' },
    })
  })

  it('writes down what was done, refused and failed, and by whom', async () => {
    const operator = 'a-token-of-somebody-who-operates'
    const { url } = await open({
      open: true,
      tokens: [{ name: 'ada', scopes: ['operate'], token: operator }],
    })
    const call = (name: string, body: object, token?: string): Promise<Response> =>
      fetch(`${url}/api/v1/call/${name}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify(body),
      })

    await call('holds.pause', { queue: 'mail' }, operator)
    await call('holds.block', { queue: 'mail' }, operator)
    await call('schedules.run', { id: 'nothing' }, operator)
    const { entries } = (await (await call('audit.list', {})).json()) as {
      entries: Record<string, unknown>[]
    }

    expect(entries.map(({ who, what, outcome }) => [who, what, outcome])).toEqual([
      ['ada', 'schedules.run', 'failed'],
      ['ada', 'holds.block', 'refused'],
      ['ada', 'holds.pause', 'ok'],
    ])
    expect(entries[2]).toMatchObject({
      address: expect.stringMatching(/127\.0\.0\.1/),
      target: expect.stringContaining('mail'),
    })
  })

  it('refuses more than a space may enqueue', async () => {
    const { url } = await open({ quotas: { '*': { enqueuePerSecond: 1 } } })
    const enqueue = (): Promise<Response> =>
      fetch(`${url}/api/v1/jobs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"queue":"mail","payload":1}',
      })

    const answers = [await enqueue(), await enqueue(), await enqueue()]

    expect(answers.at(-1)?.status).toBe(429)
    expect(Number(answers.at(-1)?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  })
})
