/**
 * Every operation × every role × own and other space × queues that the caller sees and does not. What is expected follows from the
 * scope that an operation declares; an operation that is added is in the matrix by itself.
 */
import { createSkep, queue, type Skep, schedule, silentLogger } from 'skep'
import { memoryStore } from 'skep/memory'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expandScopes } from '../../../src/server/access/authorize.ts'
import { SCOPES, type Scope } from '../../../src/server/api.ts'
import { LISTED, type ListedOperation } from '../../../src/server/operations/table.ts'
import { createServer, type SkepServer } from '../../../src/server.ts'
import { type Samples, samplesFor, type Things } from './samples.ts'

const TOKENS = Object.fromEntries(SCOPES.map((scope) => [scope, `token-of-${scope}-which-nobody-guesses`]))
const EVERYWHERE = 'token-for-every-space-which-nobody-guesses'
/** In everything that these callers must never be shown. */
const HIDDEN = 'hidden-9f2c'
const FOREIGN = 'foreign-7b1d'

let skep: Skep
let other: Skep
let server: SkepServer
let url: string
let own: Samples
let hidden: Samples
let foreign: Samples
let none: Samples

async function things(of: Skep, name: string, marker: string): Promise<Things> {
  const line = queue<{ marker: string }>(name)
  const job = await of.enqueue(line, { marker }, { delay: '1h', headers: { note: marker } })
  const id = `every-${name}`
  await of.schedules.put(schedule(id, { queue: line, every: '1h', payload: { marker } }))
  const unknown = '01890000-0000-7000-8000-000000000000'
  return {
    queue: name,
    job: job.id,
    schedule: id,
    run: unknown,
    group: unknown,
    bulk: unknown,
    view: unknown,
    errorGroup: unknown,
    worker: unknown,
    receiver: unknown,
    token: '0000000000000000',
  }
}

beforeAll(async () => {
  const store = memoryStore()
  skep = createSkep({ store, logger: silentLogger })
  other = createSkep({ store, space: 'other', logger: silentLogger })
  own = samplesFor(await things(skep, 'mail', 'mine'))
  hidden = samplesFor(await things(skep, `report-${HIDDEN}`, `payload-${HIDDEN}`))
  foreign = samplesFor(await things(other, `mail-${FOREIGN}`, `payload-${FOREIGN}`))
  const unknown = '01890000-0000-7000-8000-00000000ffff'
  none = samplesFor({
    queue: 'mail.none',
    job: unknown,
    schedule: 'nothing',
    run: unknown,
    group: unknown,
    bulk: unknown,
    view: unknown,
    errorGroup: unknown,
    worker: unknown,
    receiver: unknown,
    token: 'ffffffffffffffff',
  })
  server = createServer(skep, {
    logger: silentLogger,
    rates: { views: null },
    tokens: [
      ...SCOPES.map((scope) => ({
        name: scope,
        token: TOKENS[scope] as string,
        scopes: [scope],
        queues: ['mail', 'mail.*'],
        payloads: true,
      })),
      { name: 'everywhere', token: EVERYWHERE, scopes: SCOPES, space: '*', payloads: true },
    ],
  })
  url = (await server.listen({ port: 0 })).url
})

afterAll(async () => {
  await server.close()
  await other.close()
  await skep.close()
})

async function call(
  operation: ListedOperation,
  samples: Samples,
  { token, space }: { readonly token?: string | undefined; readonly space?: string },
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(`${url}/api/v1/call/${operation.name}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(space === undefined ? {} : { 'skep-space': space }),
    },
    body: JSON.stringify(samples[operation.name]),
  })
  return { status: response.status, text: await response.text() }
}

/** Whether an input names something that belongs to somebody. */
function isAimed({ name }: ListedOperation): boolean {
  return JSON.stringify(own[name]) !== JSON.stringify(hidden[name])
}

const REFUSED = [401, 403]
/** These show the callers their own words, which name what they tried to reach. */
const TELLS_WHAT_WAS_TYPED: ReadonlySet<string> = new Set(['bulk.list', 'views.list', 'audit.list'])

describe.each(LISTED)('$name', (operation) => {
  it('is for nobody without a credential', async () => {
    const byName = await call(operation, own, {})
    const path = operation.path.replace(/:(\w+)/g, (_, field: string) => {
      return encodeURIComponent(String((own[operation.name] as Record<string, unknown>)[field]))
    })
    const { method } = operation
    const byPath = await fetch(`${url}/api/v1${path}`, {
      method,
      ...(method === 'GET' || method === 'DELETE'
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(own[operation.name]) }),
    })

    expect([byName.status, byPath.status]).toEqual([401, 401])
    expect(byName.text).toBe(await byPath.text())
  })

  it.each(SCOPES)('is for "%s" as it says', async (role) => {
    const { status, text } = await call(operation, own, { token: TOKENS[role] })

    // What is about all queues is for who sees all of them.
    const seesEnough = operation.queuesOf(own[operation.name]).every((name) => name !== '*')
    if (seesEnough && expandScopes([role]).has(operation.scope)) expect(REFUSED, text).not.toContain(status)
    else expect([status, JSON.parse(text)]).toMatchObject([403, { error: { code: 'FORBIDDEN' } }])
    expect(status, text).toBeLessThan(500)
    if (TELLS_WHAT_WAS_TYPED.has(operation.name)) return
    expect(text).not.toContain(HIDDEN)
    expect(text).not.toContain(FOREIGN)
  })

  it.each(SCOPES)('is not for "%s" of another space', async (role) => {
    const { status } = await call(operation, own, { token: TOKENS[role], space: 'other' })

    expect(status).toBe(403)
  })

  it('hides what is in queues that the caller does not see', async () => {
    if (!isAimed(operation)) return
    const token = TOKENS[operation.scope]

    const { status, text } = await call(operation, hidden, { token })

    if (operation.queuesOf(hidden[operation.name]).length > 0) expect(status, text).toBe(403)
    else await expectNothing(operation, hidden, { status, text })
    expect(text).not.toContain(`payload-${HIDDEN}`)
  })

  it('hides what is in other spaces', async () => {
    if (!isAimed(operation) || operation.queuesOf(foreign[operation.name]).length > 0) return

    const answer = await call(operation, foreign, { token: TOKENS[operation.scope] })

    await expectNothing(operation, foreign, answer)
    expect(answer.text).not.toContain(`payload-${FOREIGN}`)
  })

  it('is for who has every space in the space that it names', async () => {
    const { status, text } = await call(
      operation,
      { ...own, ...onlyLooking(foreign) },
      { token: EVERYWHERE, space: 'other' },
    )

    expect(REFUSED, text).not.toContain(status)
    expect(status, text).toBeLessThan(500)
    expect(text).not.toContain(HIDDEN)
  })
})

/** That the answer is the one for something that does not exist, but for the ids that were asked for. */
async function expectNothing(
  operation: ListedOperation,
  samples: Samples,
  answer: { readonly status: number; readonly text: string },
): Promise<void> {
  const nothing = await call(operation, none, { token: TOKENS[operation.scope as Scope] })
  expect([answer.status, shapeOf(answer.text, samples[operation.name])]).toEqual([
    nothing.status,
    shapeOf(nothing.text, none[operation.name]),
  ])
}

function shapeOf(text: string, input: unknown): string {
  const asked = JSON.stringify(input).match(/"[^"]+"/g) ?? []
  return asked
    .map((part) => part.slice(1, -1))
    .filter((part) => part.length > 5)
    .reduce((left, part) => left.replaceAll(part, '…'), text)
    .replace(/"(createdAt|at|now|startedAt|id)":"[^"]*"/g, '"$1":"…"')
}

/** What does not change the other space, so that the order of the tests does not matter. */
function onlyLooking(samples: Samples): Partial<Samples> {
  return Object.fromEntries(
    LISTED.filter(({ isChange }) => !isChange).map(({ name }) => [name, samples[name]]),
  ) as Partial<Samples>
}

describe('when all of them have been tried', () => {
  it('what the callers do not see is as it was', async () => {
    const [theirs] = (await skep.list({ queue: `report-${HIDDEN}` })).jobs
    const foreigners = (await other.list({ queue: `mail-${FOREIGN}` })).jobs

    expect((await skep.list({ queue: `report-${HIDDEN}` })).jobs).toHaveLength(1)
    expect(theirs).toMatchObject({ state: 'delayed', payload: { marker: `payload-${HIDDEN}` } })
    expect(foreigners.filter(({ state }) => state === 'delayed')).toHaveLength(1)
    expect(await skep.schedules.get(`every-report-${HIDDEN}`)).toMatchObject({
      queue: `report-${HIDDEN}`,
      paused: null,
    })
    expect((await skep.holds()).filter((hold) => hold.queue?.includes(HIDDEN))).toEqual([])
  })
})

describe('every other address', () => {
  it.each([
    '/',
    '/index.html',
    '/assets/app.js',
    '/favicon.ico',
    '/queues/mail',
    '/api/v1/events',
    '/api/v1/openapi.json',
    '/api/v1/nothing',
    '/api/v1/',
    '/api',
    '/metrics',
    '/events',
    '/openapi.json',
    '/skep.proto',
    '/../../package.json',
    '/%2e%2e/package.json',
    '//',
    '/receive',
    '/api/v1/receive',
    '/api/v1/poll',
    '/api/v1/ack',
  ])('is for nobody without a credential: %s', async (path) => {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
      const response = await fetch(`${url}${path}`, {
        method,
        ...(method === 'GET' ? {} : { headers: { 'content-type': 'application/json' }, body: '{}' }),
      })
      expect([path, method, response.status]).toEqual([path, method, 401])
      expect(response.headers.get('server')).toBeNull()
      expect(response.headers.get('x-powered-by')).toBeNull()
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(response.headers.get('access-control-allow-origin')).toBeNull()
    }
  })

  it('answers no preflight of another origin', async () => {
    const response = await fetch(`${url}/api/v1/jobs`, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    })

    expect(response.ok).toBe(false)
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })
})
