/**
 * What a refused request leaves on its connection: nothing. A proxy sends the requests of many users over few connections, and in a
 * mount they are those of the host program.
 */
import { describe, expect, it } from 'vitest'
import { MOUNTS, type Mounted } from './mounts.ts'
import { Wire } from './wire.ts'

const ADMIN = 'an-admin-token-that-is-long-enough-for-tests-0123456789'
const READER = 'a-reader-token-that-is-long-enough-for-tests-0123456789'
const OFTEN = 'an-often-used-token-that-is-long-enough-for-tests-0123456789'

const JSON_TYPE = { 'content-type': 'application/json' }
const admin = { authorization: `Bearer ${ADMIN}` }

const OPTIONS = {
  tokens: [
    { name: 'admin', token: ADMIN, scopes: ['admin', 'enqueue'] },
    { name: 'reader', token: READER, scopes: ['read'] },
    { name: 'often', token: OFTEN, scopes: ['read'] },
  ],
  rates: { views: { perSecond: 0.001, burst: 100_000 }, failures: { perSecond: 1_000, burst: 1_000_000 } },
  bodyBytes: 262_144,
} as const

interface Refusal {
  readonly status: number | readonly number[]
  readonly method?: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/** Statuses that come before the body is read: what follows is left on the connection. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  'no token': { status: 401, path: '/api/v1/jobs', headers: JSON_TYPE },
  'a wrong token': {
    status: 401,
    path: '/api/v1/jobs',
    headers: { ...JSON_TYPE, authorization: 'Bearer skep_0123456789abcdef_nothing' },
  },
  'a scope too few': {
    // The guard judges the input too, so a body that is no JSON is found first.
    status: [400, 403, 413],
    path: '/api/v1/jobs',
    headers: { ...JSON_TYPE, authorization: `Bearer ${READER}` },
  },
  'a space that is not its own': {
    status: 403,
    path: '/api/v1/jobs',
    headers: { ...JSON_TYPE, authorization: `Bearer ${READER}`, 'skep-space': 'other' },
  },
  'no such path': { status: 404, path: '/api/v1/cheese', headers: { ...JSON_TYPE, ...admin } },
  'no such page': { status: 404, path: '/cheese', headers: { ...JSON_TYPE, ...admin } },
  'the wrong method': {
    status: 405,
    method: 'PUT',
    path: '/api/v1/jobs',
    headers: { ...JSON_TYPE, ...admin },
  },
  'the wrong type': {
    // How large it is comes first.
    status: [413, 415],
    path: '/api/v1/jobs',
    headers: { 'content-type': 'text/plain', ...admin },
  },
  'an encoding': {
    status: [413, 415],
    path: '/api/v1/jobs',
    headers: { ...JSON_TYPE, 'content-encoding': 'gzip', ...admin },
  },
  'a login that is too long': { status: [401, 403, 413], path: '/api/v1/login', headers: JSON_TYPE },
  'a form that is too long': {
    status: [401, 403],
    path: '/',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  },
  'what is too large, or no JSON': {
    status: [400, 413],
    path: '/api/v1/jobs',
    headers: { ...JSON_TYPE, ...admin },
  },
}

interface Body {
  readonly bytes: number
  readonly isChunked?: boolean
  /** The second half is sent when the response is there. */
  readonly isSlow?: boolean
}

const BODIES: Readonly<Record<string, Body>> = {
  small: { bytes: 20 },
  'of 200 KB': { bytes: 200_000 },
  'of 300 KB': { bytes: 300_000 },
  'of 3 MB': { bytes: 3_000_000 },
  'of 20 bytes in chunks': { bytes: 20, isChunked: true },
  'of 200 KB in chunks': { bytes: 200_000, isChunked: true },
  'of 3 MB in chunks': { bytes: 3_000_000, isChunked: true },
}

async function send(wire: Wire, { mount }: Mounted, refusal: Refusal, body: Body): Promise<() => void> {
  const { bytes, isChunked = false, isSlow = false } = body
  const framing: Record<string, string> = isChunked
    ? { 'transfer-encoding': 'chunked' }
    : { 'content-length': String(bytes) }
  wire.head(refusal.method ?? 'POST', `${mount}${refusal.path}`, { ...refusal.headers, ...framing })
  const halves = [Math.ceil(bytes / 2), Math.floor(bytes / 2)]
  const half = (count: number): void => {
    const data = Buffer.alloc(count, 'x')
    wire.write(isChunked ? Buffer.concat([Buffer.from(`${count.toString(16)}\r\n`), data, CRLF]) : data)
  }
  const rest = (): void => {
    half(halves[1] as number)
    if (isChunked) wire.write('0\r\n\r\n')
  }
  half(halves[0] as number)
  if (!isSlow) rest()
  return isSlow ? rest : () => {}
}

const CRLF = Buffer.from('\r\n')

/** A refused request, and then what somebody else asks over the same connection, or over a new one if the server has closed it. */
async function refuseAndAsk(mounted: Mounted, refusal: Refusal, body: Body): Promise<string> {
  const wire = await Wire.open(mounted.url)
  const sendRest = await send(wire, mounted, refusal, body)
  const response = await wire.response()
  sendRest()
  const statuses = [refusal.status].flat()
  if (!statuses.includes(response.status)) return `${response.status}: ${response.body.slice(0, 200)}`
  if (response.body === '') return 'an empty body'
  if (response.isLast) {
    await wire.closed()
    return 'closed'
  }
  wire.head('GET', mounted.own)
  const next = await wire.response()
  wire.end()
  return next.status === 200 ? 'reused' : `then ${next.status}`
}

describe.each(Object.entries(MOUNTS))('%s', (_mount, start) => {
  it.each(Object.entries(REFUSALS))('leaves a usable connection after %s', async (_refusal, refusal) => {
    const mounted = await start(OPTIONS)

    const outcomes: Record<string, string> = {}
    for (const [name, body] of Object.entries(BODIES)) {
      outcomes[name] = await refuseAndAsk(mounted, refusal, body)
    }

    expect(outcomes).toEqual({
      small: 'reused',
      'of 200 KB': 'reused',
      'of 300 KB': 'reused',
      // More than anybody should have to read for a request that was refused.
      'of 3 MB': 'closed',
      'of 20 bytes in chunks': 'reused',
      // Not said to be short: what has not come in time may be closed.
      'of 200 KB in chunks': expect.stringMatching(/^(?:reused|closed)$/),
      'of 3 MB in chunks': 'closed',
    })
  })

  it('refuses before a slow body has come, and takes the rest of it', async () => {
    const mounted = await start(OPTIONS)
    const refusal = REFUSALS['no token'] as Refusal

    expect(await refuseAndAsk(mounted, refusal, { bytes: 200_000, isSlow: true })).toBe('reused')
    expect(await refuseAndAsk(mounted, refusal, { bytes: 200_000, isSlow: true, isChunked: true })).toBe(
      'closed',
    )
  })

  it('leaves a usable connection after too many requests', async () => {
    const mounted = await start({ ...OPTIONS, rates: { views: { perSecond: 0.001, burst: 1 } } })
    const once = { path: '/api/v1/jobs-count', headers: { authorization: `Bearer ${OFTEN}` } }
    const first = await Wire.open(mounted.url)
    first.head('GET', `${mounted.mount}${once.path}`, once.headers)
    expect((await first.response()).status).toBe(200)

    // A call by name, whose body is read before the guard is asked; and one whose body is not.
    const byName = {
      status: [400, 413, 429],
      path: '/api/v1/call/jobs.count',
      headers: { ...JSON_TYPE, ...once.headers },
    }
    first.head('GET', `${mounted.mount}${once.path}`, once.headers)
    expect((await first.response()).status).toBe(429)
    first.head('GET', mounted.own)
    expect((await first.response()).status).toBe(200)
    expect(await refuseAndAsk(mounted, byName, { bytes: 200_000 })).toBe('reused')
    expect(await refuseAndAsk(mounted, byName, { bytes: 300_000 })).toBe('reused')
  })
})

it('closes the connection on which the rest of a refused body never comes, in every mount', async () => {
  const closed = Object.values(MOUNTS).map(async (start) => {
    const mounted = await start(OPTIONS)
    const wire = await Wire.open(mounted.url)
    await send(wire, mounted, REFUSALS['no token'] as Refusal, { bytes: 200_000, isSlow: true })
    const { status } = await wire.response()
    await wire.closed()
    return status
  })

  expect(await Promise.all(closed)).toEqual(closed.map(() => 401))
})
