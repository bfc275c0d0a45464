/**
 * Every method of both services × every role, with and without a credential, in its own and in another space. What is expected of
 * an operation follows from the scope that it declares, as in the matrix for HTTP.
 */
import { fromJson, type JsonObject } from '@bufbuild/protobuf'
import { type Struct, StructSchema } from '@bufbuild/protobuf/wkt'
import { type CallOptions, Code, ConnectError, createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { createSkep, queue, type Skep as SkepClient, silentLogger, type Worker } from 'skep'
import { memoryStore } from 'skep/memory'
import { createServer, type SkepServer } from 'skep/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expandScopes } from '../../src/operations/authorize/authorize.ts'
import { SCOPES, type Scope } from '../../src/operations/schema/wire-types.ts'
import { LISTED } from '../../src/operations/table.ts'
import { Operations } from '../../src/server/grpc/gen/skep/v1/operations_pb.ts'
import { Skep } from '../../src/server/grpc/gen/skep/v1/skep_pb.ts'
import { methodName } from '../../src/server/grpc/operations-proto.ts'
import { type Samples, samplesFor } from '../server/access/samples.ts'
import { makeThings, nothings } from '../server/access/things.ts'

const UNKNOWN = '01890000-0000-7000-8000-000000000000'
const TOKENS = Object.fromEntries(SCOPES.map((scope) => [scope, `token-of-${scope}-which-nobody-guesses`]))
/** In everything that these callers must never be shown. */
const HIDDEN = 'hidden-9f2c'
const FOREIGN = 'foreign-7b1d'
const EVERYWHERE = 'token-for-every-space-which-nobody-guesses'

interface Method {
  readonly name: string
  readonly scope: Scope
  /** It is about all queues, or about one that the callers do not see. */
  readonly isTooWide: boolean
  call(options: CallOptions, samples?: Samples): Promise<unknown>
}

let skep: SkepClient
let other: SkepClient
let server: SkepServer
let own: Samples
let hidden: Samples
let foreign: Samples
const none = samplesFor(nothings('mail.none', 'f'))
const workers: Worker[] = []
let methods: readonly Method[]
let serving: ReturnType<typeof servingClient>

const transportTo = (baseUrl: string) => createGrpcTransport({ baseUrl })
const servingClient = (baseUrl: string) => createClient(Skep, transportTo(baseUrl))

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
      })),
      { name: 'everywhere', token: EVERYWHERE, scopes: SCOPES, space: '*' },
    ],
  })
  const { url } = await server.listen({ port: 0 })
  serving = servingClient(url)
  const made = await Promise.all([
    makeThings(skep, server, { name: 'mail', marker: 'mine', by: 'operate' }),
    makeThings(skep, server, { name: `report-${HIDDEN}`, marker: `payload-${HIDDEN}`, by: 'somebody' }),
    makeThings(other, server, { name: `mail-${FOREIGN}`, marker: `payload-${FOREIGN}`, by: 'operate' }),
  ])
  workers.push(...made.map(({ worker }) => worker))
  ;[own, hidden, foreign] = made.map(({ things }) => samplesFor(things)) as [Samples, Samples, Samples]
  methods = [...operations(url), ...servings()]
}, 60_000)

afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop()))
  await server.close()
  await other.close()
  await skep.close()
})

function operations(url: string): readonly Method[] {
  const client = createClient(Operations, transportTo(url)) as unknown as Record<
    string,
    (input: Struct, options: CallOptions) => Promise<unknown>
  >
  return LISTED.map(({ name, scope, queuesOf }) => {
    const method = methodName(name)
    const small = method.charAt(0).toLowerCase() + method.slice(1)
    return {
      name: `Operations.${method}`,
      scope,
      isTooWide: queuesOf(own[name]).includes('*'),
      call: async (options, samples = own) =>
        client[small]?.(fromJson(StructSchema, samples[name] as JsonObject), options),
    }
  })
}

function servings(): readonly Method[] {
  const held = { id: UNKNOWN, token: UNKNOWN }
  const open = { queues: ['mail'], credits: 1 }
  const work = (name: string, call: Method['call']): Method => ({
    name: `Skep.${name}`,
    scope: 'work',
    isTooWide: false,
    call,
  })
  return [
    {
      ...work('Enqueue', (options) => serving.enqueue({ jobs: [{ queue: 'mail', payload: '1' }] }, options)),
      scope: 'enqueue',
    },
    work('Receive', (options) => firstOf(options, (more) => serving.receive(says({ open }), more))),
    work('Subscribe', (options) => firstOf(options, (more) => serving.subscribe(open, more))),
    work('Ack', (options) => serving.ack({ receiver: UNKNOWN, acks: [] }, options)),
    work('Poll', (options) => serving.poll({ queues: ['mail.none'], max: 1 }, options)),
    work('Settle', (options) => serving.settle({ acks: [held] }, options)),
    work('Extend', (options) => serving.extend({ jobs: [held] }, options)),
  ]
}

/** The first message of a stream, which is then ended. */
async function firstOf(
  options: CallOptions,
  open: (options: CallOptions) => AsyncIterable<unknown>,
): Promise<unknown> {
  const left = new AbortController()
  try {
    for await (const message of open({ ...options, signal: left.signal })) return message
    return undefined
  } finally {
    left.abort()
  }
}

async function* says<Message>(message: Message): AsyncIterable<Message> {
  yield message
}

const bearing = (token: string | undefined, space?: string): CallOptions => ({
  headers: {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(space === undefined ? {} : { 'skep-space': space }),
  },
  timeoutMs: 60_000,
})

/** How each method answers: `ok`, or the name of its code. */
async function answersTo(options: CallOptions): Promise<Readonly<Record<string, string>>> {
  const answers: Record<string, string> = {}
  for (const { name, call } of methods) answers[name] = await answerOf(() => call(options))
  return answers
}

async function answerOf(call: () => Promise<unknown>): Promise<string> {
  try {
    await call()
    return 'ok'
  } catch (error) {
    return Code[ConnectError.from(error).code] as string
  }
}

/** The whole of an answer, but for the ids that were asked for, and times. */
async function wordsOf(call: () => Promise<unknown>, input: unknown): Promise<string> {
  const words = await call().then(
    (message) => JSON.stringify(message, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    (error: unknown) => `${Code[ConnectError.from(error).code]}: ${ConnectError.from(error).rawMessage}`,
  )
  const asked = JSON.stringify(input).match(/"[^"]{6,}"/g) ?? []
  return asked
    .reduce((left, part) => left.replaceAll(part.slice(1, -1), '…'), words)
    .replace(
      /"(createdAt|at|now|startedAt|beginsAt|id)":\{[^}]*\}|"(createdAt|at|now|startedAt|id)":"[^"]*"/g,
      '"…":"…"',
    )
}

const ofAll = (answer: string): Readonly<Record<string, string>> =>
  Object.fromEntries(methods.map(({ name }) => [name, answer]))

describe('gRPC', () => {
  it('has every method of both services in this matrix', () => {
    const described = [...Operations.methods, ...Skep.methods].map(
      ({ parent, name }) => `${parent.name}.${name}`,
    )

    expect(methods.map(({ name }) => name).toSorted()).toEqual(described.toSorted())
  })

  it('is for nobody without a credential', async () => {
    expect(await answersTo(bearing(undefined))).toEqual(ofAll('Unauthenticated'))
  })

  it('is for nobody with a credential that does not exist, and not for guessing', async () => {
    const answers = Object.values(await answersTo(bearing('skep_nobody_has_this_token')))

    expect(new Set(answers)).toEqual(new Set(['Unauthenticated', 'ResourceExhausted']))
  })

  it.each(SCOPES)('is for "%s" as each method says', async (role) => {
    const scopes = expandScopes([role])

    const answers = await answersTo(bearing(TOKENS[role]))

    const refused = methods.filter(({ name }) => answers[name] === 'PermissionDenied').map(({ name }) => name)
    const expected = methods.filter(({ scope, isTooWide }) => isTooWide || !scopes.has(scope))
    expect(refused).toEqual(expected.map(({ name }) => name))
    for (const answer of Object.values(answers)) {
      expect(['ok', 'PermissionDenied', 'NotFound', 'FailedPrecondition', 'InvalidArgument']).toContain(
        answer,
      )
    }
  })

  it.each(SCOPES)('is not for "%s" of another space', async (role) => {
    expect(await answersTo(bearing(TOKENS[role], 'other'))).toEqual(ofAll('PermissionDenied'))
  })

  it('is for who has every space in the space that it names', async () => {
    const here = (await skep.jobs.list({ queue: 'mail' })).jobs.length

    const answers = await answersTo(bearing(EVERYWHERE, 'other'))

    expect(Object.values(answers)).not.toContain('PermissionDenied')
    expect(Object.values(answers)).not.toContain('Internal')
    // It enqueued there, and not here.
    expect((await other.jobs.list({ queue: 'mail' })).jobs.length).toBeGreaterThan(0)
    expect((await skep.jobs.list({ queue: 'mail' })).jobs).toHaveLength(here)
  })

  it.each([
    ['queues that the caller does not see', HIDDEN, () => hidden],
    ['other spaces', FOREIGN, () => foreign],
  ] as const)('hides what is in %s', async (_, marker, samplesOf) => {
    const samples = samplesOf()
    const wrong: string[] = []
    let compared = 0
    for (const { name, scope, queuesOf } of LISTED) {
      // What an input does not name it cannot reach; a queue that it names is refused before anything is looked for.
      if (JSON.stringify(own[name]) === JSON.stringify(samples[name]) || queuesOf(samples[name]).length > 0)
        continue
      const { call } = methods.find((one) => one.name === `Operations.${methodName(name)}`) as Method
      const options = bearing(TOKENS[scope])
      const answer = await wordsOf(() => call(options, samples), samples[name])
      const nothing = await wordsOf(() => call(options, none), none[name])
      compared++
      if (answer !== nothing) wrong.push(`${name}: ${answer} instead of ${nothing}`)
      if (answer.includes(`payload-${marker}`)) wrong.push(`${name} shows a payload: ${answer}`)
    }

    expect(wrong).toEqual([])
    expect(compared).toBeGreaterThan(20)
  })

  it('gives no jobs of queues that the pattern of a credential leaves out', async () => {
    const options = bearing(TOKENS['work'])
    await skep.enqueue(queue('report'), 'secret')
    await skep.enqueue(queue('mail.seen'), 'shown')

    const named = await answerOf(() => serving.poll({ queues: ['report'], max: 10 }, options))
    const given: string[] = []
    // A poll answers with the first jobs that it finds; others wait as well.
    while (!given.includes('mail.seen')) {
      const { jobs } = await serving.poll({ queues: ['*'], max: 10, waitMs: 20_000n }, options)
      given.push(...jobs.map((job) => job.queue))
      // What is held would keep the server from closing.
      const ended = jobs.map(({ id, token }) => ({
        id,
        token,
        outcome: { case: 'done' as const, value: '1' },
      }))
      await serving.settle({ acks: ended }, options)
      if (jobs.length === 0) break
    }

    expect(named).toBe('PermissionDenied')
    expect(given).not.toContain('report')
    expect(given).toContain('mail.seen')
  })

  it('shows no secrets in the words of an error', async () => {
    const secret = 'postgres://skep:hunter2@db.example/jobs'
    const call = serving.poll({ queues: [secret], max: 1 }, bearing(TOKENS['work']))

    await expect(call).rejects.toThrow(ConnectError)
    await expect(call).rejects.not.toThrow('hunter2')
  })
})
