// Whatever bytes come over HTTP/2, the server stays, says no in words of gRPC where it can, and serves the next one.
import { connect as connectHttp2 } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import fc from 'fast-check'
import { queue, silentLogger } from 'skep'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { grpcClient, stage } from './stage.ts'

const METHODS = ['Enqueue', 'Receive', 'Subscribe', 'Ack', 'Poll', 'Settle', 'Extend']
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

describe('frames that are none', () => {
  beforeAll(() => {
    process.setMaxListeners(50)
  })

  it('end their own stream and nothing else', async () => {
    const unexpected: string[] = []
    const logger = { ...silentLogger, error: (message: string) => void unexpected.push(message) }
    const { url, address } = await stage({ logger })
    const bytes = fc.uint8Array({ maxLength: 200 })
    const framed = fc
      .tuple(fc.constantFrom(0, 1, 2, 255), fc.option(fc.nat(5_000_000)), bytes)
      .map(([flag, length, body]) => {
        const head = Buffer.alloc(5)
        head[0] = flag
        head.writeUInt32BE(length ?? body.length, 1)
        return Buffer.concat([head, body])
      })

    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...METHODS),
        fc.array(framed, { maxLength: 3 }),
        async (method, frames) => {
          const status = await send(url, `/skep.v1.Skep/${method}`, Buffer.concat(frames))
          // A status, or the end of the stream. What cannot be decoded is "internal" (13) in gRPC's own words.
          expect([undefined, '0', '1', '2', '3', '8', '12', '13']).toContain(status)
        },
      ),
      { numRuns: 60 },
    )

    expect(unexpected).toEqual([])
    await expectAlive(address)
  }, 60_000)

  it('that are messages, with whatever in them, are answered in words', async () => {
    const unexpected: unknown[] = []
    const logger = { ...silentLogger, error: (...said: unknown[]) => void unexpected.push(said) }
    const { address } = await stage({ logger })
    const { skep: client, call } = grpcClient(address)
    const text = fc.oneof(
      fc.string({ maxLength: 20 }),
      fc.constantFrom('', 'mail', '*', '{', '1', '9007199254740993', '['.repeat(2_000), '-80', '\u0000'),
    )
    const whole = fc.oneof(fc.constantFrom(0, 1, -1, 2 ** 31 - 1), fc.integer())
    const long = fc.oneof(fc.constantFrom('0', '1', '-1', '9223372036854775807', '-9223372036854775808'))
    const small = fc.constantFrom(0, 1, 10, 2 ** 32 - 1)
    const headers = fc.dictionary(text, text, { maxKeys: 2 })
    const job = fc.record({
      queue: text,
      payload: text,
      id: text,
      delay_ms: long,
      run_at_ms: long,
      priority: whole,
      lane: text,
      cost: small,
      unique: text,
      headers,
    })
    const how = fc.constantFrom('done', 'bury', 'cancel').chain((key) => fc.record({ [key]: text }))
    const failed = fc.record({ failed: fc.record({ message: text, name: text, retry_in_ms: long }) })
    const snooze = fc.record({ snooze: fc.record({ delay_ms: long, reason: text }) })
    const ack = fc
      .tuple(fc.record({ id: text, token: text }), fc.oneof(how, failed, snooze))
      .map(([who, end]) => ({ ...who, ...end }))
    const line = fc.record({ level: text, message: text, fields: text })
    const note = fc.record({
      id: text,
      token: text,
      progress: fc.double(),
      lines: fc.array(line, { maxLength: 2 }),
    })
    const some = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(one, { maxLength: 3 })
    const asked = fc.oneof(
      fc.tuple(fc.constant('Enqueue'), fc.record({ jobs: some(job) })),
      fc.tuple(
        fc.constant('Ack'),
        fc.record({ receiver: text, acks: some(ack), credits: small, notes: some(note) }),
      ),
      fc.tuple(fc.constant('Settle'), fc.record({ acks: some(ack), notes: some(note) })),
      fc.tuple(
        fc.constant('Extend'),
        fc.record({ jobs: some(fc.record({ id: text, token: text })), lease_ms: long }),
      ),
      fc.tuple(
        fc.constant('Poll'),
        fc.record({
          queues: some(text),
          keys: text,
          max: small,
          lease_ms: long,
          wait_ms: fc.constantFrom('0', '-1', '99999999'),
        }),
      ),
    )

    await fc.assert(
      fc.asyncProperty(asked, async ([method, input]) => {
        const code = await call(client, method, input).then(
          () => 0,
          (error: { code: number }) => error.code,
        )
        // Said, refused, not there, too much, or not as things stand; but never a fault.
        expect([0, 3, 5, 8, 9]).toContain(code)
      }),
      { numRuns: 250 },
    )

    expect(unexpected).toEqual([])
    await expectAlive(address)
  }, 60_000)

  it('end their own connection and nothing else', async () => {
    const { address } = await stage()
    const [host, port] = address.split(':') as [string, string]

    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), fc.boolean(), async (bytes, isHttp2) => {
        await new Promise<void>((resolve) => {
          const socket = connectTcp(Number(port), host, () => {
            socket.write(isHttp2 ? Buffer.concat([PREFACE, bytes]) : bytes)
            socket.end()
          })
          socket.on('error', () => {})
          socket.on('close', () => resolve())
          socket.resume()
        })
      }),
      { numRuns: 60 },
    )

    await expectAlive(address)
  }, 60_000)

  it('acks of jobs that nobody has are refused one by one', async () => {
    const { skep, address } = await stage()
    const { skep: client, call } = grpcClient(address)
    const job = await skep.enqueue(queue<number>('mail'), 1)

    await fc.assert(
      fc.asyncProperty(fc.string(), fc.string(), async (id, token) => {
        const { saved, results } = await call(client, 'Settle', {
          acks: [
            { id, token, done: '1' },
            { id: job.id, token, failed: { message: token } },
          ],
        })
        expect([saved, results.length]).toEqual([0, 2])
      }),
      { numRuns: 30 },
    )

    expect((await skep.jobs.get(job.id))?.state).toBe('ready')
  }, 60_000)
})

/** Sends a body to a method and resolves with the status that gRPC told. */
function send(url: string, path: string, body: Buffer): Promise<string | undefined> {
  return new Promise((resolve) => {
    const session = connectHttp2(url)
    let status: string | undefined
    const end = (): void => {
      session.destroy()
      resolve(status)
    }
    session.on('error', end)
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    const read = (headers: Record<string, unknown>): void => {
      if (typeof headers['grpc-status'] === 'string') status = headers['grpc-status']
    }
    stream.on('response', read)
    stream.on('trailers', read)
    stream.on('error', end)
    stream.on('close', end)
    stream.resume()
    stream.end(body)
  })
}

async function expectAlive(address: string): Promise<void> {
  const { skep: client, call } = grpcClient(address)
  await vi.waitFor(
    async () => {
      const { jobs } = await call(client, 'Enqueue', { jobs: [{ queue: 'alive', payload: '1' }] })
      expect(jobs).toHaveLength(1)
    },
    { timeout: 20_000 },
  )
}
