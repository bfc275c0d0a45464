import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, it } from 'vitest'
import { createSkep, flow, never, queue, schedule, silentLogger } from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { LISTED } from '../../src/operations/table.ts'
import { openApiOf } from '../../src/server.ts'
import { type Running, startServer } from './support.ts'

const mail = queue<{ to: string }, { sent: boolean }>('mail.send', {
  lanes: { concurrency: 1 },
  lane: ({ payload }) => payload.to,
})
const broken = queue<{ n: number }>('broken', { onError: never() })
const slow = queue('slow')
const first = queue('first')
const second = queue('second')
const twice = flow('twice', (steps) => steps.step(first).step(second))

/** A space in which there is something of everything. */
async function stocked(): Promise<Running & { ids: Record<string, string> }> {
  const store = memoryStore()
  const running = await startServer({}, { store })
  const { skep } = running
  const done = await skep.enqueue(
    mail,
    { to: 'ada' },
    { headers: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` } },
  )
  const dead = await skep.enqueue(broken, { n: 1 })
  const run = await skep.start(twice, {})
  const group = await skep.groups.group([mail.job({ to: 'bob' })])
  const worker = skep.worker([
    mail.handle(async ({ log, progress }) => {
      log.info('sending', { to: 'ada' })
      progress(0.5, 'half')
      return { sent: true }
    }),
    broken.handle(() => {
      throw new TypeError('It is broken')
    }),
    slow.handle(async () => {}),
    first.handle(async () => {}),
    second.handle(async () => {}),
    twice,
  ])
  await done.result()
  await dead.result().catch(() => {})
  await run.result()
  await worker.stop()
  await skep.enqueue(mail, { to: 'carol' })
  await skep.schedules.put(
    schedule('nightly', {
      queue: mail,
      payload: { to: 'ada' },
      cron: '0 3 * * *',
      timeZone: 'Europe/Berlin',
    }),
  )
  await skep.queues.pause('slow', { reason: 'not now', by: 'test' })
  const bulk = await running.call('bulk.start', { action: 'retry', query: 'queue:nothing' })
  const view = await running.call('views.put', { name: 'Dead ones', query: 'state:dead' })
  const { groups } = await running.call('errors.list', {})
  return {
    ...running,
    ids: {
      '/jobs/:id': dead.id,
      '/jobs/:id/explain': dead.id,
      '/jobs/:id/logs': done.id,
      '/bulk/:id': bulk.id,
      '/views/:id': view.id,
      '/errors/:id': groups[0]?.id ?? '',
      '/schedules/:id': 'nightly',
      '/runs/:id': run.id,
      '/groups/:id': group.id,
      ':queue': 'mail.send',
    },
  }
}

it('answers every operation that reads with what its schema and the OpenAPI document say', async () => {
  const { url, ids } = await stocked()
  const document = openApiOf() as {
    paths: Record<
      string,
      Record<string, { responses: Record<string, { content: Record<string, { schema: object }> }> }>
    >
  }
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'skep', ...document })

  for (const operation of LISTED.filter(({ method }) => method === 'GET')) {
    const path = operation.path
      .replace(':id', ids[operation.path] ?? '')
      .replace(':queue', ids[':queue'] as string)
    const query = operation.name === 'schedules.preview' ? '?every=5m' : ''
    const response = await fetch(`${url}/api/v1${path}${query}`)
    const answer = await response.json()
    expect(response.status, `${operation.name}: ${JSON.stringify(answer).slice(0, 300)}`).toBe(200)

    expect(() => operation.output.read(answer, operation.name)).not.toThrow()
    const template = operation.path.replace(/:(\w+)/g, '{$1}').replaceAll('/', '~1')
    const validate = ajv.getSchema(
      `skep#/paths/${template}/get/responses/200/content/application~1json/schema`,
    )
    expect(validate, operation.name).toBeTypeOf('function')
    expect(validate?.(answer), `${operation.name}: ${JSON.stringify(validate?.errors?.slice(0, 3))}`).toBe(
      true,
    )
  }
})

it('lists every operation in the OpenAPI document, once', () => {
  const { paths } = openApiOf() as { paths: Record<string, Record<string, { operationId: string }>> }
  const names = Object.values(paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  )

  expect(names.toSorted()).toEqual([...LISTED.map(({ name }) => name), 'events'].toSorted())
})

it('says of every operation that changes something what it is done to', () => {
  const wordless = LISTED.filter(({ isChange }) => isChange).filter(({ name, target }) => {
    try {
      return (
        target({
          ids: [],
          jobs: [],
          name: 'x',
          id: 'x',
          queue: 'x',
          action: 'retry',
          query: '',
          order: 'stop',
        }) === ''
      )
    } catch (error) {
      throw new Error(name, { cause: error })
    }
  })
  expect(wordless.map(({ name }) => name)).toEqual([])
})

it('shares nothing with a Skep of another space', async () => {
  const running = await startServer()
  const other = createSkep({ store: memoryStore(), logger: silentLogger, space: 'other' })
  await running.skep.inSpace('other').enqueue(slow, {})

  const { queues } = await running.call('queues.list', {})
  const there = await running.call('queues.list', {}, { 'skep-space': 'other' })

  expect(queues).toEqual([])
  expect(there.queues.map(({ queue: name }) => name)).toEqual(['slow'])
  await other.close()
})
