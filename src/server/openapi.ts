/** The OpenAPI 3.1 document, made from the operations themselves. */
import { ROUTE_EXAMPLES } from '../operations/examples/routes.ts'
import { IDS } from '../operations/examples/samples.ts'
import { EXAMPLES } from '../operations/examples/table.ts'
import type { JsonSchema } from '../operations/schema/schema.ts'
import { LISTED, type ListedOperation } from '../operations/table.ts'
import type { RawRoute } from './http/route.ts'
import { packageVersion } from './package-folder.ts'

type Node = Readonly<Record<string, unknown>>

const ERROR: JsonSchema = {
  title: 'ApiError',
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: {
        code: { type: 'string', description: 'Of a closed list: see docs/errors.md.' },
        message: { type: 'string', description: 'For people: says what to do.' },
        facts: { type: 'object', additionalProperties: true },
      },
      required: ['code', 'message'],
    },
  },
  required: ['error'],
}

/** What is told with each of them, for example. */
const REFUSED: Readonly<Record<string, { readonly code: string; readonly message: string }>> = {
  '400': { code: 'OPTION_INVALID', message: 'input.limit must be an integer from 1 to 200.' },
  '401': { code: 'UNAUTHENTICATED', message: 'Say who you are: send "authorization: Bearer <token>".' },
  '403': { code: 'FORBIDDEN', message: '"shop" may not do this: it needs the scope "operate".' },
  '404': { code: 'NOT_FOUND', message: 'Not found in this space, or not accessible with this token.' },
  '409': { code: 'SCHEDULE_DECLARED', message: 'Schedule "nightly" is declared in code; change it there.' },
  '413': { code: 'REQUEST_TOO_LARGE', message: 'The body is larger than 262144 bytes.' },
  '429': { code: 'TOO_MANY_REQUESTS', message: 'Too many requests. Try again in 2 s.' },
  '503': { code: 'STORE_UNAVAILABLE', message: 'The database does not answer.' },
}

const REFUSALS: Readonly<Record<string, string>> = {
  '400': 'The input is not valid.',
  '401': 'Nobody knows who asks.',
  '403': 'The caller may not do this.',
  '404': 'There is no such thing, or it is not the caller\u2019s to see.',
  '409': 'It is not possible as things stand.',
  '413': 'The body is too large.',
  '429': 'Too often. Wait as long as retry-after says.',
  '503': 'The store does not answer, or the server closes. Try again.',
}

/** All that the server answers to, for programs. */
export function openApiOf(routes: readonly RawRoute[] = []): Node {
  const lifted = new Map<string, JsonSchema>()
  const paths: Record<string, Record<string, Node>> = {}
  const put = (path: string, method: string, node: Node): void => {
    paths[path] = { ...paths[path], [method.toLowerCase()]: node }
  }
  for (const operation of LISTED)
    put(templateOf(operation.path), operation.method, operationNode(operation, lifted))
  for (const route of routes) put(templateOf(route.path), route.method, routeNode(route, lifted))
  put('/events', 'GET', EVENTS)
  lift(ERROR, lifted)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Skep',
      version: packageVersion(),
      description:
        'The server of Skep, a durable job queue. Beside its own path, every operation is reachable as `POST /call/{operationId}` ' +
        'with its input as the body.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '.', description: 'Where this document was read from.' }],
    security: [{ token: [] }, { session: [] }, {}],
    tags: tagsOf(),
    paths,
    components: {
      schemas: Object.fromEntries(lifted),
      responses: refusalNodes(),
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'An access token: `skep tokens create`.' },
        session: { type: 'apiKey', in: 'cookie', name: 'skep', description: 'A login in the browser.' },
      },
      parameters: {
        space: {
          name: 'skep-space',
          in: 'header',
          required: false,
          description: 'Another space than the credential\u2019s own, if it may.',
          schema: { type: 'string' },
        },
      },
    },
  }
}

function operationNode(operation: ListedOperation, lifted: Map<string, JsonSchema>): Node {
  const { name, method, path, summary, scope, input, output } = operation
  const inPath = new Set([...path.matchAll(/:(\w+)/g)].map(([, word]) => word as string))
  const fields = Object.entries(input.fields ?? {})
  const example = EXAMPLES[name]
  const said = example.input as Readonly<Record<string, unknown>>
  const hasBody = method === 'POST' || method === 'PUT'
  const parameters = fields
    .filter(([key]) => inPath.has(key) || !hasBody)
    .map(([key, field]) => ({
      name: key,
      in: inPath.has(key) ? 'path' : 'query',
      required: inPath.has(key) || !field.isOptional,
      schema: lift(field.json, lifted),
      ...(Object.hasOwn(said, key) ? { example: said[key] } : {}),
    }))
  const inBody = fields.filter(([key]) => hasBody && !inPath.has(key))
  const required = inBody.filter(([, field]) => !field.isOptional).map(([key]) => key)
  const body = {
    type: 'object',
    properties: Object.fromEntries(inBody.map(([key, field]) => [key, lift(field.json, lifted)])),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  }
  return {
    operationId: name,
    tags: [name.split('.')[0]],
    summary,
    description: `Needs the scope \`${scope}\`.`,
    parameters: [...parameters, { $ref: '#/components/parameters/space' }],
    ...(hasBody
      ? {
          requestBody: {
            required: required.length > 0,
            content: { 'application/json': { schema: body, example: without(said, inPath) } },
          },
        }
      : {}),
    responses: {
      '200': {
        description: 'Done.',
        content: { 'application/json': { schema: lift(output.json, lifted), example: example.output } },
      },
      ...refusals(),
    },
  }
}

/** What of an input goes into the body. */
function without(input: Readonly<Record<string, unknown>>, inPath: ReadonlySet<string>): Node {
  return Object.fromEntries(Object.entries(input).filter(([key]) => !inPath.has(key)))
}

function routeNode(route: RawRoute, lifted: Map<string, JsonSchema>): Node {
  const { path, summary, scope, request, response, contentTypes } = route
  const parameters = [...path.matchAll(/:(\w+)/g)].map(([, word]) => ({
    name: word,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    example: ROUTE_EXAMPLES[path]?.params?.[word as string],
  }))
  const schema = lift(response, lifted)
  const example = ROUTE_EXAMPLES[path]
  return {
    operationId: path.slice(1).replaceAll('/', '.').replaceAll(':', ''),
    tags: ['receive'],
    summary,
    description: `Needs the scope \`${scope}\`.`,
    parameters,
    requestBody: {
      required: true,
      content: { 'application/json': { schema: lift(request, lifted), example: example?.request } },
    },
    responses: {
      '200': {
        description: 'Done.',
        content: Object.fromEntries(
          contentTypes.map((type) => [type, { schema, example: example?.response }]),
        ),
      },
      ...refusals(),
    },
  }
}

const EVENTS: Node = {
  operationId: 'events',
  tags: ['events'],
  summary: 'Says what to look at again, as server-sent events; with `job`, what happens to that job.',
  description: 'Needs the scope `read`.',
  parameters: [{ name: 'job', in: 'query', required: false, schema: { type: 'string' }, example: IDS.job }],
  responses: {
    '200': {
      description: 'A stream.',
      content: {
        'text/event-stream': {
          schema: { type: 'string' },
          example: 'event: changed\ndata: {"kind":"changed","what":["jobs"]}\n\n',
        },
      },
    },
    ...refusals(),
  },
}

/** They are alike everywhere, so each is in the document once. */
function refusals(): Node {
  return Object.fromEntries(
    Object.keys(REFUSALS).map((status) => [status, { $ref: `#/components/responses/Refused${status}` }]),
  )
}

function refusalNodes(): Node {
  return Object.fromEntries(
    Object.entries(REFUSALS).map(([status, description]) => [
      `Refused${status}`,
      {
        description,
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/ApiError' },
            example: { error: REFUSED[status] },
          },
        },
      },
    ]),
  )
}

function tagsOf(): readonly Node[] {
  return [...new Set(LISTED.map(({ name }) => name.split('.')[0] as string))].map((name) => ({ name }))
}

function templateOf(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}')
}

/** The schema with every part that has a title moved to the components, and a reference in its place. */
function lift(schema: JsonSchema, lifted: Map<string, JsonSchema>): JsonSchema {
  const { title, ...rest } = schema
  const inside = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [key, liftValue(value, lifted)]),
  )
  if (typeof title !== 'string') return inside
  if (!lifted.has(title)) lifted.set(title, inside)
  return { $ref: `#/components/schemas/${title}` }
}

function liftValue(value: unknown, lifted: Map<string, JsonSchema>): unknown {
  if (Array.isArray(value)) return value.map((one) => liftValue(one, lifted))
  return typeof value === 'object' && value !== null ? lift(value as JsonSchema, lifted) : value
}
