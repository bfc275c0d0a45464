/**
 * Payloads must not be guessed by those who may not see them. Every operation that matches texts × every scope × with and without
 * `payloads`; which operations these are is read from their schemas, so a new one is in the matrix by itself.
 */
import { createSkep, queue, type Skep, silentLogger } from 'skep'
import { memoryStore } from 'skep/memory'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expandScopes } from '../../../src/operations/authorize/authorize.ts'
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
  'queues.lanes prefix',
  'queues.purge confirm',
  'queues.drop confirm',
  'holds.pause timeout',
  'holds.block timeout',
  'jobs.enqueue unique',
  'views.put query',
  'schedules.list owner',
  'runs.list flow',
  'runs.list attribute',
  'runs.list root',
  'runs.retry from',
  'audit.list who',
  'audit.list what',
])

interface Field {
  readonly operation: ListedOperation
  readonly name: string
}

const texts: Field[] = LISTED.flatMap((operation) =>
  Object.entries(operation.input.fields ?? {})
    .filter(([, { json, matches }]) => matches === undefined && isFreeText(json))
    .map(([name]) => ({ operation, name })),
)
const matching: Field[] = LISTED.flatMap((operation) =>
  Object.entries(operation.input.fields ?? {})
    .filter(([, { matches }]) => matches !== undefined)
    .map(([name]) => ({ operation, name })),
)

function isFreeText(json: Readonly<Record<string, unknown>>): boolean {
  return json['type'] === 'string' && json['enum'] === undefined && json['format'] === undefined
}

it('every text of an input is known not to match payloads, or declares that it does', () => {
  const unknown = texts
    .filter(({ name }) => !PLAIN.has(name))
    .map(({ operation, name }) => `${operation.name} ${name}`)
    .filter((one) => !HARMLESS.has(one))

  expect(unknown).toEqual([])
  expect(matching.map(({ operation, name }) => `${operation.name} ${name}`)).toEqual([
    'queues.purge text',
    'jobs.list query',
    'jobs.count query',
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

const tokenOf = (scope: Scope, payloads: boolean): string =>
  `token-of-${scope}-${payloads ? 'with' : 'without'}-payloads-0123456789`

let skep: Skep
let server: SkepServer
let url: string

beforeAll(async () => {
  skep = createSkep({ store: memoryStore(), logger: silentLogger })
  server = createServer(skep, {
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
  })
  url = (await server.listen({ port: 0 })).url
  await skep.enqueue(queue('mail'), { word: SECRET })
})

afterAll(async () => {
  await server.close()
  await skep.close()
})

async function ask(operation: ListedOperation, input: object, token: string): Promise<string> {
  const response = await fetch(`${url}/api/v1/call/${operation.name}`, {
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
    const samples = samplesFor(nothings('mail'))[operation.name]
    const inputs = (guess: string): object => ({ ...samples, [name]: guess })

    describe.each(SCOPES)('with the scope %s', (scope) => {
      it.each(GUESSES)('tells nothing of payloads to who may not see them: %s', async (right, wrong) => {
        const answers = [
          await ask(operation, inputs(right), tokenOf(scope, false)),
          await ask(operation, inputs(wrong), tokenOf(scope, false)),
        ]

        expect(answers).toEqual(['403 FORBIDDEN', '403 FORBIDDEN'])
      })

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

  const answer = await ask(list, { query: 'state:ready queue:mail error:~x,y' }, tokenOf('read', false))

  expect(answer.slice(0, 3)).toBe('200')
})
