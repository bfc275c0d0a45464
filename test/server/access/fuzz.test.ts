/** Whatever comes in, a server answers it, with anything but 500, and lives on. */
import { request } from 'node:http'
import { connect } from 'node:net'
import fc from 'fast-check'
import { createSkep, type Skep, silentLogger } from 'skep'
import { memoryStore } from 'skep/memory'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LISTED } from '../../../src/operations/table.ts'
import { createServer, type SkepServer } from '../../../src/server.ts'

let skep: Skep
let server: SkepServer
let url: string
let port: number
const unexpected: unknown[] = []

beforeAll(async () => {
  skep = createSkep({ store: memoryStore(), logger: silentLogger })
  const logger = {
    ...silentLogger,
    error: (message: string, facts?: object) => unexpected.push({ message, facts }),
  }
  server = createServer(skep, {
    logger,
    rates: { views: null, failures: { perSecond: 1e6, burst: 1e6 } },
  })
  ;({ url, port } = await server.listen({ port: 0 }))
})

afterAll(async () => {
  await server.close()
  await skep.close()
})

async function expectAlive(): Promise<void> {
  expect((await fetch(`${url}/api/v1/me`)).status).toBe(200)
  expect(unexpected).toEqual([])
}

/** The status of an answer; null if the connection was closed instead. Not by fetch, which refuses what it holds for nonsense. */
function statusOf(
  path: string,
  method: string,
  headers: Readonly<Record<string, string>>,
): Promise<number | null> {
  return new Promise((resolve) => {
    const asked = request({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
      resolve(answer.statusCode ?? null)
      // It may be a stream without an end.
      asked.destroy()
    })
    asked.on('error', () => resolve(null))
    // A length was promised that does not come: what the server says to the head is all there is.
    asked.setTimeout(500, () => asked.destroy())
    asked.end()
  })
}

const names = LISTED.map(({ name }) => name)
const hostile = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(
    null,
    '',
    'mail',
    '*',
    -1,
    1e308,
    [],
    {},
    ['a'],
    '\u0000',
    '../..',
    '01890a5d-ac96-774b-bcce-b302099a8057',
    '5m',
    'x'.repeat(5_000),
  ),
)
const fields = [
  'id',
  'ids',
  'queue',
  'query',
  'limit',
  'cursor',
  'payload',
  'range',
  'lane',
  'limits',
  'reason',
  'for',
  'name',
  'scopes',
  'queues',
  'expires',
  'action',
  'cron',
  'every',
  'count',
  'order',
  'jobs',
  'states',
  'confirm',
  'after',
  'value',
  'flow',
  'status',
  'priority',
  'headers',
  'delay',
  'runAt',
]

describe('a server', () => {
  it('answers any input of any operation', async () => {
    const input = fc.dictionary(fc.constantFrom(...fields), hostile, { maxKeys: 6 })

    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), input, async (name, body) => {
        const response = await fetch(`${url}/api/v1/call/${name}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
        const text = await response.text()
        expect(response.status, `${name} ${JSON.stringify(body)} ${text}`).not.toBe(500)
        expect(text).not.toMatch(/\n\s+at /)
      }),
      { numRuns: 600 },
    )
    await expectAlive()
  }, 120_000)

  it('answers any body and any content type', async () => {
    const type = fc.constantFrom(
      'application/json',
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/grpc',
      '',
      'a/b;c',
    )

    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...names),
        fc.uint8Array({ maxLength: 300 }),
        type,
        async (name, body, contentType) => {
          const response = await fetch(`${url}/api/v1/call/${name}`, {
            method: 'POST',
            headers: { 'content-type': contentType },
            body: body.slice(),
          })
          await response.text()
          expect(response.status).toBeLessThan(500)
          // What a page of another site could send is never even read.
          if (body.length > 0 && /^(text|multipart|application.x-www)/.test(contentType))
            expect(response.status).toBe(415)
        },
      ),
      { numRuns: 200 },
    )
    await expectAlive()
  }, 120_000)

  it('answers any query of any operation that looks', async () => {
    const looking = LISTED.filter(({ method }) => method === 'GET')
    const text = fc.oneof(
      fc.string({ maxLength: 40 }),
      fc.constantFrom('9007199254740993', '{', '-1', 'a:b', '1e9'),
    )
    const query = fc.array(fc.tuple(fc.constantFrom(...fields), text), { maxLength: 6 })

    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...looking), text, query, async ({ path }, part, pairs) => {
        const at = path.replace(/:\w+/g, () => encodeURIComponent(part || 'x').replaceAll('.', '%2E'))
        const response = await fetch(`${url}/api/v1${at}?${new URLSearchParams(pairs).toString()}`)
        expect([path, response.status < 500]).toEqual([path, true])
        await response.text()
      }),
      { numRuns: 300 },
    )
    await expectAlive()
  }, 120_000)

  it('answers whatever receivers send', async () => {
    const held = fc.record({ id: hostile, token: hostile }, { requiredKeys: [] })
    const ack = fc.oneof(
      hostile,
      fc
        .tuple(
          held,
          fc.dictionary(fc.constantFrom('done', 'failed', 'snooze', 'bury', 'cancel', 'handBack'), hostile),
        )
        .map(([who, how]) => ({ ...who, ...how })),
    )
    const note = fc.record({ id: hostile, token: hostile, progress: hostile, lines: fc.array(hostile) })
    const body = fc.record(
      {
        acks: fc.oneof(fc.array(ack, { maxLength: 4 }), hostile),
        notes: fc.oneof(fc.array(note, { maxLength: 3 }), hostile),
        jobs: fc.oneof(fc.array(held, { maxLength: 3 }), hostile),
        queues: fc.oneof(fc.constant(['mail']), hostile),
        credits: hostile,
        keys: hostile,
        name: hostile,
        max: hostile,
        // Longer than this would only wait.
        waitMs: fc.oneof(fc.constantFrom(0, 1, -1, 0.5), fc.string()),
        leaseMs: hostile,
      },
      { requiredKeys: [] },
    )
    const paths = ['/receive', '/receivers/x/ack', '/poll', '/settle', '/extend']
    const accept = fc.constantFrom('text/event-stream', 'application/x-ndjson', '*/*', '')

    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), body, accept, async (path, sent, accepted) => {
        const stop = new AbortController()
        const response = await fetch(`${url}/api/v1${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: accepted, 'last-event-id': 'x' },
          body: JSON.stringify(sent),
          signal: stop.signal,
        })
        expect([path, response.status < 500]).toEqual([path, true])
        if (path === '/receive') stop.abort()
        await response.text().catch(() => {})
      }),
      { numRuns: 400 },
    )
    await expectAlive()
  }, 120_000)

  it('answers any path, query and headers', async () => {
    const part = fc.oneof(
      fc.constantFrom(
        'api',
        'v1',
        'jobs',
        'queues',
        'call',
        '..',
        '%2e%2e',
        '%00',
        '%zz',
        '',
        '__proto__',
        'constructor',
        'events',
        'receive',
        'assets',
      ),
      fc.webSegment(),
    )
    const headers = fc.dictionary(
      fc.constantFrom(
        'skep-space',
        'origin',
        'sec-fetch-site',
        'cookie',
        'authorization',
        'accept',
        'content-type',
        'x-forwarded-for',
        'x-forwarded-proto',
        'range',
        'if-none-match',
        'accept-encoding',
        'last-event-id',
        'content-length',
        'te',
      ),
      fc.stringMatching(/^[!-~ ]{0,60}$/),
    )

    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { maxLength: 6 }),
        fc.webQueryParameters(),
        fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'),
        headers,
        async (parts, query, method, sent) => {
          const status = await statusOf(`/${parts.join('/')}?${query}`, method, sent)
          expect(status).not.toBe(500)
        },
      ),
      { numRuns: 400 },
    )
    await expectAlive()
  }, 120_000)

  it('survives what is no HTTP, and what does not end', async () => {
    const line = fc.constantFrom(
      'GET / HTTP/1.1\r\n',
      'GET // HTTP/1.1\r\n',
      'GET http://evil.example/ HTTP/1.1\r\n',
      'TRACE / HTTP/1.1\r\n',
      'CONNECT a:1 HTTP/1.1\r\n',
      'OPTIONS * HTTP/1.1\r\n',
      'GET /%ff HTTP/1.1\r\n',
      'POST /api/v1/jobs HTTP/1.1\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    )
    const header = fc.constantFrom(
      'host: localhost\r\n',
      'host: 1.2.3.4.5\r\n',
      'host: a b\r\n',
      'host: localhost:99999\r\n',
      'host:\r\n',
      'content-length: 5\r\n',
      'content-length: -1\r\n',
      'transfer-encoding: chunked\r\n',
      'content-type: application/json\r\n',
      'expect: 100-continue\r\n',
      'upgrade: h2c\r\nconnection: upgrade\r\n',
      `x: ${'y'.repeat(9_000)}\r\n`,
    )
    const rest = fc.oneof(
      fc.constantFrom('\r\n', '\r\n{}', '\r\n5\r\nabc', ''),
      fc.string({ unit: 'binary', maxLength: 50 }),
    )

    await fc.assert(
      fc.asyncProperty(
        fc.oneof(line, fc.string({ maxLength: 30 })),
        fc.array(header, { maxLength: 4 }),
        rest,
        async (first, headers, last) => {
          const answer = await raw(first + headers.join('') + last)
          expect(answer).not.toMatch(/^HTTP\/1\.1 500/)
        },
      ),
      { numRuns: 200 },
    )
    await expectAlive()
  }, 120_000)
})

/** Sends bytes, ends, and gives what came back until the server closed. */
function raw(bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
      socket.end()
    })
    socket.on('error', () => resolve(answer))
    socket.on('close', () => resolve(answer))
    socket.end(Buffer.from(bytes, 'latin1'))
  })
}
