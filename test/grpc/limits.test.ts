// What keeps a server alive whatever its clients of gRPC do.
import { connect as connectHttp2 } from 'node:http2'
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { silentLogger } from 'skep'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ReceiveRequestSchema } from '../../src/server/grpc/gen/skep/v1/skep_pb.ts'
import { Outbox } from '../../src/server/grpc/write-buffer.ts'
import { grpcClient, stage } from './stage.ts'

const UNKNOWN = '01890000-0000-7000-8000-000000000000'

describe('gRPC', () => {
  it('says what is wrong in words that grpc-js shows as they are', async () => {
    const { address } = await stage()
    const { skep, call } = grpcClient(address)
    const told = async (queue: string): Promise<string> =>
      call(skep, 'Enqueue', { jobs: [{ queue, payload: '{}' }] }).then(
        () => '',
        ({ details }: { readonly details: string }) => details,
      )

    expect(await told('bad name')).toContain('1 to 128 letters, digits or "_ - . : /", starting with')
    expect(await told('50 % für 5;')).toContain('Queue "50 % für 5;" is not')
  })

  it('reads nothing from who has no credential', async () => {
    const { url } = await stage({
      tokens: [{ name: 'a', scopes: ['work'], token: 'a-token-that-nobody-guesses' }],
    })
    const answers = await Promise.all(
      ['application/grpc', 'application/grpc-web+proto', 'application/proto'].map(
        (type) =>
          new Promise<Record<string, unknown>>((resolve) => {
            const session = connectHttp2(url)
            const stream = session.request({
              ':method': 'POST',
              ':path': '/skep.v1.Skep/Enqueue',
              'content-type': type,
            })
            // It is answered although the message has not come to its end, and never will.
            stream.write(Buffer.concat([Buffer.from([0, 0, 0x3f, 0xff, 0xff]), Buffer.alloc(1_000)]))
            stream.on('response', (headers) => {
              resolve(headers)
              session.destroy()
            })
            stream.on('error', () => {})
          }),
      ),
    )

    expect(answers.map((one) => [one[':status'], one['grpc-status'], one['skep-code']])).toEqual([
      [200, '16', 'UNAUTHENTICATED'],
      [200, '16', 'UNAUTHENTICATED'],
      [401, undefined, 'UNAUTHENTICATED'],
    ])
  })

  it('hands out and takes back nothing on a server that is read-only', async () => {
    const { address } = await stage({ readOnly: true, logger: silentLogger })
    const { skep: client, call } = grpcClient(address)
    const codes = await Promise.all(
      [
        ['Poll', { queues: ['mail'], max: 1 }],
        ['Settle', { acks: [{ id: UNKNOWN, token: 'a' }] }],
        ['Extend', { jobs: [{ id: UNKNOWN, token: 'a' }], lease_ms: 1_000 }],
        ['Ack', { receiver: UNKNOWN, acks: [] }],
      ].map(([method, input]) => call(client, method as string, input).catch((error) => error.code)),
    )
    const stream = client['Receive']()
    stream.write({ open: { queues: ['mail'], credits: 1 } })
    const error = await new Promise<{ code: number }>((resolve) => stream.on('error', resolve))

    expect([...codes, error.code]).toEqual([7, 7, 7, 7, 7])
  })

  it('tells when to come again', async () => {
    const { address } = await stage({ quotas: { '*': { enqueuePerSecond: 1 } } })
    const { skep: client, call } = grpcClient(address)
    const jobs = Array.from({ length: 5 }, () => ({ queue: 'mail', payload: '1' }))
    await call(client, 'Enqueue', { jobs })

    const error = await call(client, 'Enqueue', { jobs }).catch((one) => one)

    expect([error.code, error.metadata.get('skep-code')]).toEqual([8, ['QUOTA_EXCEEDED']])
    expect(Number(error.metadata.get('retry-after')[0])).toBeGreaterThanOrEqual(1)
  })

  it('ends a stream whose words make no sense with an error that says so', async () => {
    const { address } = await stage()
    const { skep: client } = grpcClient(address)
    const stream = client['Receive']()
    stream.on('data', () => {})
    stream.write({ open: { queues: ['mail'], credits: 1 } })
    stream.write({ notes: [{ id: UNKNOWN, token: 'a', lines: [{ message: 'x', fields: '{' }] }] })
    const error = await new Promise<any>((resolve) => stream.on('error', resolve))

    expect(error.metadata.get('skep-code')).toEqual(['PAYLOAD_NOT_JSON'])
  })

  it('stops reading acks from a receiver that reads no answers, and goes on when it does', async () => {
    const { url, server } = await stage()
    const settle = vi.spyOn(server.core.hub, 'settle')
    const session = connectHttp2(url)
    onTestFinished(() => session.destroy())
    const stream = session.request({
      ':method': 'POST',
      ':path': '/skep.v1.Skep/Receive',
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    stream.on('error', () => {})
    const say = (message: MessageInitShape<typeof ReceiveRequestSchema>): void => {
      const body = toBinary(ReceiveRequestSchema, create(ReceiveRequestSchema, message))
      const head = Buffer.alloc(5)
      head.writeUInt32BE(body.length, 1)
      stream.write(Buffer.concat([head, body]))
    }
    say({ open: { queues: ['mail'], credits: 1 } })
    const acks = Array.from({ length: 1_000 }, (_, n) => ({ id: UNKNOWN, token: `t${n}` }))
    const messages = 200
    for (let n = 0; n < messages; n++) say({ acks })
    let before = -1
    // It has come to rest when nothing more is taken for a while.
    await vi.waitFor(
      () => {
        const now = settle.mock.calls.length
        const isResting = now === before && now > 0
        before = now
        expect(isResting).toBe(true)
      },
      { timeout: 20_000, interval: 500 },
    )
    expect(before).toBeLessThan(messages / 2)

    stream.resume()
    await vi.waitFor(() => expect(settle.mock.calls).toHaveLength(messages), { timeout: 20_000 })
  }, 60_000)
})

describe('an outbox', () => {
  it('tells when there is room, and when it has ended', async () => {
    const outbox = new Outbox<number>(10)
    outbox.push(1, 20)
    let isFree = false
    const free = outbox.room().then(() => {
      isFree = true
    })
    const reader = outbox[Symbol.asyncIterator]()
    await reader.next()
    expect(isFree).toBe(false)
    outbox.push(2, 1)
    await reader.next()
    await free
    outbox.push(3, 20)
    const waiting = outbox.room()
    outbox.drop()
    outbox.end()
    await waiting
    expect(await reader.next()).toEqual({ done: true, value: undefined })
  })
})
