/** Behind nginx with a pool of connections: what one client is refused must not hold up another. */
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest'
import { reasonToSkip } from '../../servers/missing.ts'
import { type NginxOptions, startNginx } from '../../servers/nginx.ts'
import { startServer } from '../support.ts'
import { MOUNTS } from './mounts.ts'

const TOKEN = 'a-token-that-is-long-enough-for-tests-0123456789'
const OPTIONS = { tokens: [{ name: 'admin', token: TOKEN, scopes: ['admin', 'enqueue'] }] } as const
/** Less than `requestTimeout`, which is what a stuck connection waited for. */
const PATIENCE_MS = 25_000

async function proxied(context: TestContext, upstream: string, options: NginxOptions = {}): Promise<string> {
  const { nginx, reason } = await startNginx(upstream, options)
  if (nginx === undefined) return context.skip(reasonToSkip(reason))
  onTestFinished(() => nginx.stop())
  return nginx.url
}

async function ask(url: string, init: RequestInit = {}): Promise<number> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) })
  await response.arrayBuffer()
  return response.status
}

function post(
  body: string | ReadableStream<Uint8Array>,
  headers: Readonly<Record<string, string>> = {},
): RequestInit {
  return {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
  }
}

/** A body without a length, piece by piece. */
function streamed(bytes: number): ReadableStream<Uint8Array> {
  let left = bytes
  return new ReadableStream({
    pull(controller) {
      if (left <= 0) return controller.close()
      controller.enqueue(new Uint8Array(Math.min(left, 65_536)).fill(120))
      left -= 65_536
    },
  })
}

describe.each([
  ['that receives whole requests first', { buffering: true }],
  ['that passes requests on as they come', { buffering: false }],
])('behind a proxy %s', (_name, options) => {
  it.for([200_000, 300_000, 3_000_000])(
    'refused requests of %d bytes hold nobody up',
    async (bytes, context) => {
      const { url: upstream } = await startServer(OPTIONS)
      const url = await proxied(context, upstream, options)
      const admin = { authorization: `Bearer ${TOKEN}` }

      const statuses: number[] = []
      for (let round = 0; round < 5; round++) {
        const refused = [
          ask(`${url}/api/v1/jobs`, post('x'.repeat(bytes))),
          ask(`${url}/api/v1/jobs`, post('x'.repeat(bytes), { ...admin, 'content-type': 'text/plain' })),
          ask(`${url}/api/v1/cheese`, post(streamed(bytes), admin)),
        ]
        for (const status of await Promise.all(refused)) expect([401, 404, 413, 415]).toContain(status)
        statuses.push(await ask(`${url}/healthz`))
        statuses.push(await ask(`${url}/api/v1/queues`, { headers: admin }))
        statuses.push(await ask(`${url}/api/v1/jobs`, post('{"queue":"mail","payload":1}', admin)))
      }

      expect(statuses).toEqual(statuses.map(() => 200))
    },
  )
})

it('many strangers at once hold up neither each other nor those who may', async (context) => {
  const { url: upstream, skep } = await startServer(OPTIONS)
  const url = await proxied(context, upstream, { buffering: false, pool: 4 })
  const admin = { authorization: `Bearer ${TOKEN}` }

  const strangers = Array.from({ length: 40 }, () => ask(`${url}/api/v1/jobs`, post('x'.repeat(250_000))))
  const own = Array.from({ length: 40 }, () =>
    ask(`${url}/api/v1/jobs`, post('{"queue":"mail","payload":1}', admin)),
  )

  expect(new Set(await Promise.all(own))).toEqual(new Set([200]))
  expect(new Set(await Promise.all(strangers))).toEqual(new Set([401]))
  expect((await skep.jobs.count('queue:mail')).count).toBe(40)
})

const READER = 'a-token-that-may-only-look-0123456789-abcdef'
const HASTY = 'a-token-that-sends-too-much-0123456789-abcde'
const JSON_TYPE = { 'content-type': 'application/json' }
const of = (token: string): Record<string, string> => ({ ...JSON_TYPE, authorization: `Bearer ${token}` })

interface Refusal {
  readonly statuses: readonly number[]
  readonly path: string
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON of so many bytes, because the request is refused for something else. @default bytes that are no JSON */
  readonly isJson?: true
}

const REFUSALS: Readonly<Record<string, Refusal>> = {
  'no token': { statuses: [401], path: '/api/v1/jobs', headers: JSON_TYPE },
  'a login with what is no token': { statuses: [400, 401, 413], path: '/api/v1/login', headers: JSON_TYPE },
  // From its second request on it also sends too many.
  'a token that may not': { statuses: [403, 429], path: '/api/v1/jobs', headers: of(READER), isJson: true },
  'no such path': { statuses: [404], path: '/api/v1/cheese', headers: of(TOKEN) },
  'a method that is none of the path': {
    statuses: [405],
    path: '/api/v1/jobs',
    method: 'PUT',
    headers: of(TOKEN),
    isJson: true,
  },
  'a body that is no JSON': {
    statuses: [413, 415],
    path: '/api/v1/jobs',
    headers: { ...of(TOKEN), 'content-type': 'text/plain' },
  },
  // The first is taken.
  'too many requests': { statuses: [200, 429], path: '/api/v1/jobs', headers: of(HASTY), isJson: true },
}

const BYTES = 200_000

function refused({ method = 'POST', headers, isJson }: Refusal, isStreamed: boolean): RequestInit {
  if (isStreamed) return { ...post(streamed(BYTES), headers), method }
  const body = isJson ? JSON.stringify({ queue: 'mail', payload: 'x'.repeat(BYTES) }) : 'x'.repeat(BYTES)
  return { ...post(body, headers), method }
}

describe.each(Object.entries(MOUNTS))('mounted in %s, behind a proxy', (_name, open) => {
  it.for([
    ['that receives whole requests first', true],
    ['that passes requests on as they come', false],
  ] as const)(
    '%s, holds up nobody and nothing of its program after any refusal',
    async ([, buffering], context) => {
      const {
        url: upstream,
        mount,
        own,
      } = await open({
        tokens: [
          ...OPTIONS.tokens,
          { name: 'reader', token: READER, scopes: ['read'] },
          { name: 'hasty', token: HASTY, scopes: ['enqueue'] },
        ],
        rates: { programs: { perSecond: 0.01, burst: 1 } },
      })
      const url = await proxied(context, upstream, { buffering })
      const seen: Record<string, Set<number>> = {}
      const others: number[] = []

      for (const [what, refusal] of Object.entries(REFUSALS)) {
        const statuses = new Set<number>()
        seen[what] = statuses
        for (let round = 0; round < 3; round++) {
          // Without a length a body of JSON would be read to its end before it is refused.
          const isStreamed = round === 2 && !refusal.isJson
          statuses.add(await ask(`${url}${mount}${refusal.path}`, refused(refusal, isStreamed)))
          others.push(await ask(`${url}${own}`))
          others.push(await ask(`${url}${mount}/api/v1/queues`, { headers: of(TOKEN) }))
          others.push(await ask(`${url}${mount}/api/v1/call/jobs.count`, post('{"query":""}', of(TOKEN))))
        }
      }

      for (const [what, { statuses }] of Object.entries(REFUSALS)) {
        expect({
          what,
          others: [...(seen[what] ?? [])].filter((status) => !statuses.includes(status)),
        }).toEqual({
          what,
          others: [],
        })
      }
      expect(seen['a token that may not']).toContain(403)
      expect(seen['too many requests']).toContain(429)
      expect(others).toEqual(others.map(() => 200))
    },
  )
})
