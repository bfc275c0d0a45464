/**
 * Payloads must not be guessed by those who may not see them. Every operation that matches texts × every scope × with and without
 * `payloads`; which operations these are is read from their schemas, so a new one is in the matrix by itself.
 */
import { createSkep, never, queue, type Skep, silentLogger } from 'skep'
import { memoryStore } from 'skep/memory'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expandScopes } from '../../../src/operations/authorize/authorize.ts'
import type { AnySchema } from '../../../src/operations/schema/schema.ts'
import { SCOPES, type Scope } from '../../../src/operations/schema/wire-types.ts'
import { LISTED, type ListedOperation } from '../../../src/operations/table.ts'
import { createServer, type SkepServer } from '../../../src/server.ts'
import { samplesFor } from '../access/samples.ts'
import { nothings } from '../access/things.ts'

/** Texts of inputs that are compared with names, ids or nothing at all, in every operation that has them. */
const PLAIN: ReadonlySet<string> = new Set(
  'id queue lane name cursor reason for delay expires space cron every timeZone grace jitter'.split(' '),
)
/**
 * The others. Before a field is put here: can its answer tell anything about a payload, a result or a line of a log? Then its schema
 * needs `matches`.
 */
const HARMLESS: ReadonlySet<string> = new Set([
  'queues.list queues[]',
  'queues.lanes prefix',
  'queues.purge confirm',
  'queues.drop confirm',
  'holds.pause timeout',
  'holds.block timeout',
  'jobs.enqueue unique',
  'jobs.enqueue headers.*',
  'jobs.enqueueMany jobs[].unique',
  'jobs.enqueueMany jobs[].headers.*',
  'jobs.change ids[]',
  'views.put query',
  'schedules.list owner',
  'runs.list flow',
  'runs.list attribute',
  'runs.list root',
  'runs.retry from',
  'tokens.create queues[]',
  'audit.list who',
  'audit.list what',
])

interface Field {
  readonly operation: ListedOperation
  readonly name: string
}

/** Where an input takes free texts, inside of lists and objects as well: `jobs[].queue`. */
const texts: Field[] = LISTED.flatMap((operation) =>
  Object.entries(operation.input.fields ?? {})
    .filter(([, { matches }]) => matches === undefined)
    .flatMap(([name, { json }]) => freeTexts(json, name))
    .map((name) => ({ operation, name })),
)
const matching: Field[] = LISTED.flatMap((operation) =>
  Object.entries(operation.input.fields ?? {})
    .filter(([, { matches }]) => matches !== undefined)
    .map(([name]) => ({ operation, name })),
)

type Json = Readonly<Record<string, unknown>>

function freeTexts(json: Json, path: string): string[] {
  const {
    items,
    properties = {},
    additionalProperties,
    anyOf = [],
    oneOf = [],
  } = json as {
    readonly items?: Json
    readonly properties?: Readonly<Record<string, Json>>
    readonly additionalProperties?: Json | boolean
    readonly anyOf?: readonly Json[]
    readonly oneOf?: readonly Json[]
  }
  const found = [
    ...(isFreeText(json) ? [path] : []),
    ...(items === undefined ? [] : freeTexts(items, `${path}[]`)),
    ...Object.entries(properties).flatMap(([key, inner]) => freeTexts(inner, `${path}.${key}`)),
    ...(typeof additionalProperties === 'object' ? freeTexts(additionalProperties, `${path}.*`) : []),
    ...[...anyOf, ...oneOf].flatMap((one) => freeTexts(one, path)),
  ]
  return [...new Set(found)]
}

function isFreeText(json: Json): boolean {
  return json['type'] === 'string' && json['enum'] === undefined && json['format'] === undefined
}

it('finds free texts in lists, objects and alternatives', () => {
  const text = { type: 'string' }
  const json = {
    type: 'object',
    properties: {
      some: { type: 'array', items: { anyOf: [text, { type: 'null' }] } },
      n: { type: 'number' },
    },
    additionalProperties: {
      type: 'object',
      properties: { deep: text, at: { ...text, format: 'date-time' } },
    },
  }

  expect(freeTexts(json, 'a')).toEqual(['a.some[]', 'a.*.deep'])
})
it('every text of an input is known not to match payloads, or declares that it does', () => {
  const unknown = texts
    .filter(({ name }) => !PLAIN.has(name.split(/[.[\]]+/).findLast((word) => word !== '') as string))
    .map(({ operation, name }) => `${operation.name} ${name}`)
    .filter((one) => !HARMLESS.has(one))

  expect(unknown).toEqual([])
  expect(matching.map(({ operation, name }) => `${operation.name} ${name}`)).toEqual([
    'queues.purge text',
    'jobs.list query',
    'jobs.list text',
    'jobs.count query',
    'jobs.change text',
    'bulk.start query',
  ])
})

const SECRET = 'geheim-4711'
/** What a guess looks like: the first letters of something stored, and others. */
const GUESSES: readonly (readonly [right: string, wrong: string])[] = [
  ['payload.word:geh*', 'payload.word:xyz*'],
  ['payload:~geheim', 'payload:~nothing'],
  ['-payload.word:geh*', '-payload.word:xyz*'],
  ['state:ready payload.word:geheim-4711', 'state:ready payload.word:other'],
  ['result.word:geh*', 'result.word:xyz*'],
  ['geheim', 'nothing'],
  ['"geheim-4711"', '"nothing"'],
]

/** What answers show redacted: headers, and the messages of errors. */
const REDACTED: readonly (readonly [right: string, wrong: string])[] = [
  ['error.message:password=geh*', 'error.message:password=xyz*'],
  ['error:~geh', 'error:~xyz'],
  ['error:password=geh*', 'error:password=xyz*'],
  ['-error.message:~geh', '-error.message:~xyz'],
  ['error.code:E1,E2 error.message:~geh', 'error.code:E1,E2 error.message:~xyz'],
  ['header.authorization:geh*', 'header.authorization:xyz*'],
  ['header.authorization:>g', 'header.authorization:>z'],
  ['-header.authorization:~geh', '-header.authorization:~xyz'],
]
/** What they show as it is stored. */
const SHOWN: readonly string[] = [
  'error.name:Error',
  'error.code:~ECONN',
  'error.kind:error',
  'error.group:0123456789abcdef',
  'unique:order-*',
  'lane:acme',
  'schedule:nightly',
  'version:1.*',
]

const tokenOf = (scope: Scope, payloads: boolean): string =>
  `token-of-${scope}-${payloads ? 'with' : 'without'}-payloads-0123456789`

let skep: Skep
const servers: SkepServer[] = []
let url: string
/** Of a server that hides nothing. */
let openUrl: string

beforeAll(async () => {
  skep = createSkep({ store: memoryStore(), logger: silentLogger })
  const common = {
    logger: silentLogger,
    rates: { views: null },
    tokens: SCOPES.flatMap((scope) =>
      [true, false].map((payloads) => ({
        name: `${scope}-${payloads}`,
        token: tokenOf(scope, payloads),
        scopes: [scope],
        payloads,
      })),
    ),
  }
  servers.push(createServer(skep, common), createServer(skep, { ...common, redact: false }))
  const [first, second] = await Promise.all(servers.map((one) => one.listen({ port: 0 })))
  url = (first as { url: string }).url
  openUrl = (second as { url: string }).url
  await skep.enqueue(queue('mail'), { word: SECRET })
  const failing = queue('failing', { onError: never() })
  const headers = { authorization: SECRET }
  const job = await skep.enqueue(failing, 1, { headers })
  const worker = skep.worker([
    failing.handle(() => {
      throw new Error(`password=${SECRET}`)
    }),
  ])
  await job.result().catch(() => {})
  await worker.stop()
})

afterAll(async () => {
  await Promise.all(servers.map((one) => one.close()))
  await skep.close()
})

async function ask(operation: ListedOperation, input: object, token: string, at = url): Promise<string> {
  const response = await fetch(`${at}/api/v1/call/${operation.name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(input),
  })
  const text = await response.text()
  return response.ok
    ? `200 ${text}`
    : `${response.status} ${(JSON.parse(text) as { error: { code: string } }).error.code}`
}

describe.each(matching.map((field) => [`${field.operation.name} ${field.name}`, field] as const))(
  '%s',
  (_name, { operation, name }) => {
    const field = operation.input.fields?.[name] as AnySchema
    const samples =
      operation.name === 'jobs.change'
        ? { action: 'promote', queue: 'mail' }
        : samplesFor(nothings('mail'))[operation.name]
    const inputs = (guess: string): object => ({ ...samples, [name]: guess })

    describe.each(SCOPES)('with the scope %s', (scope) => {
      it.each(GUESSES)('tells nothing of payloads to who may not see them: %s', async (right, wrong) => {
        const answers = [
          await ask(operation, inputs(right), tokenOf(scope, false)),
          await ask(operation, inputs(wrong), tokenOf(scope, false)),
        ]

        expect(answers).toEqual(['403 FORBIDDEN', '403 FORBIDDEN'])
      })

      if (field.matches === 'query') {
        it.each(REDACTED)('reveals nothing that is redacted: %s', async (right, wrong) => {
          const answers = [
            await ask(operation, inputs(right), tokenOf(scope, false)),
            await ask(operation, inputs(wrong), tokenOf(scope, false)),
          ]

          expect(answers).toEqual(['403 FORBIDDEN', '403 FORBIDDEN'])
        })

        it('may be asked for what is shown, and for everything where nothing is redacted', async () => {
          const isAllowed = expandScopes([scope]).has(operation.scope)
          const answers = [
            ...(await Promise.all(
              SHOWN.map((query) => ask(operation, inputs(query), tokenOf(scope, false))),
            )),
            ...(await Promise.all(
              REDACTED.map(([query]) => ask(operation, inputs(query), tokenOf(scope, false), openUrl)),
            )),
            ...(await Promise.all(
              REDACTED.map(([query]) => ask(operation, inputs(query), tokenOf(scope, true))),
            )),
          ]

          expect(new Set(answers.map((answer) => answer.slice(0, 3)))).toEqual(
            new Set([isAllowed ? '200' : '403']),
          )
        })
      }

      it('answers who may see them', async () => {
        const [right] = GUESSES[0] as (typeof GUESSES)[number]

        const answer = await ask(operation, inputs(right), tokenOf(scope, true))

        expect(answer.slice(0, 3)).toBe(expandScopes([scope]).has(operation.scope) ? '200' : '403')
      })
    })
  },
)

it('what is not about payloads may be asked without them', async () => {
  const list = LISTED.find(({ name }) => name === 'jobs.list') as ListedOperation

  const answer = await ask(list, { query: 'state:ready queue:mail error.code:~x,y' }, tokenOf('read', false))

  expect(answer.slice(0, 3)).toBe('200')
})

it('guesses of what is redacted are right and wrong to who may ask', async () => {
  const count = LISTED.find(({ name }) => name === 'jobs.count') as ListedOperation
  for (const [right, wrong] of REDACTED.filter(
    ([one]) => !one.startsWith('-') && !one.startsWith('error.code'),
  )) {
    const token = tokenOf('read', true)

    expect(await ask(count, { query: right }, token)).not.toBe(await ask(count, { query: wrong }, token))
  }
})
