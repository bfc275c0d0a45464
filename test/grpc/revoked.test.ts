/** Whoever is served for long is served as long as its credential is good, over every kind of stream. */
import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { queue, type Skep as SkepClient } from 'skep'
import { accessTokens } from 'skep/server'
import { describe, expect, it, vi } from 'vitest'
import { Skep } from '../../src/server/grpc/gen/skep/v1/skep_pb.ts'
import { hurried } from '../support/hurried.ts'
import { type Stage, stage } from './stage.ts'

/** Time goes so much faster for the server. */
const TIMES = 10
const mail = queue<number>('mail')

interface Stream {
  /** Resolves when it has begun. */
  readonly begun: Promise<void>
  /** Resolves when the server has ended it. */
  readonly ended: Promise<void>
}

function streamOf(parts: AsyncIterable<unknown>): Stream {
  let begin = (): void => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const ended = (async () => {
    try {
      for await (const _part of parts) begin()
    } catch {
      // Cut off is ended as well.
    }
  })()
  return { begun, ended }
}

async function* over(url: string, init: RequestInit): AsyncIterable<unknown> {
  const response = await fetch(url, init)
  expect(response.status).toBe(200)
  yield* response.body as unknown as AsyncIterable<unknown>
}

/** Never says anything more. */
async function* open(message: object): AsyncIterable<any> {
  yield message
  await new Promise(() => {})
}

async function begin(): Promise<Stage & { streams(token: string): Promise<readonly Stream[]> }> {
  const made = await stage({ runtime: hurried(TIMES), receivers: { worker: { drain: 0, grace: 0 } } })
  const job = await made.skep.enqueue(queue<number>('watched'), 1, { delay: '1h' })
  return {
    ...made,
    async streams(token) {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const client = createClient(Skep, createGrpcTransport({ baseUrl: made.url }))
      const asks = { queues: ['mail'], credits: 1 }
      const streams = [
        over(`${made.url}/api/v1/events`, { headers }),
        over(`${made.url}/api/v1/events?job=${job.id}`, { headers }),
        over(`${made.url}/api/v1/receive`, { method: 'POST', headers, body: JSON.stringify(asks) }),
        client.receive(open({ open: asks }), { headers }),
        client.subscribe(asks, { headers }),
      ].map(streamOf)
      await Promise.all(streams.map(({ begun }) => begun))
      return streams
    },
  }
}

const everything = { scopes: ['read', 'work'] as const, queues: ['*'] }

async function held(skep: SkepClient): Promise<number> {
  return (await skep.queues.list([mail]))[0]?.running ?? 0
}

describe('every stream', () => {
  it('ends when its token is revoked elsewhere, and what was held is free', async () => {
    const { skep, server, streams } = await begin()
    const tokens = accessTokens(skep)
    const { token, view } = await tokens.create({ name: 'gone', ...everything }, 'test')
    const { token: other } = await tokens.create({ name: 'stays', ...everything }, 'test')
    await skep.enqueueMany(mail, [1, 2, 3])
    const ending = await streams(token)
    await vi.waitFor(async () => expect(await held(skep)).toBe(3), { timeout: 10_000 })
    const staying = await streams(other)
    const stayed = vi.fn()
    for (const { ended } of staying) void ended.then(stayed)

    await tokens.revoke(view.id)
    await Promise.all(ending.map(({ ended }) => ended))

    expect(stayed).not.toHaveBeenCalled()
    // The other one gets them.
    await vi.waitFor(
      async () => {
        const receivers = await server.core.hub.list('default')
        expect(receivers.map(({ name, unacked }) => [name, unacked])).toEqual([
          ['stays', 1],
          ['stays', 1],
          ['stays', 1],
        ])
      },
      { timeout: 10_000 },
    )
  }, 60_000)

  it('ends when its token is over', async () => {
    const { skep, streams } = await begin()
    const { token } = await accessTokens(skep).create(
      { name: 'short', ...everything, expires: '40s' },
      'test',
    )

    const ending = await streams(token)
    await Promise.all(ending.map(({ ended }) => ended))

    expect(await held(skep)).toBe(0)
  }, 60_000)

  it('ends when its credential is another one now, though it is still good', async () => {
    let queues: readonly string[] = ['*']
    const { skep, url } = await stage({
      runtime: hurried(TIMES),
      receivers: { worker: { drain: 0, grace: 0 } },
      auth: async () => ({ name: 'ada', scopes: ['work'], queues }),
    })
    await skep.enqueue(mail, 1)
    const stream = streamOf(
      over(`${url}/api/v1/receive`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ queues: ['mail'] }),
      }),
    )
    await stream.begun

    queues = ['other']
    await stream.ended

    await vi.waitFor(async () => expect(await held(skep)).toBe(0), { timeout: 10_000 })
  }, 60_000)
})
