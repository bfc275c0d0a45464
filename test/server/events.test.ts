import { expect, it, onTestFinished } from 'vitest'
import { queue } from '../../src/index.ts'
import type { Caller } from '../../src/operations/operation.ts'
import { Listener } from '../../src/server/http/events.ts'
import type { ServerEvent } from '../../src/server.ts'
import { startServer } from './support.ts'

const mail = queue<{ to: string }>('mail')

/** Reads events of a stream until one is what is waited for. */
async function until(
  response: Response,
  isIt: (event: ServerEvent) => boolean,
  act?: () => Promise<unknown>,
): Promise<ServerEvent> {
  const reader = (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream())
    .getReader()
  onTestFinished(() => reader.cancel())
  let text = ''
  let isFirst = true
  for (;;) {
    const { done, value } = await reader.read()
    if (done) throw new Error(`It has ended: ${text}`)
    text += value
    for (const [, data] of text.matchAll(/^data: (.*)$/gm)) {
      const event = JSON.parse(data as string) as ServerEvent
      if (isIt(event)) return event
    }
    if (isFirst) await act?.()
    isFirst = false
  }
}

it('tells of jobs that come, with the counts', async () => {
  const { get, skep } = await startServer()
  const stream = await get('/api/v1/events')

  const event = await until(
    stream,
    (one) => one.kind === 'counts' && one.queues.some(({ counts }) => counts.ready === 1),
    () => skep.enqueue(mail, { to: 'ada' }),
  )

  expect(stream.headers.get('content-type')).toContain('text/event-stream')
  expect(event).toMatchObject({ kind: 'counts', queues: [{ queue: 'mail' }] })
})

it('tells of a hold that was put by anybody', async () => {
  const { get, skep } = await startServer()
  await skep.enqueue(mail, { to: 'ada' })
  const stream = await get('/api/v1/events')

  const event = await until(
    stream,
    (one) => one.kind === 'changed' && one.what.includes('holds'),
    async () => {
      await until(await get('/api/v1/events'), (one) => one.kind === 'counts')
      await skep.queues.pause('mail')
    },
  )

  expect(event).toMatchObject({ kind: 'changed' })
})

it('follows one job to its end', async () => {
  const { get, skep } = await startServer()
  const job = await skep.enqueue(mail, { to: 'ada' })
  const stream = await get(`/api/v1/events?job=${job.id}`)
  const worker = skep.worker([mail.handle(async ({ progress }) => progress(1))])
  onTestFinished(() => worker.stop())

  const event = await until(
    stream,
    (one) => one.kind === 'job' && (one.event as { state?: string }).state === 'done',
  )

  expect(event).toMatchObject({ event: { kind: 'state', job: { id: job.id } } })
})

it('has nothing to tell of a job that is not there', async () => {
  const { get } = await startServer()
  const response = await get('/api/v1/events?job=01890000-0000-7000-8000-000000000009')
  expect(response.status).toBe(404)
})

it('lets so many listen and no more', async () => {
  const { get } = await startServer({ streams: 1 })
  const first = await get('/api/v1/events')
  onTestFinished(async () => first.body?.cancel())
  expect((await get('/api/v1/events')).status).toBe(429)
})

it('keeps only the newest for a listener that is slow', () => {
  const caller = { queues: ['mail'] } as unknown as Caller
  const listener = new Listener(caller)
  const summary = (name: string, ready: number): never => ({ queue: name, counts: { ready } }) as never

  listener.tell(['jobs'], [summary('mail', 1), summary('secret', 9)])
  listener.tell(['jobs', 'holds'], [summary('mail', 2), summary('secret', 9)])

  const { changed, counts } = listener.take()
  expect([...changed]).toEqual(['jobs', 'holds'])
  expect(counts).toEqual([summary('mail', 2)])
  expect(listener.take()).toEqual({ changed: new Set(), counts: null })
})
