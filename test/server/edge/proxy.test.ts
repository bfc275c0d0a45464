/** Behind nginx with a pool of connections: what one client is refused must not hold up another. */
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest'
import { type NginxOptions, startNginx } from '../../servers/nginx.ts'
import { startServer } from '../support.ts'
import { MOUNTS } from './mounts.ts'

const TOKEN = 'a-token-that-is-long-enough-for-tests-0123456789'
const OPTIONS = { tokens: [{ name: 'admin', token: TOKEN, scopes: ['admin', 'enqueue'] }] } as const
/** Less than `requestTimeout`, which is what a stuck connection waited for. */
const PATIENCE_MS = 25_000

async function proxied(context: TestContext, upstream: string, options: NginxOptions = {}): Promise<string> {
  const { nginx, reason } = await startNginx(upstream, options)
  if (nginx === undefined) return context.skip(reason)
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
  expect((await skep.count('queue:mail')).count).toBe(40)
})

it('holds up nothing of the program that it is mounted in', async (context) => {
  const { url: upstream, mount, own } = await (MOUNTS['Express'] as (typeof MOUNTS)[string])(OPTIONS)
  const url = await proxied(context, upstream)

  for (let round = 0; round < 5; round++) {
    expect(await ask(`${url}${mount}/api/v1/jobs`, post('x'.repeat(200_000)))).toBe(401)
    expect(await ask(`${url}${own}`)).toBe(200)
  }
})
