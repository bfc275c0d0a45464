import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, it, onTestFinished } from 'vitest'
import { flow, never, queue, schedule } from '../../src/index.ts'
import { IDS } from '../../src/operations/examples/samples.ts'
import { EXAMPLES } from '../../src/operations/examples/table.ts'
import { LISTED } from '../../src/operations/table.ts'
import { openApiOf } from '../../src/server.ts'
import { type Running, startServer } from './support.ts'

interface Media {
  readonly schema: object
  readonly example?: unknown
}
interface Body {
  readonly content: Readonly<Record<string, Media>>
}
interface Described {
  readonly operationId: string
  readonly parameters?: readonly (Partial<Media> & { readonly name?: string; readonly required?: boolean })[]
  readonly requestBody?: Body
  readonly responses: Readonly<Record<string, Body | { readonly $ref: string }>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly responses: Readonly<Record<string, Body>> }
}

/** The document of a server, as it is sent. */
async function documentOf({ url }: Running): Promise<Document> {
  return (await (await fetch(`${url}/api/v1/openapi.json`)).json()) as Document
}

function describedAt(
  paths: Readonly<Record<string, Readonly<Record<string, Described>>>>,
  path: string,
  method: string,
): Described {
  const found = paths[path]?.[method]
  if (found === undefined) throw new Error(`${method} ${path} is not in the document.`)
  return found
}

it('has an example of every request and answer in the OpenAPI document, and each fits its schema', async () => {
  const running = await startServer()
  const { paths, components } = await documentOf(running)
  const ajv = new Ajv2020({ strict: false, validateFormats: false, inlineRefs: false })
  ajv.addSchema({ $id: 'skep', ...(openApiOf() as object) })
  const wrong: string[] = []
  const judged = new Set<string>()
  const judge = (where: string, { schema, example }: Partial<Media>): void => {
    if (example === undefined) return void wrong.push(`${where}: there is none`)
    judged.add(where)
    const text = JSON.stringify(schema).replaceAll('"#/', '"skep#/')
    const validate = ajv.compile(JSON.parse(text) as object)
    if (!validate(example)) wrong.push(`${where}: ${ajv.errorsText(validate.errors)}`)
  }
  const judgeBody = (where: string, { content }: Body): void => {
    for (const [type, media] of Object.entries(content)) judge(`${where} ${type}`, media)
  }
  for (const [name, body] of Object.entries(components.responses)) judgeBody(name, body)
  for (const [path, methods] of Object.entries(paths)) {
    for (const { operationId, parameters = [], requestBody, responses } of Object.values(methods)) {
      for (const one of parameters) {
        if (one.required || one.example !== undefined) judge(`${path} ${one.name}`, one)
      }
      if (requestBody) judgeBody(`${operationId} request`, requestBody)
      for (const [status, response] of Object.entries(responses)) {
        if (!('$ref' in response)) judgeBody(`${operationId} ${status}`, response)
        else expect(Object.keys(components.responses)).toContain(response.$ref.split('/').at(-1))
      }
    }
  }

  expect(wrong).toEqual([])
  expect(judged.size).toBeGreaterThan(LISTED.length)
})

const mail = queue<{ to: string }, { sent: boolean }>('mail.send', {
  lanes: { concurrency: 5 },
  lane: ({ payload }) => payload.to,
})
const broken = queue('broken', { onError: never() })
const reserve = queue('reserve')
const ship = queue('ship')
const fulfil = flow('fulfil', (steps) => steps.step(reserve).step(ship))

/** A server at which all that the examples name is there, and what each of their ids is in truth. */
async function stocked(): Promise<Running & { readonly really: (text: string) => string }> {
  const running = await startServer()
  const { skep, url, call } = running
  const worker = skep.worker([
    mail.handle(async ({ log }) => {
      log.info('connected', { host: 'smtp.internal' })
      return { sent: true }
    }),
    broken.handle(() => {
      throw new TypeError('It is broken')
    }),
    reserve.handle(() => ({})),
    ship.handle(() => ({})),
    fulfil,
  ])
  const job = await skep.enqueue(mail, { to: 'ada' }, { id: IDS.job })
  const dead = await skep.enqueue(broken, {}, { id: IDS.dead })
  const run = await skep.start(fulfil, {}, { id: IDS.run, attributes: { orderId: 62 } })
  const group = await skep.groups.group([mail.job({ to: 'bob' })])
  await Promise.all([job.result(), dead.result().catch(() => {}), run.result()])
  await skep.schedules.put(schedule('nightly', { queue: mail, payload: { to: 'ada' }, cron: '0 3 * * *' }))
  const end = new AbortController()
  onTestFinished(() => end.abort())
  const stream = await fetch(`${url}/api/v1/receive`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ queues: ['other'] }),
    signal: end.signal,
  })
  await stream.body?.getReader().read()
  const bulk = await call('bulk.start', { action: 'retry', query: 'queue:nothing' })
  const view = await call('views.put', EXAMPLES['views.put'].input)
  const { groups } = await call('errors.list', {})
  const { receivers } = await call('receivers.list', {})
  const token = await call('tokens.create', { name: 'other', scopes: ['read'] })
  const truth: Readonly<Record<string, string | undefined>> = {
    [IDS.bulk]: bulk.id,
    [IDS.view]: view.id,
    [IDS.error]: groups[0]?.id,
    [IDS.group]: group.id,
    [IDS.worker]: worker.id,
    [IDS.receiver]: receivers[0]?.id,
    [IDS.token]: token.view.id,
  }
  return {
    ...running,
    really: (text) => Object.entries(truth).reduce((all, [id, one]) => all.replaceAll(id, one ?? id), text),
  }
}

it('answers every example when it is sent as the document says', async () => {
  const running = await stocked()
  const { url, really } = running
  const { paths } = await documentOf(running)
  const refused: string[] = []
  for (const { name, method, path, output } of LISTED) {
    const template = path.replace(/:(\w+)/g, '{$1}')
    const { parameters = [], requestBody } = describedAt(paths, template, method.toLowerCase())
    let address = template
    const query = new URLSearchParams()
    for (const { name: key = '', example } of parameters as readonly { name?: string; example?: unknown }[]) {
      if (example === undefined) continue
      const text = really(typeof example === 'string' ? example : JSON.stringify(example))
      if (address.includes(`{${key}}`)) address = address.replace(`{${key}}`, text)
      else query.set(key, text)
    }
    const body = requestBody?.content['application/json']?.example
    const response = await fetch(`${url}/api/v1${address}?${query.toString()}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: really(JSON.stringify(body)) }),
    })
    const answer = (await response.json()) as object
    if (response.status !== 200) refused.push(`${name}: ${response.status} ${JSON.stringify(answer)}`)
    else expect(() => output.read(answer, name)).not.toThrow()
  }

  expect(refused).toEqual([])
})

it('gives receivers what the examples show, and takes what they show from them', async () => {
  const running = await startServer()
  const { url, skep } = running
  await skep.enqueue(mail, { to: 'ada' }, { id: IDS.job })
  const { paths } = await documentOf(running)
  const exampleOf = (path: string): { request: unknown; response: { jobs: object[]; results: object[] } } => {
    const { requestBody, responses } = describedAt(paths, path, 'post')
    return {
      request: requestBody?.content['application/json']?.example,
      response: Object.values((responses['200'] as Body).content)[0]?.example as never,
    }
  }
  const send = async (
    path: string,
    token: string,
  ): Promise<{ jobs: { token: string }[]; results: object[] }> => {
    const [shown] = exampleOf('/poll').response.jobs as { token: string }[]
    const response = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(exampleOf(path).request).replaceAll(shown?.token ?? '', token),
    })
    expect(response.status, path).toBe(200)
    return (await response.json()) as never
  }

  const polled = await send('/poll', '')
  const [got] = polled.jobs
  const extended = await send('/extend', got?.token ?? '')
  const settled = await send('/settle', got?.token ?? '')

  expect(Object.keys(got ?? {}).sort()).toEqual(Object.keys(exampleOf('/poll').response.jobs[0] ?? {}).sort())
  expect(extended.results).toEqual(exampleOf('/extend').response.results)
  expect(settled).toEqual(exampleOf('/settle').response)
})
