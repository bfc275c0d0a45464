/**
 * Every operation × every role × own and other space × queues that the caller sees and does not. What is expected follows from the
 * scope that an operation declares; an operation that is added is in the matrix by itself.
 */
import { createSkep, type Skep, silentLogger, type Worker } from 'skep'
import { memoryStore } from 'skep/memory'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expandScopes } from '../../../src/operations/authorize/authorize.ts'
import { SCOPES, type Scope } from '../../../src/operations/schema/wire-types.ts'
import { LISTED, type ListedOperation } from '../../../src/operations/table.ts'
import { accessTokens, createServer, type SkepServer } from '../../../src/server.ts'
import { type Samples, samplesFor, type Things } from './samples.ts'
import { makeThings, nothings } from './things.ts'

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
let hiddenThings: Things
let foreignThings: Things
const workers: Worker[] = []

beforeAll(async () => {
  const store = memoryStore()
  skep = createSkep({ store, logger: silentLogger })
  other = createSkep({ store, space: 'other', logger: silentLogger })
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
  none = samplesFor(nothings('mail.none', 'f'))
  const operate = { by: 'operate' }
  const made = await Promise.all([
    makeThings(skep, server, { name: 'mail', marker: 'mine', ...operate }),
    makeThings(skep, server, { name: `report-${HIDDEN}`, marker: `payload-${HIDDEN}`, by: 'somebody' }),
    makeThings(other, server, { name: `mail-${FOREIGN}`, marker: `payload-${FOREIGN}`, ...operate }),
  ])
  workers.push(...made.map(({ worker }) => worker))
  hiddenThings = made[1].things
  foreignThings = made[2].things
  own = samplesFor(made[0].things)
  hidden = samplesFor(hiddenThings)
  foreign = samplesFor(foreignThings)
}, 60_000)

afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop()))
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
    // What is hidden from others by its id is really there: whoever may see it does.
    if (!operation.isChange) expect(status, text).toBe(200)
    // Who has every space sees the tokens of all of them.
    if (operation.name !== 'tokens.list') expect(text).not.toContain(HIDDEN)
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
    .replace(/"(createdAt|at|now|startedAt|beginsAt|id)":"[^"]*"/g, '"$1":"…"')
}

/** What does not change the other space, so that the order of the tests does not matter. */
function onlyLooking(samples: Samples): Partial<Samples> {
  return Object.fromEntries(
    LISTED.filter(({ isChange }) => !isChange).map(({ name }) => [name, samples[name]]),
  ) as Partial<Samples>
}

describe('when all of them have been tried', () => {
  it.each([
    ['of other queues', () => ({ of: skep, things: hiddenThings, marker: HIDDEN })],
    ['of another space', () => ({ of: other, things: foreignThings, marker: FOREIGN })],
  ] as const)('what the callers do not see is as it was: %s', async (_, which) => {
    const { of, things, marker } = which()
    const { core } = server

    expect(await of.jobs.get(things.job)).toMatchObject({
      state: 'delayed',
      payload: { marker: `payload-${marker}` },
    })
    expect(await of.schedules.get(things.schedule)).toMatchObject({ queue: things.queue, paused: null })
    expect(await of.runs.get(things.run)).toMatchObject({ status: 'running' })
    expect(await of.groups.get(things.group)).toMatchObject({ done: 0, failed: 0, endedAt: null })
    expect(await of.bulk.get(things.bulk)).toMatchObject({ name: `payload-${marker}` })
    expect((await of.bulk.get(things.bulk))?.status).not.toBe('stopped')
    expect(await of.errors.get(things.errorGroup)).toMatchObject({ muted: null })
    expect((await of.workers.list()).find(({ id }) => id === things.worker)).toMatchObject({ command: null })
    expect((await core.hub.list(of.space)).map(({ id }) => id)).toContain(things.receiver)
    expect((await accessTokens(of).list()).map(({ id }) => id)).toContain(things.token)
    expect((await of.queues.holds()).filter((hold) => hold.queue?.includes(marker))).toEqual([])
    expect((await of.limits.list(things.queue)).filter(({ changed }) => changed)).toEqual([])
    expect((await of.jobs.list({ queue: things.queue })).jobs).toHaveLength(1)
  })

  // With a right to it every change works by that very id: what was answered with "there is none" was there.
  it('every change is possible to who may make it', async () => {
    const isLast = ({ name }: ListedOperation): boolean =>
      /remove|revoke|close|cancel|purge|drop|change$/.test(name)
    const changes = LISTED.filter((one) => one.isChange && isAimed(one))
    const answers: Record<string, number> = {}
    for (const operation of [...changes.filter((one) => !isLast(one)), ...changes.filter(isLast)]) {
      const { status } = await call(operation, foreign, { token: EVERYWHERE, space: 'other' })
      answers[operation.name] = status
    }

    expect(answers).toEqual(Object.fromEntries(changes.map(({ name }) => [name, 200])))
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
