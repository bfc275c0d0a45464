import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { connect, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ERROR_CODES, queue, SkepError } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { apiErrorOf, statusOf } from '../../src/server/http/errors.ts'
import { createServer, DEFAULT_PORT, type OutputOf } from '../../src/server.ts'
import { startServer } from './support.ts'

const mail = queue<{ to: string }>('mail')

/** What a raw connection answers until it is closed. */
function raw(url: string, text: string): Promise<string> {
  const { port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(text))
    let answer = ''
    socket.on('data', (bytes) => {
      answer += bytes.toString()
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}

describe('a request', () => {
  it('is answered without waiting for the client to acknowledge the head of the answer', async () => {
    const { url } = await startServer()
    const noDelay = vi.spyOn(Socket.prototype, 'setNoDelay')
    onTestFinished(() => noDelay.mockRestore())

    await raw(url, 'GET /health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')

    // The client's socket is a plain one, so it was the server.
    expect(noDelay.mock.calls).toEqual([[true]])
  })

  it('enqueues, and is answered the same by path and by name', async () => {
    const { url, call, get } = await startServer()
    const id = '01890000-0000-7000-8000-000000000001'

    const first = await fetch(`${url}/api/v1/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ queue: 'mail', payload: { to: 'ada' }, id }),
    })
    await call('jobs.enqueue', { queue: 'mail', payload: { to: 'ada' }, id })
    const { jobs } = await call('jobs.list', { query: 'queue:mail' })
    const byPath = (await (
      await get('/api/v1/jobs?query=queue:mail&limit=5')
    ).json()) as OutputOf<'jobs.list'>

    expect(await first.json()).toEqual({ id, duplicate: false })
    expect(jobs.map((job) => job.id)).toEqual([id])
    expect(byPath.jobs).toEqual(jobs)
  })

  it.each([
    ['an unknown field', '/api/v1/jobs', { queue: 'mail', payload: 1, colour: 'red' }, 400, 'OPTION_INVALID'],
    ['a field of another type', '/api/v1/jobs', { queue: 7, payload: 1 }, 400, 'OPTION_INVALID'],
    ['no queue', '/api/v1/jobs', { payload: 1 }, 400, 'OPTION_INVALID'],
    [
      'a duration that is none',
      '/api/v1/jobs',
      { queue: 'mail', payload: 1, delay: 'soon' },
      400,
      'OPTION_INVALID',
    ],
    ['an unknown operation', '/api/v1/call/jobs.eat', {}, 404, 'NOT_FOUND'],
    ['an unknown path', '/api/v1/cheese', {}, 404, 'NOT_FOUND'],
    ['the wrong method', '/api/v1/queues', {}, 405, 'REQUEST_INVALID'],
    ['a list as a body', '/api/v1/jobs', [1], 400, 'REQUEST_INVALID'],
  ])('with %s is refused, and nothing is written', async (_name, path, body, status, code) => {
    const { url, skep } = await startServer()

    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })

    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { code } })
    expect(await skep.queues.list()).toEqual([])
  })

  it('names the path to what is wrong', async () => {
    const { call } = await startServer()
    await expect(
      call('jobs.enqueueMany', {
        jobs: [
          { queue: 'mail', payload: 1 },
          { queue: 'mail', payload: 1, priority: 1_000 },
        ],
      }),
    ).rejects.toThrow('input.jobs[1].priority')
  })

  it('that is too large is refused, whether it says its length or not', async () => {
    const { url } = await startServer({ bodyBytes: 1_000 })
    const body = JSON.stringify({ queue: 'mail', payload: 'x'.repeat(2_000) })
    const send = (what: string | ReadableStream): Promise<Response> =>
      fetch(`${url}/api/v1/jobs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: what,
        duplex: 'half',
      } as RequestInit)

    const said = await send(body)
    const streamed = await send(new Blob([body]).stream())

    expect([said.status, streamed.status]).toEqual([413, 413])
  })

  it('of another type than JSON is refused: no page of another site can send JSON unasked', async () => {
    const { url } = await startServer()
    const response = await fetch(`${url}/api/v1/jobs`, {
      method: 'POST',
      body: '{"queue":"mail","payload":1}',
    })
    expect(response.status).toBe(415)
  })

  it('that is packed is refused in words that say so', async () => {
    const { url } = await startServer()
    const response = await fetch(`${url}/api/v1/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync('{"queue":"mail","payload":1}'),
    })
    expect([response.status, await response.text()]).toEqual([
      415,
      expect.stringContaining('content-encoding'),
    ])
  })

  it('that is no HTTP is told so', async () => {
    const { url } = await startServer()
    expect(await raw(url, 'hello\r\n\r\n')).toMatch(/^HTTP\/1.1 400/)
  })

  it('whose headers never end is cut off', async () => {
    const { url } = await startServer({ headersTimeout: 300 })
    const [silent, slow] = await Promise.all([
      raw(url, ''),
      raw(url, 'GET / HTTP/1.1\r\nhost: localhost\r\n'),
    ])
    expect(silent).toBe('')
    expect(slow).toMatch(/^HTTP\/1.1 408/)
  })

  it('whose headers are too large is refused', async () => {
    const { url } = await startServer({ headerBytes: 2_048 })
    const answer = await raw(
      url,
      `GET / HTTP/1.1\r\nhost: localhost\r\nx-large: ${'x'.repeat(4_000)}\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1.1 431/)
  })
})

describe('one port', () => {
  it('speaks HTTP/2 without TLS as well, with the same answers', async () => {
    const { url } = await startServer()
    const session = connectHttp2(url)
    onTestFinished(() => session.close())

    const answer = await new Promise<string>((resolve, reject) => {
      const stream = session.request({ ':path': '/api/v1/me' })
      let text = ''
      stream.on('data', (bytes: Buffer) => {
        text += bytes.toString()
      })
      stream.on('end', () => resolve(text))
      stream.on('error', reject)
      session.on('error', reject)
      stream.end()
    })

    expect(JSON.parse(answer)).toMatchObject({ name: 'local' })
  })

  it('takes the next port if the first is taken, or says so', async () => {
    const { server: first, url } = await startServer()
    const taken = Number(new URL(url).port)
    const second = createServer({ store: memoryStore() })
    onTestFinished(() => second.close())

    await expect(second.listen({ port: taken })).rejects.toThrow(`Port ${taken} of 127.0.0.1 is taken`)
    const { port } = await second.listen({ port: taken, tries: 20 })

    expect(port).toBeGreaterThan(taken)
    expect(first.skep).toBeDefined()
    expect(DEFAULT_PORT).toBe(7537)
  })

  it('refuses to listen for other machines while nothing says who may come', async () => {
    const server = createServer({ store: memoryStore() })
    onTestFinished(() => server.close())
    await expect(server.listen({ host: '0.0.0.0', port: 0 })).rejects.toThrow(SkepError)
  })

  it('closes one connection too many at once', async () => {
    const { url } = await startServer({ connections: 1 })
    const first = connect(Number(new URL(url).port), '127.0.0.1')
    onTestFinished(() => void first.destroy())
    await new Promise((resolve) => first.on('connect', resolve))
    await expect(raw(url, 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')).resolves.toBe('')
  })
})

describe('health', () => {
  it('is told to anybody: it lives, and its store answers', async () => {
    const { get } = await startServer({ tokens: [{ name: 'a', token: 'a'.repeat(40), scopes: ['admin'] }] })
    const [alive, ready, me] = await Promise.all([get('/healthz'), get('/readyz'), get('/api/v1/me')])
    expect([alive.status, ready.status, me.status]).toEqual([200, 200, 401])
  })

  it('is not ready while the store does not answer', async () => {
    const store = memoryStore()
    const { get } = await startServer(
      {},
      { store: { ...store, getRecords: () => Promise.reject(new Error('away')) } },
    )
    expect((await get('/readyz')).status).toBe(503)
    expect((await get('/healthz')).status).toBe(200)
  })

  it('is counted for Prometheus', async () => {
    const { get, skep } = await startServer()
    await skep.enqueue(mail, { to: 'ada' })
    const response = await get('/metrics')
    expect(response.headers.get('content-type')).toContain('text/plain')
    expect(await response.text()).toContain('queue="mail"')
  })
})

describe('the dashboard', () => {
  const folder = (): string => {
    const path = mkdtempSync(join(tmpdir(), 'skep-dashboard-'))
    onTestFinished(() => rmSync(path, { recursive: true }))
    mkdirSync(join(path, 'assets'))
    const script = '<script src="./assets/app-1a2b.js"></script>'
    writeFileSync(join(path, 'index.html'), `<!doctype html><html><head>${script}</head></html>`)
    writeFileSync(join(path, 'assets/app-1a2b.js'), `console.log(1)\n${'/'.repeat(2_000)}`)
    return path
  }

  it('knows where it is mounted, also for deep links', async () => {
    const { get } = await startServer({ dashboard: folder() })
    for (const path of ['/', '/jobs/01890000-0000-7000-8000-000000000001', '/queues/mail.send']) {
      const response = await get(path, { accept: 'text/html' })
      expect([path, response.status, await response.text()]).toEqual([
        path,
        200,
        expect.stringMatching(/<meta name="skep-mount" content="\/" \/>[\s\S]*src="\/assets\/app-1a2b\.js"/),
      ])
      expect(response.headers.get('cache-control')).toBe('no-cache')
    }
  })

  it('lets browsers keep what has a hash in its name, compressed', async () => {
    const { get } = await startServer({ dashboard: folder() })
    const response = await get('/assets/app-1a2b.js')
    expect(response.headers.get('cache-control')).toContain('immutable')
    expect(response.headers.get('content-encoding')).toBe('gzip')
    expect(await response.text()).toContain('console.log(1)')
    const again = await get('/assets/app-1a2b.js', { 'if-none-match': response.headers.get('etag') ?? '' })
    expect(again.status).toBe(304)
  })

  it.each([
    '/assets/none.js',
    '/../package.json',
    '/..%2f..%2fetc/passwd',
    '/assets/..%2f..%2fpackage.json',
    '/%00.js',
  ])('has nothing at %s', async (path) => {
    const { url } = await startServer({ dashboard: folder() })
    const answer = await raw(url, `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1.1 (404|200)/)
    expect(answer).not.toContain('"version"')
    expect(answer).not.toContain('root:')
  })

  it('says so if it is not built', async () => {
    const { get } = await startServer({ dashboard: '/nowhere' })
    const response = await get('/')
    expect(response.status).toBe(503)
    const page = await response.text()
    expect(page).toContain('not built')
    expect(page).toContain("<code>serverExternalPackages: ['skep']</code>")
  })
})

it('has a status for every code, and tells nothing of errors that are not ours', () => {
  for (const code of ERROR_CODES) expect(statusOf(code)).toBeGreaterThanOrEqual(400)
  expect(apiErrorOf(new Error('password is hunter2'))).toMatchObject({ status: 500 })
  expect(JSON.stringify(apiErrorOf(new Error('password is hunter2')))).not.toContain('hunter2')
})

it('ends when it is closed, with what is being answered', async () => {
  const { url, server, get } = await startServer()
  const events = await get('/api/v1/events')
  const reading = events.text()

  await server.close()

  expect(await reading).toContain('event: tick')
  await expect(fetch(`${url}/healthz`)).rejects.toThrow()
})
